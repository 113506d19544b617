//! Tests of the HTTP/1 server.

use proptest::prelude::*;

use super::*;

struct Fixed {
    page: Arc<Page>,
    split: bool,
}

impl Site for Fixed {
    fn now_s(&self) -> u64 {
        784_111_777
    }
    fn find(&self, method: &str, path: &str) -> Arc<Page> {
        match (method, path) {
            ("GET" | "HEAD" | "POST", "/") => self.page.clone(),
            (_, "/") => self.plain(405),
            _ => self.plain(404),
        }
    }
    fn plain(&self, status: u16) -> Arc<Page> {
        Page::plain(status, "")
    }
    fn splits_head(&self) -> bool {
        self.split
    }
}

fn session(split: bool) -> ServerSession {
    ServerSession::new(Arc::new(Fixed { page: Page::new(200, "text/plain", "", b"hello".to_vec()), split }))
}

fn drain(s: &mut ServerSession) -> String {
    let (mut out, mut buf) = (Vec::new(), [0; 50]);
    loop {
        let n = s.transmit(&mut buf);
        out.extend_from_slice(&buf[..n]);
        if n == 0 {
            return String::from_utf8(out).unwrap();
        }
    }
}

fn ask(text: &str) -> (Progress, String) {
    let mut s = session(false);
    let p = s.receive(text.as_bytes()).unwrap();
    (p, drain(&mut s))
}

const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

#[test]
fn a_page_is_served() {
    let (p, text) = ask(GET);
    assert_eq!((p.completed, p.close), (1, false));
    assert_eq!(
        text,
        "HTTP/1.1 200 OK\r\nServer: loadline\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 5\r\n\
         Content-Type: text/plain\r\n\r\nhello"
    );
}

#[test]
fn head_and_old_versions() {
    let (_, text) = ask("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(text.contains("Content-Length: 5") && text.ends_with("\r\n\r\n"));
    let (p, text) = ask("GET / HTTP/1.0\r\n\r\n");
    assert!(p.close && text.contains("Connection: close"));
    let (p, text) = ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert!(!p.close && text.contains("Connection: keep-alive"));
}

#[test]
fn errors_have_their_status() {
    for (text, status, linger) in [
        ("GET / HTTP/1.1\r\n\r\n", 400, true),
        ("GARBAGE\r\n\r\n", 400, true),
        ("GET /none HTTP/1.1\r\nHost: h\r\n\r\n", 404, false),
        ("DELETE / HTTP/1.1\r\nHost: h\r\n\r\n", 405, false),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999999\r\n\r\n", 413, true),
        ("BREW / HTTP/1.1\r\nHost: h\r\n\r\n", 501, true),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501, true),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 400, true),
        ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505, true),
    ] {
        let (p, reply) = ask(text);
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{text} gave {reply}");
        assert_eq!((p.completed, p.linger), (1, linger), "{text}");
    }
    let (_, reply) = ask(&format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(70_000)));
    assert!(reply.starts_with("HTTP/1.1 431 "));
}

#[test]
fn bodies_are_read_over_before_the_answer() {
    let mut s = session(false);
    let head = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    assert_eq!(s.receive(head.as_bytes()).unwrap().completed, 0);
    assert_eq!(drain(&mut s), "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(s.receive(b"abcGET / HT").unwrap().completed, 1);
    assert!(drain(&mut s).ends_with("hello"));
    let chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert_eq!(ask(&[chunked, GET].concat()).0.completed, 2);
}

#[test]
fn head_and_body_are_sent_separately_if_asked() {
    let mut s = session(true);
    s.receive([GET, GET].concat().as_bytes()).unwrap();
    let mut out = [0; 500];
    let sizes: Vec<usize> = (0..5).map(|_| s.transmit(&mut out)).collect();
    assert!(sizes[0] > 50);
    assert_eq!((sizes[1] - sizes[0], sizes[2], sizes[3]), (5, 5, 0));
}

#[test]
fn paths_are_decoded() {
    assert_eq!(decode("/a%20b?x=%"), Some("/a b".into()));
    assert_eq!(decode("?x"), Some("/".into()));
    assert_eq!((decode("/%zz"), decode("/%00"), decode("/%ff")), (None, None, None));
}

proptest! {
    #[test]
    fn every_split_gives_the_same(cuts in prop::collection::vec(1_usize..60, 1..40)) {
        let post = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        let stream = [GET, GET, post, "\r\n\r\n", GET, "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", post, GET].concat();
        let (whole, text) = ask(&stream);
        let mut s = session(false);
        let (mut rest, mut cuts) = (stream.as_bytes(), cuts.iter().cycle());
        let mut pieces = Progress::default();
        while !rest.is_empty() {
            let n = rest.len().min(*cuts.next().unwrap());
            pieces.merge(s.receive(&rest[..n]).unwrap());
            rest = &rest[n..];
        }
        prop_assert_eq!((whole, whole.completed), (pieces, 7));
        prop_assert_eq!(drain(&mut s), text);
    }

    #[test]
    fn no_bytes_can_break_it(prefix in 0_usize..90, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut s = session(false);
        let stream = [GET, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n"].concat();
        s.receive(&stream.as_bytes()[..prefix.min(stream.len())]).unwrap();
        s.receive(&bytes).unwrap();
        s.peer_closed().unwrap();
        drain(&mut s);
    }
}
