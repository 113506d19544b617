//! HAR 1.2 files, as browsers and proxies write them.

mod body;

use run::RequestPlan;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::json;
use crate::error::{ReadError, shown};
use crate::found::{Found, Imported, Source};
use crate::row::FormatSpec;
use crate::timeless::unreadable_time;
use crate::url;
use body::PostData;

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "har",
    help: "a HAR file, as browsers save it; the kind of resource is the class",
    matches: |text| {
        let inside = text.trim_start().strip_prefix('{').unwrap_or_default();
        inside.trim_start().starts_with("\"log\"") || !inside.is_empty() && has_log(text)
    },
    read,
};

/// Returns true if the whole text is one JSON object, and the value of its key `log` is an object with the key
/// `entries`. The key `log` need not be the first key of the object.
fn has_log(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Probe {
        #[serde(rename = "log")]
        _log: Entries,
    }
    #[derive(Deserialize)]
    struct Entries {
        #[serde(rename = "entries")]
        _entries: IgnoredAny,
    }
    serde_json::from_str::<Probe>(text).is_ok()
}

/// Recorded headers that loadline does not send as recorded, because they belong to the connection, or because loadline
/// sets them itself.
const CONNECTION_HEADERS: &[&str] =
    &["host", "connection", "content-length", "transfer-encoding", "keep-alive", "upgrade"];

/// Status of an answer after which the connection is no longer one of HTTP (RFC 9110, section 15.2.2). Servers answer a
/// handshake of a WebSocket with this status.
const SWITCHING_PROTOCOLS: i64 = 101;

#[derive(Deserialize)]
struct File<E> {
    log: Log<E>,
}

#[derive(Deserialize)]
struct Log<E> {
    entries: Vec<E>,
}

#[derive(Deserialize)]
struct Entry {
    request: Asked,
    #[serde(rename = "startedDateTime")]
    started: Option<Value>,
    response: Option<Answer>,
    #[serde(rename = "_resourceType")]
    kind: Option<String>,
    /// Chrome's field for an answer from its cache: `memory` or `disk`.
    #[serde(rename = "_fromCache")]
    cached: Option<Value>,
    /// WebKit's field for the origin of an answer: `Memory Cache`, `Disk Cache`, `Service Worker` or `Network Load`.
    #[serde(rename = "_fetchType")]
    fetched: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Pair>,
    post_data: Option<PostData>,
    body_size: Option<Value>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    value: String,
}

#[derive(Deserialize)]
struct Answer {
    status: Option<Value>,
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    mime_type: Option<Value>,
}

fn read(source: &Source<'_>) -> Result<Imported, ReadError> {
    let wrong = |e| json::explain(source.file, source.text, "not a HAR file", &e);
    let mut all = Imported::default();
    match serde_json::from_str::<File<Entry>>(source.text) {
        Ok(file) => file.log.entries.into_iter().for_each(|entry| add(&mut all, entry)),
        Err(error) => {
            let file: File<Value> = serde_json::from_str(source.text).map_err(wrong)?;
            for (place, entry) in (1..).zip(file.log.entries) {
                match serde_json::from_value(entry) {
                    Ok(entry) => add(&mut all, entry),
                    Err(why) => {
                        if all.remarks.is_empty() {
                            all.remarks.push(format!("the first entry that cannot be read is number {place}: {why}"));
                        }
                        all.leave_out("that cannot be read");
                    }
                }
            }
            if all.found.is_empty() {
                return Err(wrong(error));
            }
        }
    }
    if all.found.is_empty() {
        let left_out = all.left_out_words().unwrap_or_else(|| "it has no entries".into());
        let message = format!("no request of it can be made ({left_out})");
        return Err(ReadError { file: source.file.into(), place: None, message });
    }
    let remark = timeless_remark(&all.found);
    all.remarks.extend(remark);
    Ok(all)
}

/// Returns a remark on the requests without a time that can be read; `None` if all requests have a time, or no request
/// has one.
fn timeless_remark(found: &[Found]) -> Option<String> {
    let timeless = || found.iter().filter(|found| found.recorded_us.is_none());
    let first = timeless().next().filter(|_| timeless().count() < found.len())?;
    Some(unreadable_time(timeless().count() as u64, &shown(&first.request.called())))
}

fn add(all: &mut Imported, entry: Entry) {
    match found(entry) {
        Ok(found) => all.found.push(found),
        Err(why) => all.leave_out(why),
    }
}

/// Returns the request of an entry, or the reason why the entry is left out.
fn found(entry: Entry) -> Result<Found, String> {
    let status = entry.response.as_ref().and_then(|answer| answer.status.as_ref()).and_then(Value::as_i64);
    never_sent(&entry, status).map_or(Ok(()), Err)?;
    let started = entry.started.as_ref().and_then(Value::as_str).and_then(|time| time.parse::<jiff::Timestamp>().ok());
    let recorded_us = started.map(jiff::Timestamp::as_microsecond);
    let Asked { method, url, headers, post_data, body_size } = entry.request;
    has_http_scheme(&url)?;
    let url = url::split(&url).map_err(|_| "with a URL that cannot be read")?;
    let mut headers: Vec<(String, String)> = headers.into_iter().map(|pair| (pair.name, pair.value)).collect();
    let kind = post_data.as_ref().and_then(|data| data.mime_type.clone()).filter(|kind| !kind.is_empty());
    let body = body::of(&method, &headers, post_data, body_size.as_ref().and_then(Value::as_i64))?;
    let has_kind = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    headers.extend(kind.filter(|_| !body.is_empty() && !has_kind).map(|kind| ("Content-Type".to_owned(), kind)));
    let is_connection_header =
        |name: &str| name.starts_with(':') || CONNECTION_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name));
    let mut request = RequestPlan {
        method,
        headers: headers.into_iter().filter(|(name, _)| !is_connection_header(name)).collect(),
        class: entry.kind.or_else(|| entry.response.and_then(mime_kind)).unwrap_or_default(),
        accept_status: status.and_then(|status| u16::try_from(status).ok()).filter(|s| (400..600).contains(s)),
        ..RequestPlan::default()
    };
    request.set_body(&body);
    Ok(Found { recorded_us, ..Found::new(request, url) })
}

/// Returns the reason why a request is left out if its URL does not begin with `http://` or `https://`.
fn has_http_scheme(url: &str) -> Result<(), String> {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    match scheme {
        scheme if ["http", "https"].iter().any(|own| own.eq_ignore_ascii_case(scheme)) => Ok(()),
        scheme if !scheme.is_empty() && scheme.bytes().all(is_of_scheme) => {
            Err(format!("whose URL begins with {scheme}: and not with http:// or https://"))
        }
        _ => Err("whose URL names no server".into()),
    }
}

/// Returns true if a byte may be part of a URL's scheme, such as `http` or `chrome-extension` (RFC 3986, section 3.1).
fn is_of_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)
}

/// Returns the reason why the server never got or never answered a request, or answered by opening a WebSocket. `None`
/// if the recording shows no such reason.
fn never_sent(entry: &Entry, status: Option<i64>) -> Option<String> {
    let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
    let fetched = entry.fetched.as_ref().and_then(Value::as_str).unwrap_or_default();
    if entry.cached.as_ref().is_some_and(is_set) || fetched.ends_with(" Cache") {
        return Some("answered from the browser's cache".into());
    }
    let upgrades =
        |pair: &Pair| pair.name.eq_ignore_ascii_case("upgrade") && pair.value.eq_ignore_ascii_case("websocket");
    if status == Some(SWITCHING_PROTOCOLS) || entry.request.headers.iter().any(upgrades) {
        return Some("that opens a WebSocket".into());
    }
    match (fetched, status) {
        ("Service Worker", _) => Some("answered by a service worker of the page".into()),
        (_, Some(0)) => Some("aborted or blocked before an answer (status 0)".into()),
        _ => None,
    }
}

/// Returns the last part of a MIME type without parameters, such as `html` for `text/html; charset=utf-8`.
fn mime_kind(answer: Answer) -> Option<String> {
    let mime = answer.content?.mime_type?;
    let mime = mime.as_str()?;
    let kind = mime.split(';').next().unwrap_or_default().rsplit('/').next().unwrap_or_default().trim().to_owned();
    Some(kind).filter(|kind| !kind.is_empty() && kind != "x-unknown")
}

#[cfg(test)]
mod tests;
