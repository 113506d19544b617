//! One line of an access log: Common Log Format, the combined format of nginx and Apache, or JSON.

use jiff::Timestamp;
use serde_json::Value;

/// The request of one line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Logged {
    /// Time, seconds since the epoch.
    pub(super) at_s: Option<f64>,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) status: Option<u16>,
}

/// Field names of JSON lines, in the order in which they are tried.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    request: Vec<String>,
    method: Vec<String>,
    path: Vec<String>,
    time: Vec<String>,
    status: Vec<String>,
}

impl Fields {
    /// Returns the names of common configurations, after the user's own (`time=…,path=…`).
    pub(super) fn new(given: &str) -> Result<Self, String> {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let mut all = Self {
            request: list(&["request", "request_line"]),
            method: list(&["request_method", "method", "http_method", "verb"]),
            path: list(&["request_uri", "uri", "path", "url", "request_path"]),
            time: list(&["time", "msec", "timestamp", "@timestamp", "time_iso8601", "time_local", "ts"]),
            status: list(&["status", "status_code", "response_status"]),
        };
        for pair in given.split(',').filter(|pair| !pair.trim().is_empty()) {
            let (what, name) = pair.split_once('=').ok_or_else(|| format!("{pair:?} has no =; write path=NAME"))?;
            let names = match what.trim() {
                "request" => &mut all.request,
                "method" => &mut all.method,
                "path" => &mut all.path,
                "time" => &mut all.time,
                "status" => &mut all.status,
                other => {
                    let near = run::nearest(other, ["request", "method", "path", "time", "status"]);
                    let near = near.map_or(String::new(), |n| format!("; did you mean {n}?"));
                    return Err(format!("there is no field {other:?} (request, method, path, time, status){near}"));
                }
            };
            names.insert(0, name.trim().to_owned());
        }
        Ok(all)
    }
}

/// Parses a line. The error is a column, from 1, and a message.
pub(super) fn parse(line: &str, fields: &Fields) -> Result<Logged, (usize, String)> {
    if line.trim_start().starts_with('{') { json(line, fields) } else { common(line) }
}

/// Parses `host ident user [time] "METHOD path HTTP/1.1" status bytes …`.
fn common(line: &str) -> Result<Logged, (usize, String)> {
    let open = line.find('[').ok_or((1, "there is no [time]".to_owned()))?;
    let close = line[open..].find(']').map(|at| open + at).ok_or((open + 1, "a [time] is not closed".to_owned()))?;
    let quote =
        line[close..].find('"').map(|at| close + at).ok_or((close + 1, "there is no \"request\"".to_owned()))?;
    let rest = &line[quote + 1..];
    let end = closing_quote(rest).ok_or((quote + 1, "a \"request\" is not closed".to_owned()))?;
    let (method, path) = request(&rest[..end]).map_err(|why| (quote + 2, why))?;
    let status = rest[end + 1..].split_whitespace().next().and_then(|word| word.parse().ok());
    Ok(Logged { at_s: time(&line[open + 1..close]), method, path, status })
}

/// Returns the index of the closing quote: the first one that no backslash escapes.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !escaped => return Some(at),
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

/// Splits `GET /path HTTP/1.1` into method and path.
fn request(text: &str) -> Result<(String, String), String> {
    let mut words = text.split(' ');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(method), Some(path), version, None)
            if !method.is_empty() && version.is_none_or(|v| v.starts_with("HTTP/")) =>
        {
            Ok((method.to_owned(), path.to_owned()))
        }
        _ => Err(format!("{} is not a request", crate::error::shown(text))),
    }
}

fn json(line: &str, fields: &Fields) -> Result<Logged, (usize, String)> {
    let value: Value = serde_json::from_str(line).map_err(|e| (e.column().max(1), format!("no JSON: {e}")))?;
    let text = |names: &[String]| {
        names.iter().find_map(|name| find_field(&value, name)).map(|v| match v {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    };
    let (method, path) = match (text(&fields.path), text(&fields.request)) {
        (Some(path), _) if path.starts_with('/') || run::UrlParts::parse(&path).scheme.is_some() => {
            (text(&fields.method).unwrap_or_else(|| "GET".into()), path)
        }
        (_, Some(line)) => request(&line).map_err(|why| (1, why))?,
        _ => return Err((1, "no field of it is a path; name it with --replay-fields path=NAME,time=NAME".into())),
    };
    let status = text(&fields.status).and_then(|word| word.parse().ok());
    Ok(Logged { at_s: text(&fields.time).and_then(|text| time(&text)), method, path, status })
}

/// Finds a field, also one of a nested object: `http.request.path`.
fn find_field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).or_else(|| name.split('.').try_fold(value, |value, part| value.get(part)))
}

/// Parses `10/Oct/2000:13:55:36 -0700`, RFC 3339, or a number of seconds, milliseconds, micro- or nanoseconds. Returns
/// seconds since the epoch.
fn time(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse::<f64>() {
        // 1e11 seconds are the year 5138, 1e11 milliseconds the year 1973: larger numbers are in smaller units.
        let factor = [1.0, 1e-3, 1e-6, 1e-9].into_iter().find(|factor| number * factor < 1e11)?;
        return Some(number * factor).filter(|s| s.is_finite() && *s >= 0.0);
    }
    let stamp = match text.parse::<Timestamp>() {
        Ok(stamp) => stamp,
        Err(_) => jiff::fmt::strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok()?.to_timestamp().ok()?,
    };
    Some(stamp.as_nanosecond() as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(line: &str) -> Result<Logged, (usize, String)> {
        parse(line, &Fields::new("").unwrap())
    }

    #[test]
    fn the_usual_formats_are_read() {
        // Apache's own example of the Common Log Format.
        let line = r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#;
        let expected = Logged {
            at_s: Some(971_211_336.0),
            method: "GET".into(),
            path: "/apache_pb.gif".into(),
            status: Some(200),
        };
        assert_eq!(of(line), Ok(expected.clone()));
        assert_eq!(of(&format!(r#"{line} "http://ref/\"x" "agent [1] \"GET /no HTTP/1.1\"""#)), Ok(expected.clone()));
        let json = r#"{"time":"2000-10-10T13:55:36-07:00","request":"GET /apache_pb.gif HTTP/1.0","status":200}"#;
        assert_eq!(of(json), Ok(expected.clone()));
        let nested = r#"{"at":971211336000,"http":{"uri":"/apache_pb.gif"},"status":"200"}"#;
        let fields = Fields::new("time=at, path=http.uri").unwrap();
        assert_eq!(parse(nested, &fields), Ok(expected));
    }

    #[test]
    fn what_is_none_is_named_with_its_column() {
        for (line, column, says) in [
            ("rubbish", 1, "no [time]"),
            (r#"h - - [x] "\x16\x03" 400 1"#, 12, "is not a request"),
            (r#"h - - [x] "GET / HTTP/1.1"#, 11, "not closed"),
            (r#"{"a":1}"#, 1, "--replay-fields"),
            ("{\"a\":", 5, "no JSON"),
        ] {
            let (at, why) = of(line).unwrap_err();
            assert!(at == column && why.contains(says), "{line}: {at} {why}");
        }
        assert!(Fields::new("pth=x").unwrap_err().contains("did you mean path?"));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(line in "\\PC*[\\[\\]\" ]*\\PC*") {
            let _ = of(&line);
        }
    }
}
