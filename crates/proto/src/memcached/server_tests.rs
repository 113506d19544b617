//! Tests of the memcached server.

use proptest::prelude::*;

use super::*;

fn said(bytes: &[u8], cut: usize) -> (String, Progress) {
    crate::testing::answer_to(ServerSession::new(Arc::default()), bytes, cut)
}

/// Commands, with the answers that memcached 1.6 gives (apart from the name in the answer to `version`).
const TALK: &[(&str, &str)] = &[
    ("version\r\n", "VERSION loadline\r\n"),
    ("set k 5 0 4\r\na\r\nb\r\n", "STORED\r\n"),
    ("get k none\r\n", "VALUE k 5 4\r\na\r\nb\r\nEND\r\n"),
    ("add k 0 0 1\r\nx\r\n", "NOT_STORED\r\n"),
    ("replace none 0 0 1\r\nx\r\n", "NOT_STORED\r\n"),
    ("append k 0 0 1\r\n!\r\n", "STORED\r\n"),
    ("prepend k 0 0 1 noreply\r\n>\r\n", ""),
    ("get k\r\n", "VALUE k 5 6\r\n>a\r\nb!\r\nEND\r\n"),
    ("incr k 1\r\n", "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"),
    ("incr n 1\r\n", "NOT_FOUND\r\n"),
    ("add n 0 0 2\r\n18\r\n", "STORED\r\n"),
    ("incr n 3\r\n", "21\r\n"),
    ("decr n 100\r\n", "0\r\n"),
    ("incr n x\r\n", "CLIENT_ERROR invalid numeric delta argument\r\n"),
    ("touch n 0\r\n", "TOUCHED\r\n"),
    ("delete n\r\n", "DELETED\r\n"),
    ("delete n\r\n", "NOT_FOUND\r\n"),
    ("get\r\n", "ERROR\r\n"),
    ("nothing\r\n", "ERROR\r\n"),
    ("set k 0 0\r\n", "CLIENT_ERROR bad command line format\r\n"),
    ("set k x 0 2\r\nab\r\n", "CLIENT_ERROR bad command line format\r\n"),
    ("verbosity 1\r\n", "OK\r\n"),
    ("flush_all\r\n", "OK\r\n"),
    ("get k\r\n", "END\r\n"),
    ("quit\r\n", ""),
];

proptest! {
    #[test]
    fn commands_are_answered_over_any_split(cut in 1_usize..60) {
        let asked: String = TALK.iter().map(|(asked, _)| *asked).collect();
        let expected: String = TALK.iter().map(|(_, answer)| *answer).collect();
        let (text, progress) = said(format!("{asked}version\r\n").as_bytes(), cut);
        prop_assert_eq!(text, expected);
        prop_assert_eq!((progress.completed as usize, progress.close), (TALK.len(), true));
    }

    #[test]
    fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 1_usize..40) {
        said(&bytes, cut);
    }
}

#[test]
fn too_large_requests_are_refused() {
    for (asked, answer) in [
        ("x".repeat(9000), "CLIENT_ERROR line too long\r\n"),
        ("set k 0 0 1\r\nlong\r\n".into(), "CLIENT_ERROR bad data chunk\r\n"),
    ] {
        let (text, progress) = said(asked.as_bytes(), 1000);
        assert!(text == answer && progress.close, "{asked:.10}: {text}");
    }
    let long = format!("set k 0 0 {}\r\n{}\r\nversion\r\n", MAX_VALUE + 1, "v".repeat(MAX_VALUE + 1));
    let (text, progress) = said(long.as_bytes(), 10_000);
    assert_eq!((&*text, progress.close), ("SERVER_ERROR object too large for cache\r\nVERSION loadline\r\n", false));
    let (text, _) = said(format!("get {}\r\nset k 0 0 99999999999\r\n", "k".repeat(251)).as_bytes(), 1000);
    assert_eq!(text, "CLIENT_ERROR bad command line format\r\n".repeat(2));
}

/// A client requests a large value repeatedly without reading the answers. The server must store only a limited amount
/// of answers.
#[test]
fn answers_that_nobody_reads_are_bounded() {
    let mut server = ServerSession::new(Arc::default());
    let value = format!("set k 0 0 {MAX_VALUE}\r\n{}\r\n", "v".repeat(MAX_VALUE));
    server.receive(value.as_bytes()).unwrap();
    let progress = server.receive(format!("get{}\r\n", " k".repeat(4000)).as_bytes()).unwrap();
    assert!(progress.close && server.outgoing.waiting() < MAX_OWED + 2 * MAX_VALUE, "{}", server.outgoing.waiting());
}
