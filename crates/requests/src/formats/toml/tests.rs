use run::RequestSet;

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
