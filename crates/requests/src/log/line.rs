//! Reads a text line of an access log: Common Log Format, the combined format of nginx and Apache, or HAProxy's format.
//! Module `json` reads lines of JSON.

use super::escapes::{unescaped, unescaped_hash};
use super::time;

/// The request that one line records.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Logged {
    /// Time of the request, seconds since the epoch; `None` if the line has none.
    pub(super) at_s: Option<f64>,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) status: Option<u16>,
}

impl Logged {
    /// Returns true if the line has a time or a status, as lines of access logs have.
    pub(super) fn is_of_a_log(&self) -> bool {
        self.at_s.is_some() || self.status.is_some()
    }
}

/// Parses a line whose request is in quotation marks: `host ident user [time] "METHOD path HTTP/1.1" status bytes …`.
/// The error has a column, counted from 1, and a message.
pub(super) fn plain(line: &str) -> Result<Logged, (usize, String)> {
    let quoted = quoted_fields(line)?;
    let first = *quoted.first().ok_or((1, "there is no \"request\"".to_owned()))?;
    // In a line of an access log, the request is the field directly after the time. A field that comes later in the
    // line must not be used as the request, because a client's header may contain any text.
    let is_request = |(begin, end): &(usize, usize)| request(&line[*begin..*end]).is_ok();
    let follows_time =
        |(begin, _): &&(usize, usize)| line[..begin - 1].trim_end_matches([' ', '|', '\t']).ends_with(']');
    let fixed = quoted.iter().find(follows_time);
    let (begin, end) = *fixed.or_else(|| quoted.iter().find(|field| is_request(field))).unwrap_or(&first);
    let (method, path) = request(&line[begin..end]).map_err(|why| (begin + 1, why))?;
    let (before, behind) = (&line[..begin - 1], &line[end + 1..]);
    let path = if fields(before).any(is_timers) { unescaped_hash(&path) } else { path };
    Ok(Logged {
        at_s: time::in_text(before).or_else(|| time::in_text(behind)),
        method,
        path,
        status: status(before, behind),
    })
}

/// Returns the byte range (begin and end) of each field in quotation marks, without the marks.
fn quoted_fields(line: &str) -> Result<Vec<(usize, usize)>, (usize, String)> {
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some(open) = line[at..].find('"').map(|n| at + n) {
        match closing_quote(&line[open + 1..]) {
            Some(length) => {
                all.push((open + 1, open + 1 + length));
                at = open + length + 2;
            }
            // If a server is still writing to the log, the log may end in the middle of a field. All complete fields
            // before the incomplete field are kept.
            None if all.is_empty() => return Err((open + 1, "a \"request\" is not closed".to_owned())),
            None => break,
        }
    }
    Ok(all)
}

/// Returns the index of the first quotation mark that no backslash escapes; `None` if there is none.
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

/// Splits the request line of a log, such as `GET /path HTTP/1.1`, into method and path. Escapes that the server wrote
/// (`\x22`) are undone. The path in the request line may contain spaces.
pub(super) fn request(text: &str) -> Result<(String, String), String> {
    // Servers write control characters as `\x16`. The escape is shown as it is in the log.
    let not_one = || format!("{} is not a request", crate::error::shown(text).replace(r"\\", r"\"));
    let (method, rest) = text.split_once(' ').ok_or_else(not_one)?;
    let path = match rest.rsplit_once(' ') {
        Some((path, version)) if version.starts_with("HTTP/") => path,
        Some(_) => return Err(not_one()),
        None => rest,
    };
    if !is_method(method) || path.is_empty() || path.starts_with("HTTP/") {
        return Err(not_one());
    }
    Ok((method.to_owned(), unescaped(path)))
}

/// Returns true if a word begins with an ASCII letter and consists of ASCII letters, digits, `-`, `_` and `.`, as a
/// method may. Registered methods consist of letters and `-` (IANA's registry of HTTP methods).
pub(super) fn is_method(word: &str) -> bool {
    let is_of_method = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    word.starts_with(|first: char| first.is_ascii_alphabetic()) && word.bytes().all(is_of_method)
}

/// Finds the status in the text around the request. The status is in one of four places. The status is directly before
/// or after the request, in a field `status`, or after the times of HAProxy or an AWS load balancer.
fn status(before: &str, behind: &str) -> Option<u16> {
    let next = fields(behind).next().and_then(code);
    let named = || fields(behind).chain(fields(before)).find_map(named_code);
    let haproxy = || {
        let mut all = fields(before);
        all.find(|field| is_timers(field)).and_then(|_| all.next()).and_then(code)
    };
    next.or_else(named).or_else(haproxy).or_else(|| balancer_status(before)).or_else(|| only_number(before))
}

/// Returns the status in a log of an AWS load balancer. In a log of an AWS load balancer, seven fields are directly
/// before the request. The seven fields are three times, two statuses, and the received and the sent bytes. In the log,
/// the first status is the status that the client got. In the log, the second status came from the server, or is `-`
/// (Elastic Load Balancing's manual, "Access logs").
fn balancer_status(before: &str) -> Option<u16> {
    let mut last: Vec<&str> = fields(before).rev().take(7).collect();
    last.reverse();
    let [times @ .., sent, from_server, received_bytes, sent_bytes] = last.as_slice() else { return None };
    let are_times = times.len() == 3 && times.iter().all(|time| time.parse::<f64>().is_ok());
    let are_bytes = [received_bytes, sent_bytes].iter().all(|bytes| bytes.parse::<u64>().is_ok());
    let has_server = *from_server == "-" || code(from_server).is_some();
    code(sent).filter(|_| are_times && are_bytes && has_server)
}

/// Returns the status directly before the request, if there is no other number between the time and the request. If
/// there is another number between the time and the request, the last number may be a size or a duration. The function
/// then returns `None`.
fn only_number(before: &str) -> Option<u16> {
    let after_time = before.rsplit(']').next().unwrap_or_default();
    let is_number = |field: &&str| field.parse::<f64>().is_ok_and(|number| number < time::MIN_EPOCH_S);
    let status = fields(after_time).last().and_then(code)?;
    (fields(after_time).filter(is_number).count() == 1).then_some(status)
}

/// Returns the fields of a text, without their quotation marks and brackets. Blanks, `|` and `,` separate fields.
fn fields(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let parts = text.split([' ', '\t', '|', ',']).map(|part| part.trim_matches(['"', '[', ']']));
    parts.filter(|part| !part.is_empty())
}

/// Parses a status from 100 to 599; `None` for other texts.
pub(super) fn code(text: &str) -> Option<u16> {
    let digits = text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|code| digits && (100..600).contains(code))
}

/// Parses `status=404`, `response_code:404` and the like.
fn named_code(field: &str) -> Option<u16> {
    let (name, value) = field.split_once(['=', ':'])?;
    let known = ["status", "status_code", "response_code", "response_status", "code", "sc-status"];
    known.iter().any(|known| name.eq_ignore_ascii_case(known)).then(|| code(value.trim_matches('"')))?
}

/// Returns true if a field is HAProxy's list of five times, such as `10/0/30/69/109` (HAProxy's manual, section 8.2.3).
fn is_timers(field: &str) -> bool {
    let number = |part: &str| part.trim_start_matches(['+', '-']).parse::<u64>().is_ok();
    field.split('/').count() == 5 && field.split('/').all(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::log::{fields::Fields, parse::parse};

    fn of(line: &str) -> Result<Logged, (usize, String)> {
        parse(line, &Fields::new("").unwrap())
    }

    #[test]
    fn the_usual_formats_are_read() {
        // The line is Apache's own example of the Common Log Format.
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
        let nested = r#"{"at":971211336000,"http":{"uri":"/apache_pb.gif"},"verb":"GET","status":"200"}"#;
        let fields = Fields::new("time=at, path=http.uri").unwrap();
        assert_eq!(parse(nested, &fields), Ok(expected));
    }

    #[test]
    fn the_status_is_found_where_servers_put_it() {
        let time = "[06/Feb/2009:12:14:14 +0000]";
        for (line, status) in [
            (format!("h|-|{time}|\"GET /g HTTP/1.1\"|410|9"), Some(410)),
            (format!("h {time} \"GET /g HTTP/1.1\" \"503\" 9"), Some(503)),
            (format!("h {time} 404 \"GET /g HTTP/1.1\" 9"), Some(404)),
            (format!("h {time} \"GET /g HTTP/1.1\" rt=0.1 response_code=404 b=200"), Some(404)),
            (format!("c:1 {time} fe be/s 1/0/300/6/310 404 217 - - ---- 1/1/1/1/0 0/0 \"GET /g HTTP/1.1\""), Some(404)),
            (format!("h {time} 1234 404 \"GET /g HTTP/1.1\" \"agent\""), None),
            (format!("h {time} 200 404 \"GET /g HTTP/1.1\" \"agent\""), None),
            ("1700000000.5 404 \"GET /g HTTP/1.1\"".into(), Some(404)),
            (format!("h {time} \"GET /g HTTP/1.1\" 0.404 -"), None),
            (format!("h {time} \"GET /g HTTP/1.1\" 2404"), None),
        ] {
            assert_eq!(of(&line).unwrap().status, status, "{line}");
        }
    }

    /// An earlier version took an escape for the beginning of a fragment, and cut the path off.
    #[test]
    fn escapes_of_haproxy_are_undone_only_in_its_logs() {
        let path = |timers| {
            let time = "[06/Feb/2009:12:14:14.655]";
            of(&format!("c:1 {time} fe be/s {timers} 200 1 \"GET /caf#C3#A9?q=#22 HTTP/1.1\"")).unwrap().path
        };
        assert_eq!((path("1/0/300/6/310").as_str(), path("-").as_str()), ("/caf%C3%A9?q=%22", "/caf#C3#A9?q=#22"));
    }

    /// In the log of this test, the number of sent bytes is directly before the request. An earlier version of loadline
    /// therefore took the number of sent bytes as the status of the answer.
    #[test]
    fn logs_of_aws_load_balancers_have_the_status_before_the_bytes() {
        let application = "2018-07-02T22:23:00.186641Z app/lb/50dc 192.168.131.39:2817 10.0.0.1:80";
        let behind = r#""GET http://h:80/g HTTP/1.1" "curl/7.46.0" - - arn:x "Root=1" "-" "-" 0 - "forward" "200""#;
        for (numbers, status) in [
            ("0.000 0.001 0.000 200 200 34 404", Some(200)),
            ("0.000 0.001 0.000 502 - 34 277", Some(502)),
            ("-1 -1 -1 503 - 0 503", Some(503)),
            ("0.000 0.001 0.000 - - 34 404", None),
        ] {
            for line in [format!("https {application} {numbers} {behind}"), format!("{application} {numbers} {behind}")]
            {
                let logged = of(&line).unwrap();
                assert_eq!((logged.status, logged.at_s.is_some()), (status, true), "{line}");
            }
        }
    }

    #[test]
    fn a_request_is_not_taken_from_what_the_client_says_of_itself() {
        let time = "[06/Feb/2009:12:14:14 +0000]";
        assert!(of(&format!("h - - {time} \"\\x16\\x03\" 400 1 \"-\" \"GET /no HTTP/1.1\"")).is_err());
        let forwarded = of(&format!("\"1.2.3.4\" {time} - \"GET /yes HTTP/1.1\" 200")).unwrap();
        assert_eq!(forwarded.path, "/yes");
        assert_eq!(of(&format!("h {time} \"GET /a b HTTP/1.1\" 404")).unwrap().path, "/a b");
    }

    #[test]
    fn lines_that_are_no_request_are_named_with_a_column() {
        for (line, column, says) in [
            ("rubbish", 1, "no \"request\""),
            (r#"h - - [x] "\x16\x03" 400 1"#, 12, r#""\x16\x03" is not a request"#),
            (r#"h - - [x] "GET / HTTP/1.1"#, 11, "not closed"),
            (r#"{"a":1}"#, 1, "--replay-fields path=NAME"),
            (r#"{"uri":"/a","time":1}"#, 1, "--replay-fields method=NAME"),
            (r#"{"uri":"/a","method":null}"#, 1, "--replay-fields method=NAME"),
            ("{\"a\":", 5, "no JSON"),
        ] {
            let (at, why) = of(line).unwrap_err();
            assert!(at == column && why.contains(says), "{line}: {at} {why}");
        }
        assert!(Fields::new("pth=x").unwrap_err().contains("did you mean path?"));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(line in "\\PC*[\\[\\]\" ]*\\PC*", json in "[\\[\\]{}\":,x\\\\a0 ]*") {
            let _ = of(&line);
            let _ = of(&format!("{{{json}"));
        }
    }
}
