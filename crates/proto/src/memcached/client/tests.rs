//! Tests of the memcached client.

use proptest::prelude::*;

use super::*;

fn session(commands: &str) -> ClientSession {
    let plan = Protocol::Memcached { command: commands.into(), commands_file: None };
    ClientPlan::new(&plan).unwrap().session()
}

#[test]
fn commands_go_out_in_turn_as_memcached_wants_them() {
    let mut session = session("get k\nset key some value");
    (0..3).for_each(|_| session.begin(Request::default()));
    let (mut all, mut piece) = (Vec::new(), [0; 5]);
    while let n @ 1.. = session.transmit(&mut piece) {
        all.extend_from_slice(&piece[..n]);
    }
    let set = "set key 0 0 10\r\nsome value\r\n";
    assert_eq!(String::from_utf8(all).unwrap(), format!("{set}get k\r\n{set}"));
    for wrong in ["set key", "quit", "delete k noreply", ""] {
        let plan = Protocol::Memcached { command: wrong.into(), commands_file: None };
        assert!(ClientPlan::new(&plan).is_err(), "{wrong}");
    }
}

#[test]
fn a_value_may_be_written_as_on_the_wire() {
    let of = |line: &str| encode(line).map(|bytes| String::from_utf8(bytes.into_vec()).unwrap());
    assert_eq!(of("add k 7 -1 3 a b").unwrap(), "add k 7 -1 3\r\na b\r\n");
    assert_eq!(of("set k 1 2").unwrap(), "set k 0 0 3\r\n1 2\r\n", "two numbers are a value");
    assert_eq!(of("set k 0 0 0").unwrap(), "set k 0 0 0\r\n\r\n");
    for wrong in ["set k 0 60 5", "set k 0 0 5 four", "cas k 0 0 1 7", "ms k 2"] {
        assert!(of(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_state_of_a_server_is_not_blamed_on_the_command() {
    for (words, says) in [
        ("\"ERROR Too many open connections\"", "fewer --connections"),
        ("\"SERVER_ERROR out of memory storing object\"", "its memory is full"),
        ("\"ERROR\"", "correct --command"),
    ] {
        assert!(advice(words).contains(says), "{words}");
    }
}

#[test]
fn an_error_is_said_in_the_words_of_the_server() {
    let mut session = session("get k");
    (0..2).for_each(|_| session.begin(Request::default()));
    session.receive(b"SERVER_ERROR out of memory\r\nERROR\r\n", &mut drop).unwrap();
    assert!(session.explain().unwrap().contains("\"SERVER_ERROR out of memory\""));
    assert_eq!(session.refusal_words().unwrap(), "\"SERVER_ERROR out of memory\"");
}

proptest! {
    #[test]
    fn answers_of_every_kind_end_over_any_split(cut in 1_usize..50) {
        let mut session = session("version");
        (0..9).for_each(|_| session.begin(Request::default()));
        let said = b"VA 3 t0\r\na\rb\r\nVALUE k 0 10\r\nEND\r\nEND\r\n\r\nVALUE l 5 0\r\n\r\nEND\r\nEND\r\nSTORED\r\nNOT_FOUND\r\nCLIENT_ERROR bad\r\nERROR\r\n17\r\nVERSION 1.6\r\n";
        let mut ended = Vec::new();
        for piece in said.chunks(cut) {
            session.receive(piece, &mut |done: Done| ended.push((done.outcome == Outcome::Expected, done.bytes))).unwrap();
        }
        prop_assert_eq!(ended, [(true, 14), (true, 46), (true, 5), (true, 8), (true, 11), (false, 18), (false, 7), (true, 4), (true, 13)]);
        prop_assert_eq!(session.peer_closed(&mut drop), Ok(Progress::CLOSE));
        prop_assert!(session.receive(b"END\r\n", &mut drop).is_err());
    }

    #[test]
    fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 1_usize..40) {
        let mut session = session("version");
        session.begin(Request::default());
        let _ = bytes.chunks(cut).try_for_each(|piece| session.receive(piece, &mut drop).map(drop));
    }
}

#[test]
fn wrong_answers_have_a_message() {
    for (bytes, words) in [
        (vec![b'x'; 5000], "2 KiB"),
        (b"HTTP/1.1 400 Bad Request\r\n".to_vec(), "not memcached's"),
        (b"VALUE k 0 99999999999\r\n".to_vec(), "not memcached's"),
        (b"END\n".to_vec(), "not memcached's"),
    ] {
        let mut session = session("version");
        session.begin(Request::default());
        let fault = session.receive(&bytes, &mut drop).unwrap_err().to_string();
        assert!(fault.contains(words), "{words}: {fault}");
    }
}
