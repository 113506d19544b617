use super::*;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// Timeout, seconds. On every machine, the test servers of this file answer in a shorter time.
const PATIENT: f64 = 20.0;

/// Sends a test request to a server that reads one request and sends the bytes `answer`, and returns the result of
/// the test request. If `close` is true, the server then closes the connection. If `close` is false, the server
/// keeps the connection open and sends nothing until the client has finished.
fn plan_against(plan: &LoadPlan, answer: &[u8], close: bool, timeout_s: f64) -> Result<TestResponse, String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let answer = answer.to_vec();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let _ = stream.read(&mut request);
        let _ = stream.write_all(&answer);
        if !close {
            let _ = is_done.recv();
        }
    });
    let result = test_request(&addr.into(), &LoadPlan { timeout_s, ..plan.clone() });
    drop(done);
    server.join().unwrap();
    result
}

fn against(answer: &[u8], close: bool, timeout_s: f64) -> Result<TestResponse, String> {
    plan_against(&LoadPlan::default(), answer, close, timeout_s)
}

/// Sends test requests that end by their timeout, because the server sends only the bytes `answer`. On a busy
/// machine, these bytes may arrive after a short timeout, so each further request has a longer timeout. Returns the
/// first error that contains `words`.
#[track_caller]
fn timed_out(plan: &LoadPlan, answer: &[u8], words: &str) -> String {
    let timeouts_s = [0.3, 3.0, 30.0].into_iter();
    let mut errors = timeouts_s.map(|timeout_s| plan_against(plan, answer, false, timeout_s).unwrap_err());
    errors.find(|error| error.contains(words)).unwrap_or_else(|| panic!("no error says {words:?}"))
}

#[test]
fn a_good_answer_passes_the_check_before_the_run() {
    let first = against(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false, PATIENT).unwrap();
    assert_eq!((first.status_line.as_deref(), first.unexpected), (Some("HTTP/1.1 200 OK"), false));
    let empty = against(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, PATIENT).unwrap();
    assert!(!empty.unexpected);
    assert!(against(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", false, PATIENT).unwrap().unexpected);
}

#[test]
fn the_body_and_where_a_redirect_leads_are_kept() {
    let long = [&b"HTTP/1.1 422 No\r\nContent-Length: 300\r\n\r\n"[..], &[b'b'; 300]].concat();
    assert_eq!(against(&long, false, PATIENT).unwrap().body.len(), 200);
    let first =
        against(b"HTTP/1.1 422 Unprocessable\r\nContent-Length: 8\r\n\r\n{\"a\":\x071}", false, PATIENT).unwrap();
    assert_eq!((first.body.as_str(), first.redirect), ("{\"a\": 1}", None));
    let to = b"HTTP/1.1 301 Moved\r\nlocation: /new?token=abc\r\nContent-Length: 0\r\n\r\n";
    let redirect = against(to, false, PATIENT).unwrap().redirect.unwrap();
    assert_eq!(run::unify_placeholders(&redirect), "/new?token=<redacted>");
    let chunked = b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    assert!(against(chunked, false, PATIENT).unwrap().body.starts_with("hi"));
}

/// The server of this test closes the first connection after two answers, without a `Connection: close` header. The
/// body of the last answer is longer than the part of an answer that loadline stores.
#[test]
fn every_request_of_a_set_is_answered_with_its_own_length() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let long = format!("{:x}\r\n{}\r\n0\r\n\r\n", 100_000, "y".repeat(100_000));
    let answers = [
        "Content-Length: 5\r\n\r\nhello".to_owned(),
        "Content-Length: 2\r\n\r\nhi".to_owned(),
        format!("Transfer-Encoding: chunked\r\n\r\n{long}"),
    ];
    let server = std::thread::spawn(move || {
        for answers in [&answers[..2], &answers[2..]] {
            let (mut stream, _) = listener.accept().unwrap();
            for answer in answers {
                let _ = stream.read(&mut [0; 1024]);
                let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\n{answer}").as_bytes());
            }
        }
    });
    let requests = vec![run::RequestPlan::default(); 3];
    let requests = Some(run::RequestSet { requests, ..run::RequestSet::default() });
    let plan = LoadPlan { requests, timeout_s: PATIENT, ..LoadPlan::default() };
    let found = responses(&addr.into(), &plan, &[0, 1, 2]).unwrap();
    server.join().unwrap();
    let lengths: Vec<_> = found.iter().map(|response| response.body_bytes).collect();
    assert_eq!(lengths, [Some(5), Some(2), Some(100_000)]);
    assert_eq!((found[1].body.as_str(), found[2].body.as_str()), ("hi", &*"y".repeat(200)));
}

#[test]
fn every_wrong_answer_has_its_own_sentence() {
    let endless = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhi";
    let mut huge = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
    huge.resize(1 << 20, b'x');
    for (answer, close, words) in [
        (&b""[..], true, "without"),
        (endless, true, "in the middle of a response"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", false, "it speaks SSH"),
        (b"\x15\x03\x01\x00\x02\x02\x46", false, "it speaks TLS"),
        (b"what?\r\n\r\n", false, "does it speak http"),
        (&huge, false, "exceeds a limit"),
    ] {
        let error = against(answer, close, PATIENT).unwrap_err();
        assert!(error.contains(words), "{:?}: {error}", String::from_utf8_lossy(&answer[..answer.len().min(20)]));
    }
    timed_out(&LoadPlan::default(), b"", "said nothing");
    timed_out(&LoadPlan::default(), endless, "no complete response");
}

/// The bytes of a handshake do not count as the beginning of an answer. The PostgreSQL server of this test accepts
/// the login, and then answers no statement.
#[test]
fn a_server_that_is_silent_after_the_handshake_is_named() {
    let (user, database, password) = ("u".into(), String::new(), String::new());
    let protocol = run::Protocol::Postgres { user, database, password, prepared: false, local: false };
    let plan = LoadPlan { protocol, ..LoadPlan::default() };
    let login = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    let error = timed_out(&plan, login, "completed the handshake and answered nothing for ");
    let waited_s = error.split("nothing for ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    assert!(waited_s.is_some_and(|waited_s| waited_s >= 0.3), "{error}");
    // The server of this test closes the connection after the login. The client sees a normal close or a reset,
    // depending on when the statement arrives.
    let error = plan_against(&plan, login, true, PATIENT).unwrap_err();
    assert!(error.contains("completed the handshake and") && error.contains("without an answer"), "{error}");
}

#[test]
fn a_connect_without_a_local_port_is_explained() {
    let error = std::io::Error::from(ErrorKind::AddrNotAvailable);
    let told = |addr: &str| {
        let addr: std::net::SocketAddr = addr.parse().unwrap();
        explain::explain_connect(&addr.into(), &error, 1.0)
    };
    assert!(told("127.0.0.1:80").starts_with("local ports ran out"), "{}", told("127.0.0.1:80"));
    assert!(told("[::1]:80").contains("check address and route"), "{}", told("[::1]:80"));
}

/// The error of an earlier version of loadline asked whether the server speaks HTTP/2, although loadline had just used
/// HTTP/2.
#[test]
fn an_error_of_a_server_that_speaks_http_2_is_named_without_a_question() {
    let protocol = run::Protocol::Http2(run::HttpPlan::default());
    let plan = LoadPlan { protocol, ..LoadPlan::default() };
    let (settings, push) = (b"\0\0\0\x04\0\0\0\0\0", b"\0\0\x04\x05\x04\0\0\0\x01\0\0\0\x02");
    let error = plan_against(&plan, &[&settings[..], push].concat(), false, PATIENT).unwrap_err();
    assert!(error.contains("PUSH_PROMISE") && !error.contains('?'), "{error}");
}

/// With `tcp://`, the protocol is the user's choice. An earlier version of loadline reported as an error that an SSH
/// server speaks SSH, not tcp.
#[test]
fn no_protocol_is_foreign_to_tcp() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr: Address = listener.local_addr().unwrap().into();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\nmore than one byte").unwrap();
        let _ = stream.read(&mut [0; 8]);
    });
    let read_first = Some("line".into());
    let protocol = run::Protocol::Raw { send_file: None, expect_bytes: Some(1), read_first };
    let error = test_request(&addr, &LoadPlan { protocol, timeout_s: PATIENT, ..LoadPlan::default() }).unwrap_err();
    server.join().unwrap();
    assert!(error.contains("more bytes than expected") && !error.contains("speak"), "{error}");
}

/// If the server reads only the beginning of the request, one write of the client may last for the whole timeout.
#[test]
fn a_server_that_does_not_read_a_large_request_is_named_once_the_timeout_is_over() {
    let plan = LoadPlan { protocol: run::Protocol::Echo { message_bytes: 64 << 20 }, ..LoadPlan::default() };
    let error = plan_against(&plan, b"", false, 0.3).unwrap_err();
    assert!(error.contains("did not read the whole request"), "{error}");
}

/// If a server sent two answers, the load would count the second answer as the answer to the next request.
#[test]
fn a_server_that_answers_twice_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            for _ in 0..2 {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = stream.read(&mut [0; 1024]);
        }
    });
    let plan = LoadPlan { timeout_s: PATIENT, ..LoadPlan::default() };
    // On a busy machine, the second answer may come after the short time for which loadline listens.
    let error = testkit::eventually(|| test_request(&addr.into(), &plan).err());
    assert!(error.contains("a response that no request asked for"), "{error}");
}

#[test]
fn a_refused_port_is_named() {
    let (_bound, addr) = testkit::refusing();
    let error = test_request(&addr.into(), &LoadPlan::default()).unwrap_err();
    assert!(error.contains(&addr.to_string()) && error.contains("start the server"), "{error}");
}

#[test]
fn a_unix_socket_answers_or_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let at = Address::Unix(dir.path().join("s"));
    let error = test_request(&at, &LoadPlan::default()).unwrap_err();
    assert!(error.contains("/s ") && error.contains("correct the path"), "{error}");
    let listener = std::os::unix::net::UnixListener::bind(dir.path().join("s")).unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    });
    let response = test_request(&at, &LoadPlan::default()).unwrap();
    assert_eq!((response.bytes, response.bytes_sent > 38), (38, true));
    server.join().unwrap();
}

#[test]
fn a_full_accept_queue_is_told_from_a_refusal() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    sys::socket::listen(&listener, 0).unwrap();
    let addr = listener.local_addr().unwrap();
    let plan = LoadPlan { connect_timeout_s: 0.2, ..LoadPlan::default() };
    let _one = TcpStream::connect(addr).unwrap();
    assert!(accepts_nothing(&addr.into(), &plan));
    let (_bound, addr) = testkit::refusing();
    assert!(!accepts_nothing(&addr.into(), &plan));
}
