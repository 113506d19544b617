//! Vegeta's targets. In vegeta's JSON format, each line is an object with method, url, header and body (base64).

use std::collections::BTreeMap;

use run::RequestPlan;
use serde::Deserialize;

use super::json::words;
use super::vegeta_http;
use crate::error::{ReadError, shown};
use crate::found::{Found, Imported, Source};
use crate::log::text_looks_like_log;
use crate::row::FormatSpec;
use crate::unreadable::Unreadable;
use crate::url;
use crate::vegeta_target::is_target;

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "vegeta",
    help: "vegeta's targets: a JSON object per line, or METHOD URL with headers and @FILE for the body",
    matches: |text| is_json(text) || vegeta_http::matches(text),
    read: |source| match first_line(source.text).starts_with('{') {
        true => read_json(source),
        false => vegeta_http::read(source),
    },
};

/// Returns the first line that is not empty.
fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// Returns true if a text begins like vegeta's JSON targets, and not like a log in JSON.
fn is_json(text: &str) -> bool {
    let line = first_line(text);
    let looks = line.starts_with('{') && line.contains("\"method\"") && line.contains("\"url\"");
    looks && (is_target(line) || !text_looks_like_log(line))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    method: String,
    url: String,
    #[serde(default)]
    header: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    body: String,
}

fn read_json(source: &Source<'_>) -> Result<Imported, ReadError> {
    let (mut all, mut unreadable) = (Imported::default(), Unreadable::default());
    for (number, line) in (1..).zip(source.text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |column: usize, message: String| ReadError {
            file: source.file.into(),
            place: Some((number, column.max(1))),
            message: format!("{message} in {}", shown(line)),
        };
        let target = serde_json::from_str::<Target>(line).map_err(|e| wrong(e.column(), words(&e)));
        let read = target.and_then(|target| found(target).map_err(|why| wrong(1, why)));
        all.found.extend(unreadable.unless_read(read));
    }
    unreadable.leave_out_of(all)
}

fn found(target: Target) -> Result<Found, String> {
    let url = url::split(&target.url)?;
    let headers =
        target.header.into_iter().flat_map(|(name, values)| values.into_iter().map(move |v| (name.clone(), v)));
    let mut request = RequestPlan { method: target.method, headers: headers.collect(), ..RequestPlan::default() };
    let body = run::from_base64(&target.body).ok_or("the body is not base64, which vegeta writes it in")?;
    request.set_body(&body);
    Ok(Found::new(request, url))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Imported, ReadError> {
        (FORMAT.read)(&Source { file: "t.json", text, folder: std::path::Path::new(".") })
    }

    #[test]
    fn targets_have_headers_and_bodies() {
        // The line comes from a command in vegeta's README: jq -ncM '{method: "POST", url: "http://goku", body:
        // "Punch!" | @base64, header: {"Content-Type": ["text/plain"]}}'
        let text =
            r#"{"method":"POST","url":"http://goku","body":"UHVuY2gh","header":{"Content-Type":["text/plain"]}}"#;
        assert!((FORMAT.matches)(text));
        let found = read(text).unwrap().found.remove(0);
        assert_eq!((found.request.body.as_str(), found.origin.as_deref()), ("Punch!", Some("http://goku")));
        assert_eq!((found.request.path.as_str(), found.request.headers.len()), ("/", 1));
    }

    #[test]
    fn a_wrong_key_is_named_with_its_place() {
        let error = read("{\"method\":\"GET\",\"urll\":\"/\"}").unwrap_err().to_string();
        assert!(error.starts_with("t.json: line 1, column ") && error.contains("did you mean `url`?"), "{error}");
        let all = read("{\"method\":\"GET\",\"url\":\"/\"}\n{\"method\":\"GET\",\"urll\":\"/\"}").unwrap();
        let said = all.left_out_words().unwrap();
        assert!(said.starts_with("requests left out: 1 that cannot be read (line 2, column "), "{said}");
        assert!(said.contains("did you mean `url`?"), "{said}");
        assert!(read("{\"method\":\"GET\",\"url\":\"/\",\"body\":\"?\"}").unwrap_err().to_string().contains("base64"));
        assert!(
            is_target("{\"method\":\"GET\",\"url\":\"/\",\"header\":{\"A\":\"x\"}}"),
            "wrong, but no line of a log"
        );
        assert!(!is_target("{\"method\":\"GET\",\"url\":\"/\",\"status\":200}") && !is_target("1.2.3.4 - -"));
    }
}
