//! Tests of whole access logs.

use std::io::Write as _;

use super::collected::{MAX_LINE_BYTES, NEVER_SENT};
use super::*;

fn of(text: &[u8], allow: &[&str]) -> Result<Replay, ReadError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    let allow = allow.iter().map(|m| (*m).to_owned()).collect();
    replay(file.path(), &ReplayOptions { allow, ..ReplayOptions::default() })
}

fn line(second: u32, request: &str, status: u16) -> String {
    format!("h - - [10/Oct/2000:13:55:{second:02} +0000] \"{request} HTTP/1.1\" {status} 1 \"-\" \"-\"\n")
}

#[test]
fn a_line_that_is_too_long_is_one_line_and_is_named() {
    let long = line(1, &format!("GET /{}", "x".repeat(MAX_LINE_BYTES as usize)), 200);
    let text = [line(1, "GET /a", 200), long.clone(), line(2, "GET /b", 200)].concat();
    let log = of(text.as_bytes(), &[]).unwrap();
    let (said, bytes) = (log.summary.words().join("; "), long.len());
    assert_eq!((log.times.len(), log.left_out["longer than 64 KiB"]), (2, 1));
    assert!(said.starts_with("3 lines, 2 requests"), "{said}");
    assert!(said.contains(&format!("first at line 2, column 65537: the line has {bytes} bytes")), "{said}");
    let alone = of(long.as_bytes(), &[]).unwrap_err();
    assert!(alone.place == Some((1, 65_537)) && alone.message.contains("remove its long fields"), "{alone}");
    let exact = format!("{}\n", "x".repeat(MAX_LINE_BYTES as usize - 1)) + &line(1, "GET /a", 200);
    assert!(!of(exact.as_bytes(), &[]).unwrap().left_out.contains_key("longer than 64 KiB"));
}

#[test]
fn requests_are_counted_and_what_changes_things_is_left_out_unless_allowed() {
    let text = [
        line(3, "GET /a?x=1", 200),
        line(1, "GET /shop/b", 404),
        line(1, "POST /p", 200),
        line(2, "GET /a?x=1", 304),
        "rubbish\n".into(),
    ]
    .concat();
    let log = of(text.as_bytes(), &[]).unwrap();
    let said: Vec<_> =
        log.requests.iter().map(|r| (r.path.as_str(), r.weight, r.class.as_str(), r.accept_status)).collect();
    assert_eq!(said, [("/a?x=1", 2.0, "GET /a", None), ("/shop/b", 1.0, "GET /shop/", Some(404))]);
    assert_eq!(log.times, [(0, 1), (1_000_000, 0), (2_000_000, 0)]);
    let two = of([line(1, "GET /a", 200), line(1, "GET /b", 200), line(2, "GET /a", 200)].concat().as_bytes(), &[]);
    assert_eq!(two.unwrap().times, [(0, 0), (500_000, 1), (1_000_000, 0)], "spread over their second");
    assert_eq!(log.left_out.values().sum::<u64>(), 2);
    assert!(log.left_out.keys().any(|why| why.starts_with("POST") && why.contains("--allow POST")));
    assert!(log.summary.words().join("\n").contains("first at line 5, column 1"), "{:?}", log.summary.words());
    assert_eq!(of(text.as_bytes(), &["post"]).unwrap().requests.len(), 3);
}

/// An earlier version made a replay of decades from the first line, and refused it.
#[test]
fn a_time_of_zero_among_dates_is_no_time() {
    let line = |time: f64| format!("{{\"time\":{time},\"method\":\"GET\",\"path\":\"/a\"}}\n");
    let log = of([line(0.0), line(1.7e9), line(1.7e9 + 0.5)].concat().as_bytes(), &[]).unwrap();
    assert_eq!(log.times, [(0, 0), (500_000, 0)]);
    let said = log.summary.words().join("; ");
    assert!(said.contains("1 request has no time that can be read, first in line 1: "), "{said}");
    let since_start = of([line(0.0), line(0.25)].concat().as_bytes(), &[]).unwrap();
    assert_eq!(since_start.times, [(0, 0), (250_000, 0)]);
}

/// Scanners write lines of this kind into every public log. An earlier version of loadline took `index.php` as the host
/// of all requests, and left out the requests to other hosts.
#[test]
fn a_target_that_is_no_path_is_left_out_and_names_no_server() {
    let text = [line(1, "GET index.php", 400), line(1, "GET ../x", 400), line(2, "GET http://h/a", 200)].concat();
    let log = of(text.as_bytes(), &[]).unwrap();
    assert_eq!(log.requests.iter().map(|request| request.path.as_str()).collect::<Vec<_>>(), ["/a"]);
    assert_eq!(log.left_out["with a path that cannot be sent"], 2);
}

/// An earlier version of loadline did not recognize `get` as the method GET. The earlier version left out requests with
/// the method `get`, as if they could change something on the server.
#[test]
fn methods_in_small_letters_are_the_usual_ones() {
    let text = [line(1, "get /a", 200), line(1, "GET /a", 200), line(1, "Delete /b", 200), line(1, "x /c", 200)];
    let log = of(text.concat().as_bytes(), &[]).unwrap();
    assert_eq!((log.requests.len(), log.requests[0].weight), (1, 2.0));
    assert!(log.left_out.keys().any(|why| why.starts_with("DELETE (it may")), "{:?}", log.left_out);
    assert!(log.left_out.keys().any(|why| why.starts_with("x (it may")), "{:?}", log.left_out);
    let said = log.summary.words();
    assert!(said.contains(&"2 methods written in small letters: read as capitals".into()), "{said:?}");
}

/// Misspelt methods of `--allow` had no effect and no message in an earlier version of loadline.
#[test]
fn an_allowed_method_that_the_log_does_not_have_is_told() {
    let text = [line(1, "GET /a", 200), line(1, "POST /b", 200), line(2, "QUERY2 /c", 200)].concat();
    let words = |allow: &[&str]| of(text.as_bytes(), allow).unwrap().summary.words().join("\n");
    assert!(words(&["POTS"]).contains("--allow POTS: no request of the log has this method"));
    assert!(!words(&["post", "QUERY2"]).contains("--allow"), "{}", words(&["post", "QUERY2"]));
    assert_eq!(of(text.as_bytes(), &["QUERY2"]).unwrap().requests.len(), 2, "an unknown but valid method");
}

/// nginx logs the status 499 if a client closed the connection before the answer. For requests with the status 499, an
/// earlier version of loadline expected the server to answer 499 in the replay.
#[test]
fn a_status_that_no_server_sends_is_not_expected() {
    for status in NEVER_SENT {
        let text = [line(1, "GET /left", *status), line(1, "GET /left", *status), line(1, "GET /a", 404)].concat();
        let log = of(text.as_bytes(), &[]).unwrap();
        let expected: Vec<Option<u16>> = log.requests.iter().map(|request| request.accept_status).collect();
        let answers = "answers: 4xx 1, none 2 (a status such as 499:";
        assert_eq!(expected, [None, Some(404)]);
        assert!(log.summary.words().iter().any(|said| said.starts_with(answers)), "{:?}", log.summary.words());
    }
}

/// An earlier version asked the user to unpack a compressed log that was cut off.
#[test]
fn a_packed_log_that_is_cut_off_is_still_a_log() {
    let text: String = (0..2000).map(|i| line(1, &format!("GET /{i}"), 200)).collect();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.log.gz");
    // Nothing of the first 12 bytes can be unpacked.
    std::fs::write(&path, &packed[..12]).unwrap();
    assert!(crate::is_damaged_gzip(&path));
    std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    assert!(crate::looks_like_log(&path) && !crate::is_damaged_gzip(&path));
    let error = crate::replay(&path, &ReplayOptions::default()).unwrap_err().to_string();
    assert!(error.contains("cannot be read"), "{error}");
}

#[test]
fn a_packed_log_is_the_same_log() {
    let text = [line(1, "GET /a", 200), line(2, "GET /b", 200)].concat();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let (plain, packed) = (of(text.as_bytes(), &[]).unwrap(), of(&packed.finish().unwrap(), &[]).unwrap());
    assert_eq!((plain.requests, plain.times), (packed.requests, packed.times));
}

#[test]
fn files_that_are_no_log_are_refused() {
    let error = of(b"what is this\n", &[]).unwrap_err().to_string();
    assert!(
        error.contains("line 1, column 1: no line is a request to make") && error.contains("what is this"),
        "{error}"
    );
    assert!(of(b"", &[]).is_err());
}
