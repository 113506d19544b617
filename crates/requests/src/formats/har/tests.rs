use super::*;

fn read(text: &str) -> Result<Imported, ReadError> {
    (FORMAT.read)(&Source { file: "x.har", text, folder: std::path::Path::new(".") })
}

/// Reads a HAR file with the entries in `all`. Each pair makes one entry: the first text is appended to the keys of
/// its `request` object, and the second text follows this object.
fn entries(all: &[(&str, &str)]) -> Imported {
    let entry = |(request, more): &(&str, &str)| {
        format!(r#"{{"request":{{"method":"GET","url":"http://h/a","headers":[]{request}}}{more}}}"#)
    };
    let text: Vec<String> = all.iter().map(entry).collect();
    read(&format!(r#"{{"log":{{"entries":[{}]}}}}"#, text.join(","))).unwrap()
}

/// The entries are not in the order of their times, and one of them has no time.
#[test]
fn the_times_of_a_recording_are_read_in_their_order() {
    let all = entries(&[
        ("", r#","startedDateTime":"2026-11-26T08:00:01.500Z""#),
        ("", r#","startedDateTime":"2026-11-26T09:00:00.000+01:00""#),
        ("", r#","startedDateTime":"yesterday""#),
        ("", r#","startedDateTime":"2026-11-26T08:00:02.000Z""#),
    ]);
    let times = all.recorded_times().unwrap();
    assert_eq!((times.gaps_us, times.items), (vec![0, 1_500_000, 500_000], vec![1, 0, 3]));
    let said = all.left_out_words().unwrap();
    assert!(said.contains("1 request has no time that can be read, first in \"GET /a\": a replay with"), "{said}");
    let untimed = entries(&[("", "")]);
    assert_eq!((untimed.recorded_times(), untimed.left_out_words()), (None, None));
}

#[test]
fn one_odd_entry_does_not_refuse_the_file() {
    let all = entries(&[
        ("", r#","response":{"status":null,"content":{"mimeType":null}}"#),
        ("", r#","_fromCache":true"#),
        ("", r#","_fromCache":false,"response":{"status":"404"}"#),
        ("", r#","_fetchType":"Memory Cache""#),
        ("", r#","_fetchType":"Network Load""#),
        ("", r#","response":{"status":0}"#),
        (r#","postData":3"#, ""),
    ]);
    assert_eq!(all.found.len(), 3);
    let said = all.left_out_words().unwrap();
    for part in ["2 answered from the browser's cache", "1 aborted", "1 that cannot be read", "number 7"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// An earlier version sent the handshake as a usual request, without its header Upgrade.
#[test]
fn a_websocket_is_left_out() {
    let upgrade =
        r#"{"request":{"method":"GET","url":"https://h/ws","headers":[{"name":"Upgrade","value":"WebSocket"}]}}"#;
    let plain = r#"{"request":{"method":"GET","url":"https://h/a","headers":[{"name":"Upgrade","value":"h2c"}]}}"#;
    let all = read(&format!(r#"{{"log":{{"entries":[{upgrade},{plain}]}}}}"#)).unwrap();
    assert_eq!((all.found.len(), all.left_out["that opens a WebSocket"]), (1, 1));
    let all = entries(&[("", ""), ("", r#","response":{"status":101}"#)]);
    assert_eq!((all.found.len(), all.left_out["that opens a WebSocket"]), (1, 1));
}

#[test]
fn a_body_has_the_type_that_was_recorded() {
    let data = r#","postData":{"mimeType":"text/csv","text":"a,b"}"#;
    assert_eq!(entries(&[(data, "")]).found[0].request.headers, [("Content-Type".to_owned(), "text/csv".to_owned())]);
}

#[test]
fn a_har_file_is_recognised_although_log_is_not_the_first_key() {
    assert!((FORMAT.matches)(r#"{"comment":"x","log":{"version":"1.2","entries":[]}}"#));
    assert!(!(FORMAT.matches)(r#"{"log_level":"x","method":"GET","url":"/"}"#));
    assert!(!(FORMAT.matches)("{\"a\":{\"log\":1}}"));
}

#[test]
fn errors_in_har_files_are_named_with_their_place() {
    let error = read("{\"log\": {\n \"entries\": 3}}").unwrap_err().to_string();
    assert!(error.starts_with("x.har: line 2, column ") && error.contains("expected a list"), "{error}");
    let error =
        read("{\"log\": {\"entries\": [\n {\"request\": {\"method\": \"GET\", \"ulr\": \"/\"}}]}}").unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with("x.har: line 2, column 32: ") && said.contains("did you mean `url`?"), "{said}");
    let error = read(r#"{"log":{"entries":[{"request":{"method":"GET","url":"data:x"}}]}}"#).unwrap_err().to_string();
    assert!(error.contains("requests left out: 1 whose URL begins with data: and not with http://"), "{error}");
}

/// An earlier version of loadline said "left out: 1 of /rel:, 1 of :" about these entries.
#[test]
fn entries_whose_url_names_no_server_are_left_out_with_this_reason() {
    let entry = |url: &str| format!(r#"{{"request":{{"method":"GET","url":"{url}"}}}}"#);
    let entries = ["http://h/a", "/rel", "", "/rel?at=12:30", "ws://h/b"].map(entry).join(",");
    let all = read(&format!(r#"{{"log":{{"entries":[{entries}]}}}}"#)).unwrap();
    let said = all.left_out_words().unwrap();
    assert_eq!(
        said,
        "requests left out: 1 whose URL begins with ws: and not with http:// or https://, 3 whose URL names no server"
    );
}
