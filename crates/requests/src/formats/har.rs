//! HAR 1.2 files, as browsers and proxies write them.

use run::RequestPlan;
use serde::Deserialize;

use super::json;
use crate::error::ReadError;
use crate::found::{Found, Imported, Source};
use crate::row::FormatSpec;
use crate::url;

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "har",
    help: "a HAR file, as browsers save it; the kind of resource is the class",
    matches: |text| {
        let inside = text.trim_start().strip_prefix('{').unwrap_or_default();
        inside.trim_start().starts_with("\"log\"")
    },
    read,
};

/// Headers that are left out, since they belong to the connection or the client sets them.
const CONNECTION_HEADERS: &[&str] =
    &["host", "connection", "content-length", "transfer-encoding", "keep-alive", "upgrade"];

#[derive(Deserialize)]
struct File {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: Asked,
    response: Option<Answer>,
    #[serde(rename = "_resourceType")]
    kind: Option<String>,
    #[serde(rename = "_fromCache")]
    cached: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Pair>,
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    value: String,
}

#[derive(Deserialize)]
struct PostData {
    text: Option<String>,
    encoding: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    status: i64,
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    mime_type: Option<String>,
}

fn read(source: &Source<'_>) -> Result<Imported, ReadError> {
    let file: File =
        serde_json::from_str(source.text).map_err(|e| json::explain(source.file, source.text, "not a HAR file", &e))?;
    let mut all = Imported::default();
    for entry in file.log.entries {
        match found(entry) {
            Ok(found) => all.found.push(found),
            Err(why) => all.leave_out(why),
        }
    }
    if all.found.is_empty() {
        let left_out = all.left_out_words().unwrap_or_else(|| "it has no entries".into());
        let message = format!("no request of it can be made ({left_out})");
        return Err(ReadError { file: source.file.into(), place: None, message });
    }
    Ok(all)
}

/// Returns the request of an entry, or the reason why it is left out.
fn found(entry: Entry) -> Result<Found, String> {
    let Asked { method, url, headers, post_data } = entry.request;
    if entry.cached.is_some() {
        return Err("answered from the browser's cache".into());
    }
    let scheme = url.split(':').next().unwrap_or_default();
    if !["http", "https"].contains(&scheme) {
        return Err(format!("of {scheme}:"));
    }
    let (origin, path) = url::split(&url).map_err(|_| "with a URL that cannot be read")?;
    let is_connection_header =
        |name: &str| name.starts_with(':') || CONNECTION_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name));
    let headers =
        headers.into_iter().filter(|pair| !is_connection_header(&pair.name)).map(|pair| (pair.name, pair.value));
    let status = entry.response.as_ref().map_or(0, |answer| answer.status);
    let mut request = RequestPlan {
        method,
        path,
        headers: headers.collect(),
        class: entry.kind.or_else(|| entry.response.and_then(mime_kind)).unwrap_or_default(),
        expect_status: u16::try_from(status).ok().filter(|status| (400..600).contains(status)),
        ..RequestPlan::default()
    };
    if let Some(PostData { text: Some(text), encoding }) = post_data {
        match encoding.as_deref() {
            Some("base64") => request.set_body(&run::from_base64(&text).ok_or("with a body that cannot be read")?),
            _ => request.set_body(text.as_bytes()),
        }
    }
    Ok(Found { request, origin })
}

/// `text/html; charset=utf-8` as a class: `html`.
fn mime_kind(answer: Answer) -> Option<String> {
    let mime = answer.content?.mime_type?;
    let kind = mime.split(';').next().unwrap_or_default().rsplit('/').next().unwrap_or_default().trim().to_owned();
    Some(kind).filter(|kind| !kind.is_empty() && kind != "x-unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Imported, ReadError> {
        (FORMAT.read)(&Source { file: "x.har", text, folder: std::path::Path::new(".") })
    }

    #[test]
    fn what_is_no_har_file_is_named_with_its_place() {
        let error = read("{\"log\": {\n \"entries\": 3}}").unwrap_err().to_string();
        assert!(error.starts_with("x.har: line 2, column ") && error.contains("sequence"), "{error}");
        let error =
            read("{\"log\": {\"entries\": [\n {\"request\": {\"method\": \"GET\", \"ulr\": \"/\"}}]}}").unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("x.har: line 2, column 32: ") && said.contains("did you mean `url`?"), "{said}");
        let error =
            read(r#"{"log":{"entries":[{"request":{"method":"GET","url":"data:x"}}]}}"#).unwrap_err().to_string();
        assert!(error.contains("left out: 1 of data:"), "{error}");
    }
}
