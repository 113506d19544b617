//! One line of a log in JSON.

use serde_json::Value;

use super::escapes::{hex_escapes_as_text, unescaped_hex};
use super::fields::Fields;
use super::line::{Logged, code, is_method, request};
use super::time;
use crate::url::is_path_or_full;

/// Parses one line of a log in JSON. The error has a column, counted from 1, and a message.
pub(super) fn parse(line: &str, fields: &Fields) -> Result<Logged, (usize, String)> {
    let (value, escaped) = value(line).map_err(|e| (e.column().max(1), format!("no JSON: {e}")))?;
    if let Some(absent) = fields.given.iter().find(|name| find_field(&value, name).is_none()) {
        return Err((1, format!("it has no field {absent:?}, which --replay-fields names")));
    }
    let (method, path) = asked(&value, escaped, fields).map_err(|why| (1, why))?;
    let status = texts(&value, &fields.status).find_map(|word| code(&word));
    let at_s = texts(&value, &fields.time).find_map(|text| time::of_field(&text));
    Ok(Logged { at_s, method, path, status })
}

/// Returns method and path of the recorded request. `escaped` is true if the values contain `\xHH` as text.
fn asked(value: &Value, escaped: bool, fields: &Fields) -> Result<(String, String), String> {
    let undone = |path: String| if escaped { unescaped_hex(&path) } else { path };
    let is_path = |path: &String| path == "*" || is_path_or_full(path);
    // The first request line that can be read. If no request line can be read, the error of the first.
    let of_line = texts(value, &fields.request).map(|line| request(&undone(line))).min_by_key(Result::is_err);
    // nginx's `$uri` is decoded, may be rewritten, and has no query. A whole request line contains what the client
    // sent.
    let is_whole = !fields.is_path_named && texts(value, &fields.request).any(|line| line.contains(" HTTP/"));
    let method = texts(value, &fields.method).find(|method| is_method(method));
    match (texts(value, &fields.path).find(is_path), of_line) {
        (_, Some(Ok((of_line, path)))) if is_whole => {
            Ok((method.filter(|_| fields.is_method_named).unwrap_or(of_line), path))
        }
        (Some(path), of_line) => {
            let of_line = || of_line?.ok().map(|(method, _)| method);
            let method = method.or_else(of_line);
            let missing = "no field of it is a method; name it with --replay-fields method=NAME";
            Ok((method.ok_or(missing)?, undone(path)))
        }
        (None, Some(of_line)) if !fields.is_path_named => of_line,
        (None, _) if fields.is_path_named => {
            Err(format!("the field that --replay-fields names holds no path such as /a: {:?}", fields.path.join(", ")))
        }
        (None, _) => Err("no field of it is a path; name it with --replay-fields path=NAME,time=NAME".into()),
    }
}

/// Returns the values of the named fields, in the order of the names. Leaves out fields that the line lacks.
fn texts(value: &Value, names: &[String]) -> impl Iterator<Item = String> {
    names.iter().filter_map(|name| find_field(value, name))
}

/// Reads the JSON of a line. nginx without `escape=json` writes `\xHH`, which is not valid JSON. The returned flag is
/// true if the values contain `\xHH` as text.
fn value(line: &str) -> Result<(Value, bool), serde_json::Error> {
    serde_json::from_str(line).map(|value| (value, false)).or_else(|error| {
        let repaired = hex_escapes_as_text(line).and_then(|line| serde_json::from_str(&line).ok());
        repaired.map(|value| (value, true)).ok_or(error)
    })
}

/// Finds a text or a number by its field name. The name of a field in a nested object has dots: `http.request.path`.
fn find_field(value: &Value, name: &str) -> Option<String> {
    let found = value.get(name).or_else(|| name.split('.').try_fold(value, |value, part| value.get(part)))?;
    match found {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_field_without_a_path_is_told_as_such() {
        let fields = Fields::new("path=foo").unwrap();
        let (_, why) = parse(r#"{"foo":5,"method":"GET"}"#, &fields).unwrap_err();
        assert_eq!(why, "the field that --replay-fields names holds no path such as /a: \"foo\"");
    }

    fn of(line: &str) -> Result<Logged, (usize, String)> {
        parse(line, &Fields::new("").unwrap())
    }

    #[test]
    fn the_method_comes_from_the_line() {
        for (line, method) in [
            (r#"{"uri":"/a","method":"DELETE"}"#, "DELETE"),
            (r#"{"request":{"uri":"/a","method":"PUT"},"status":200}"#, "PUT"),
            (r#"{"RequestPath":"/a","RequestMethod":"HEAD"}"#, "HEAD"),
            (r#"{"uri":"/a","request":"PATCH /a HTTP/2.0"}"#, "PATCH"),
            (r#"{"httpRequest":{"requestMethod":"POST","requestUrl":"https://h/a","status":404}}"#, "POST"),
        ] {
            assert_eq!(of(line).map(|logged| logged.method), Ok(method.to_owned()), "{line}");
        }
    }

    #[test]
    fn the_first_field_that_can_be_read_counts() {
        let line = r#"{"time":"13:55:36","ts":"2000-10-10T20:55:36","request_method":"?","method":"GET","path":"catalog",
            "url":"/a","status":"error","status_code":404}"#;
        let expected = Logged { at_s: Some(971_211_336.0), method: "GET".into(), path: "/a".into(), status: Some(404) };
        assert_eq!(of(line), Ok(expected));
        assert_eq!(of(r#"{"request":"7f3c","request_line":"GET /b"}"#).unwrap().path, "/b");
        assert!(of(r#"{"request":"7f3c"}"#).unwrap_err().1.contains("7f3c"));
    }

    /// An earlier version of loadline dropped the query (`?q=1`), so all searches became one request.
    #[test]
    fn the_request_line_has_the_query_that_the_path_may_lack() {
        let line = r#"{"uri":"/search","args":"q=1","request":"GET /search?q=1 HTTP/1.0","verb":"PUT","status":200}"#;
        assert_eq!(of(line).unwrap().path, "/search?q=1");
        let named = parse(line, &Fields::new("method=verb").unwrap()).unwrap();
        assert_eq!((named.method.as_str(), named.path.as_str()), ("PUT", "/search?q=1"));
        assert_eq!(of(r#"{"uri":"/a","method":"GET","request":"7f3c"}"#).unwrap().path, "/a", "an ID of the request");
        assert_eq!(of(r#"{"request_uri":"/a?b","request":"GET /a"}"#).unwrap().path, "/a?b", "no whole request line");
    }

    #[test]
    fn a_field_that_the_user_names_is_not_replaced_by_another() {
        let line = r#"{"uri":"/a","method":"GET","request":"GET /b HTTP/1.1","target":"/c"}"#;
        let path = |given| parse(line, &Fields::new(given).unwrap()).map(|logged| logged.path);
        assert_eq!(path("path=target"), Ok("/c".into()));
        assert_eq!(path("request=request"), Ok("/b".into()));
        for absent in ["path=absent", "method=absent", "time=absent", "status=absent", "request=absent"] {
            let (_, error) = path(absent).unwrap_err();
            assert!(error.contains("no field \"absent\"") && error.contains("--replay-fields"), "{error}");
        }
    }

    #[test]
    fn escapes_that_are_no_json_are_undone() {
        let logged = of(r#"{"uri":"/q?s=\x22\xE4\xB8\xAD","method":"GET","agent":"\x16"}"#).unwrap();
        assert_eq!(logged.path, "/q?s=%22%E4%B8%AD");
        assert_eq!(of(r#"{"uri":"/q?s=\\x22","method":"GET"}"#).unwrap().path, r"/q?s=\x22", "as written");
    }
}
