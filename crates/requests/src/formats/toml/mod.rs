//! Requests in TOML: the format for requests that users write by hand, and for saved requests.

mod headers;
mod write;

use std::collections::BTreeMap;

use run::{RequestOrder, RequestPlan};
use serde::Deserialize;
use toml::Spanned;

use self::headers::Headers;
pub use self::write::to_toml;
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

/// Returns the start of a text in the file, and the text.
fn inside(spanned: &Spanned<String>) -> (usize, String) {
    (spanned.span().start, spanned.get_ref().clone())
}

fn found(entry: Entry, at: usize, folder: &std::path::Path) -> Result<Found, (usize, String)> {
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
    add_body(&mut request, at, (entry.body_file.as_ref(), entry.body_base64.as_ref()), folder)?;
    request.method = entry.method.unwrap_or_else(|| if request.has_body() { "POST".into() } else { "GET".into() });
    Ok(Found::new(request, url))
}

/// Sets the body from a file or from a text in base64. A request has at most one body. `at` is
/// the place of the request in the file.
fn add_body(
    request: &mut RequestPlan,
    at: usize,
    (file, base64): (Option<&Spanned<String>>, Option<&Spanned<String>>),
    folder: &std::path::Path,
) -> Result<(), (usize, String)> {
    let bodies = [!request.body.is_empty(), file.is_some(), base64.is_some()];
    if bodies.into_iter().filter(|given| *given).count() > 1 {
        return Err((at, "a request has one of body, body-file and body-base64".into()));
    }
    if let Some((at, name)) = file.map(inside) {
        let path = folder.join(name);
        let read = run::read_bounded(&path, run::MAX_REQUEST_FILE_BYTES);
        let bytes = read.map_err(|e| (at, format!("cannot read {}: {e}", path.display())))?;
        request.set_body(&bytes);
    }
    if let Some((at, text)) = base64.map(inside) {
        let bytes =
            run::from_base64(&text).ok_or((at, "body-base64 is not base64 (RFC 4648, section 4)".to_owned()))?;
        request.set_body(&bytes);
    }
    Ok(())
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

#[cfg(test)]
mod tests;
