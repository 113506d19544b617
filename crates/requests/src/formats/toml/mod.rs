//! Requests in TOML: the format for requests that users write by hand, and for saved requests.

mod headers;

use std::collections::BTreeMap;

use run::{RequestOrder, RequestPlan, RequestSet};
use serde::Deserialize;
use toml::Spanned;

use self::headers::Headers;
use crate::error::{ReadError, place};
use crate::found::{Found, Imported, Source, checked_weight};
use crate::row::FormatSpec;
use crate::url::{self, SplitUrl};

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "toml",
    help: "[[request]] with name, class, weight, method, path, headers, without-user-agent, body, body-file, expect-status, expect-text, capture; {{places}} are filled",
    matches: |text| {
        let said = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        let key =
            |line: &str| line.split('=').next().is_some_and(|key| key.trim().chars().all(|c| c.is_ascii_lowercase()));
        let table = |line: &str| line.starts_with("[[") || line.starts_with('[') && line.ends_with(']');
        // A line of a log in logfmt has many pairs, such as `time=1 method=GET path=/`; a line of TOML has one pair.
        let pairs =
            |line: &str| line.split_whitespace().filter(|word| word.trim_end_matches('=').contains('=')).count();
        let pair = |line: &str| line.contains('=') && key(line) && pairs(line) < 2;
        said.is_some_and(|line| !is_json_array(text) && (table(line) || pair(line)))
    },
    read,
};

/// Returns true if a text begins like a JSON array: with `[` before an object, a string or `]`.
pub(crate) fn is_json_array(text: &str) -> bool {
    let inside = text.trim_start().strip_prefix('[').map(str::trim_start);
    inside.is_some_and(|rest| rest.starts_with(['{', '"', ']']))
}

/// Lowest status that reports an error of the client or the server (RFC 9110, section 15).
const FIRST_ERROR: u16 = 400;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    order: Option<RequestOrder>,
    /// True to send the requests as written, without replacing `{{…}}` and `$env:NAME`.
    #[serde(default)]
    verbatim: bool,
    #[serde(default)]
    request: Vec<Spanned<Entry>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Entry {
    name: String,
    class: String,
    weight: Option<Spanned<f64>>,
    method: Option<String>,
    path: Option<Spanned<String>>,
    headers: Headers,
    without_user_agent: bool,
    body: String,
    body_file: Option<Spanned<String>>,
    body_base64: Option<Spanned<String>>,
    expect_status: Option<Spanned<u16>>,
    expect_text: String,
    capture: BTreeMap<String, Spanned<String>>,
}

fn read(source: &Source<'_>) -> Result<Imported, ReadError> {
    let fail = |place, message| ReadError { file: source.file.into(), place, message };
    // The message of a TOML error already contains the line and the column.
    let file: File = toml::from_str(source.text).map_err(|e| fail(None, run::toml_message(source.text, &e)))?;
    if file.request.is_empty() {
        return Err(fail(None, "it has no [[request]]; write one with a path".into()));
    }
    let mut all = Imported { order: file.order, templates: !file.verbatim, ..Imported::default() };
    for entry in file.request {
        let at = entry.span().start;
        let found = found(entry.into_inner(), at, source.folder);
        all.found.push(found.map_err(|(at, why)| fail(Some(place(source.text, at)), why))?);
    }
    Ok(all)
}

fn found(entry: Entry, at: usize, folder: &std::path::Path) -> Result<Found, (usize, String)> {
    let inside = |spanned: &Spanned<String>| (spanned.span().start, spanned.get_ref().clone());
    let (path_at, path) = entry.path.as_ref().map(inside).ok_or((at, "a request has no path".to_owned()))?;
    if !url::is_path_or_full(&path) {
        return Err((path_at, format!("path {path:?}: begin it with /, http:// or https://")));
    }
    let url = split_with_placeholders(&path).map_err(|why| (path_at, format!("path {path:?}: {why}")))?;
    let mut request = RequestPlan {
        name: entry.name,
        class: entry.class,
        weight: entry.weight.as_ref().map_or(1.0, |weight| *weight.get_ref()),
        headers: entry.headers.into_pairs(),
        without_user_agent: entry.without_user_agent,
        body: entry.body,
        expect_text: entry.expect_text,
        capture: captures(entry.capture)?,
        ..RequestPlan::default()
    };
    let span = entry.weight.as_ref().map_or(at, |weight| weight.span().start);
    checked_weight(request.weight).map_err(|why| (span, why))?;
    // An expected error status often comes from a log or recording, so the server may answer with this error again. The
    // server's data may also have changed since the log was written, so 2xx and 3xx are right, too.
    let expected = status(entry.expect_status)?;
    (request.expect_status, request.accept_status) =
        if expected.is_some_and(|status| status >= FIRST_ERROR) { (None, expected) } else { (expected, None) };
    let bodies = [!request.body.is_empty(), entry.body_file.is_some(), entry.body_base64.is_some()];
    if bodies.into_iter().filter(|given| *given).count() > 1 {
        return Err((at, "a request has one of body, body-file and body-base64".into()));
    }
    if let Some((at, file)) = entry.body_file.as_ref().map(inside) {
        let path = folder.join(file);
        let read = run::read_bounded(&path, run::MAX_REQUEST_FILE_BYTES);
        let bytes = read.map_err(|e| (at, format!("cannot read {}: {e}", path.display())))?;
        request.set_body(&bytes);
    }
    if let Some((at, text)) = entry.body_base64.as_ref().map(inside) {
        let bytes =
            run::from_base64(&text).ok_or((at, "body-base64 is not base64 (RFC 4648, section 4)".to_owned()))?;
        request.set_body(&bytes);
    }
    request.method = entry.method.unwrap_or_else(|| if request.has_body() { "POST".into() } else { "GET".into() });
    Ok(Found::new(request, url))
}

/// Checks a status that an answer may have.
fn status(given: Option<Spanned<u16>>) -> Result<Option<u16>, (usize, String)> {
    let Some(given) = given else { return Ok(None) };
    match *given.get_ref() {
        code @ 200..600 => Ok(Some(code)),
        code => Err((given.span().start, format!("{code} is not a status of an answer: give 200 to 599"))),
    }
}

/// Checks the source of each value that is captured from responses: a JSON pointer or a header.
fn captures(all: BTreeMap<String, Spanned<String>>) -> Result<BTreeMap<String, String>, (usize, String)> {
    let one = |(name, from): (String, Spanned<String>)| {
        let (at, from) = (from.span().start, from.into_inner());
        match from.split_once(':') {
            Some(("json", pointer)) if pointer.is_empty() || pointer.starts_with('/') => Ok((name, from)),
            Some(("header", header)) if !header.trim().is_empty() => Ok((name, from)),
            other => {
                let kind = other.map_or(from.as_str(), |(kind, _)| kind);
                let near = run::nearest(kind, ["json", "header"]).filter(|near| *near != kind);
                let near = near.map_or(String::new(), |near| format!("; did you mean {near}:?"));
                Err((at, format!("capture {name} from {from:?}: write json:/pointer/to/value or header:Name{near}")))
            }
        }
    };
    all.into_iter().map(one).collect()
}

/// Splits a URL with placeholders, such as `{{random 1 9}}`. The placeholders may contain blanks.
fn split_with_placeholders(url: &str) -> Result<SplitUrl, String> {
    let (mut plain, mut places, mut rest) = (String::new(), Vec::new(), url);
    while let Some((begin, end)) = rest.find("{{").and_then(|at| Some((at, at + rest[at..].find("}}")? + 2))) {
        plain += &rest[..begin];
        plain += &format!("{{{{{}}}}}", places.len());
        places.push(&rest[begin..end]);
        rest = &rest[end..];
    }
    let mut split = url::split(&(plain + rest))?;
    // A column may also be called 0. The marks are therefore searched from left to right, and only in the text behind
    // the last replaced mark.
    let (mut path, mut rest) = (String::new(), split.path.as_str());
    for (i, place) in places.into_iter().enumerate() {
        let Some((before, behind)) = rest.split_once(&format!("{{{{{i}}}}}")) else { continue };
        path.extend([before, place]);
        rest = behind;
    }
    split.path = path + rest;
    Ok(split)
}

/// Writes a set of requests as TOML. Reading the written TOML gives the same set of requests.
pub fn to_toml(set: &RequestSet) -> String {
    let mut out = String::new();
    if set.order != RequestOrder::Weighted {
        let name = if set.order == RequestOrder::Sequence { "sequence" } else { "shuffle" };
        out += &format!("order = \"{name}\"\n\n");
    }
    if !set.templates && set.requests.iter().any(would_be_filled) {
        out += "# Braces and $env: are sent as they stand.\nverbatim = true\n\n";
    }
    set.requests.iter().for_each(|request| out += &format!("[[request]]\n{}\n", fields(request)));
    out
}

/// Writes the fields of a request, one per line. Leaves out fields with their default values.
fn fields(request: &RequestPlan) -> String {
    let mut out = String::new();
    let mut line = |key: &str, value: String| out += &format!("{key} = {value}\n");
    for (key, text) in [("name", &request.name), ("class", &request.class)] {
        if !text.is_empty() {
            line(key, quoted(text));
        }
    }
    if request.weight != 1.0 {
        line("weight", toml::Value::Float(request.weight).to_string());
    }
    line("method", quoted(&request.method));
    line("path", quoted(&request.path));
    if !request.headers.is_empty() {
        line("headers", headers(&request.headers));
    }
    if request.without_user_agent {
        line("without-user-agent", "true".into());
    }
    for (key, text) in
        [("body", &request.body), ("body-base64", &request.body_base64), ("expect-text", &request.expect_text)]
    {
        if !text.is_empty() {
            line(key, quoted(text));
        }
    }
    if !request.capture.is_empty() {
        let each: Vec<(String, String)> = request.capture.clone().into_iter().collect();
        line("capture", headers(&each));
    }
    if let Some(status) = request.expect_status.or(request.accept_status) {
        line("expect-status", status.to_string());
    }
    out
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.into()).to_string()
}

/// Returns true if a request contains text that looks like a placeholder. If the saved file lacked the key `verbatim`,
/// loadline would replace the placeholder when it reads the file.
fn would_be_filled(request: &RequestPlan) -> bool {
    let holds = |text: &String| text.contains("{{") || text.contains("$env:");
    [&request.path, &request.body].into_iter().any(holds)
        || request.headers.iter().any(|(name, value)| holds(name) || holds(value))
}

/// Writes headers as a table if every name occurs once, otherwise as a list of pairs.
fn headers(all: &[(String, String)]) -> String {
    let names: BTreeMap<_, _> = all.iter().map(|(name, value)| (name, value)).collect();
    let each = |between: &'static str| all.iter().map(move |(name, value)| (name, value, between)).collect::<Vec<_>>();
    if names.len() == all.len() {
        let pairs: Vec<String> =
            each(" = ").iter().map(|(name, value, is)| format!("\"{name}\"{is}{}", quoted(value))).collect();
        return format!("{{ {} }}", pairs.join(", "));
    }
    let pairs: Vec<String> =
        each(", ").iter().map(|(name, value, and)| format!("  [{}{and}{}]", quoted(name), quoted(value))).collect();
    format!("[\n{},\n]", pairs.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Imported, ReadError> {
        (FORMAT.read)(&Source { file: "mix.toml", text, folder: std::path::Path::new(".") })
    }

    #[test]
    fn written_requests_are_read_back_unchanged() {
        let mut twice = RequestPlan {
            path: "/c".into(),
            body_base64: "/w==".into(),
            expect_status: Some(204),
            ..RequestPlan::default()
        };
        twice.headers = [("A", "1"), ("A", "2")].map(|(n, v)| (n.to_owned(), v.to_owned())).into();
        twice.method = "POST".into();
        let first = RequestPlan {
            name: "front \"page\"".into(),
            class: "pages".into(),
            weight: 2.5,
            path: "/a/{{random 1 9}}?b='c'&d={{x}}".into(),
            headers: vec![("X-Y".into(), "a\\b".into())],
            accept_status: Some(410),
            expect_text: "it's\n\"".into(),
            without_user_agent: true,
            body: "\r\na\rb\r\n\u{1}'''\\ \u{feff}".into(),
            capture: [("t".to_owned(), "json:/a".to_owned())].into(),
            ..RequestPlan::default()
        };
        let (order, templates) = (RequestOrder::Sequence, true);
        let set = RequestSet { order, templates, requests: vec![first, twice], ..RequestSet::default() };
        let read = read(&to_toml(&set)).unwrap();
        assert_eq!(read.order, Some(RequestOrder::Sequence));
        assert_eq!(read.found.into_iter().map(|found| found.request).collect::<Vec<_>>(), set.requests);
    }

    #[test]
    fn placeholders_with_numbers_as_names_keep_their_places() {
        let of = |path: &str| split_with_placeholders(path).unwrap().path;
        assert_eq!(of("/{{1}}/{{0}}?x={{random 1 9}}"), "/{{1}}/{{0}}?x={{random 1 9}}");
        assert_eq!(of("http://{{2}}/{{1}}/{{2}}#{{0}}"), "/{{1}}/{{2}}");
    }

    #[test]
    fn a_recording_is_written_so_that_nothing_in_it_is_filled() {
        for (path, body, value) in [("/{{seq}}", "", ""), ("/", "a {{ name", ""), ("/", "", "$env:HOME")] {
            let mut recorded = RequestPlan { path: path.into(), body: body.into(), ..RequestPlan::default() };
            recorded.headers = vec![("A".into(), value.into())];
            let set = RequestSet { requests: vec![recorded.clone()], ..RequestSet::default() };
            let read = read(&to_toml(&set)).unwrap();
            assert_eq!((read.templates, &read.found[0].request), (false, &recorded));
        }
        let plain = RequestSet { requests: vec![RequestPlan::default()], ..RequestSet::default() };
        assert!(!to_toml(&plain).contains("verbatim"));
    }

    #[test]
    fn mistakes_have_their_line_and_column_and_the_nearest_right_key() {
        for (text, says) in [
            (
                "[[request]]\npath = \"/\"\nwieght = 3\n",
                "line 3, column 1 in [request]: there is no key `wieght`; did you mean `weight`?",
            ),
            ("[[request]]\npath = \"/\"\nweight = -3\n", "mix.toml: line 3, column 10: a weight of -3"),
            ("[[request]]\npath = \"/\"\nexpect-status = 99\n", "line 3, column 17: 99 is not a status"),
            ("[[request]]\nname = \"x\"\n", "line 1, column 1: a request has no path"),
            (
                "[[request]]\npath = \"/\"\nheaders = [\"X-A: 1\"]\n",
                "line 3, column 12 in [request]: in a list, a header is two texts: headers = [[\"X-A\", \"…\"]]",
            ),
            (
                "[[request]]\npath = \"/\"\nheaders = [[\"X-A\", \"1\", \"2\"]]\n",
                "a header is two texts, and this one has 3: headers = [[\"X-A\", \"…\"]]",
            ),
            ("[[request]]\npath = \"/\"\nheaders = \"X-A: 1\"\n", "list of pairs: headers = [[\"X-A\", \"…\"]]"),
            ("[[request]]\npath = \"/\"\nheaders = { A = 1 }\n", "found integer `1`, expected a text"),
            ("[[request]]\npath = 5\n", "line 2, column 8 in [request]: found integer `5`, expected a text"),
            ("[[request]]\npath = \"/\"\nweight = \"x\"\n", "found string \"x\", expected a number"),
            ("[[request]]\npath = \"/\"\nexpect-status = -3\n", "found integer `-3`, expected a whole number"),
            ("[[request]]\npath = \"/a b\"\n", "line 2, column 8: path \"/a b\""),
            ("[[request]]\npath = \"/\"\nbody = \"a\"\nbody-file = \"b\"", "one of body"),
            ("[[request]]\npath = \"/\"\nbody-file = \"nonexistent\"", "line 3, column 13: cannot read"),
            ("[[request]]\npath = 3\n", "line 2"),
            ("[[request]]\npath = \"b\"\n", "line 2, column 8: path \"b\": begin it with /"),
            ("order = \"sequense\"\n[[request]]\npath = \"/\"\n", "did you mean `sequence`?"),
            ("order = \"shuffle\"\n", "no [[request]]"),
            (
                "[[request]]\npath = \"/\"\ncapture = { t = \"jsn:/a\" }\n",
                "line 3, column 17: capture t from \"jsn:/a\": write json:/pointer/to/value or header:Name; did you mean json:?",
            ),
            ("[[request]]\npath = \"/\"\ncapture = { t = \"json:a\" }\n", "write json:/pointer/to/value"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
