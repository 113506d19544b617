//! Tests of the client and server sessions: against each other, and against frames written by hand.

mod answers;

use proptest::prelude::*;
use run::Protocol;

use super::frame::{self, FIN, Piece, Reader};
use super::handshake::{accept_response, key};
use super::{ClientPlan, ClientSession, ServerSession};
use crate::{Client, Done, Fault, Progress, ProtoError, Request, Requester, Session};

fn client(message_bytes: u64, messages: u32) -> ClientSession {
    plan(message_bytes, messages, |_| ()).unwrap().session()
}

/// Creates the settings of a client. `set` changes the client's rule for answers.
fn plan(message_bytes: u64, messages: u32, set: fn(&mut AnswerSettings)) -> Result<ClientPlan, ProtoError> {
    let mut rule = AnswerSettings::default();
    set(&mut rule);
    let AnswerSettings { expect_text, body_file, id_pointer, answer_id_pointer, answer_message, exchange_messages } =
        rule;
    let (path, host, headers) = ("/chat?x".into(), "localhost".into(), vec![("X-A".into(), "b".into())]);
    ClientPlan::new(&Protocol::Websocket {
        path,
        host,
        headers,
        body_file,
        message_bytes,
        messages,
        expect_text,
        id_pointer,
        answer_id_pointer,
        answer_message,
        exchange_messages,
    })
}

#[derive(Default)]
struct AnswerSettings {
    expect_text: String,
    body_file: Option<String>,
    id_pointer: Option<String>,
    answer_id_pointer: Option<String>,
    answer_message: Option<u16>,
    exchange_messages: Option<u16>,
}

/// Creates a session that has completed its handshake.
fn open(messages: u32) -> ClientSession {
    accepted(client(5, messages))
}

fn accepted(mut session: ClientSession) -> ClientSession {
    let said = String::from_utf8(sent(&mut session, 7)).unwrap();
    assert!(said.starts_with("GET /chat?x HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n") && !session.ready(), "{said}");
    session.receive(accept_response(key()).as_bytes(), &mut drop).unwrap();
    assert!(session.ready());
    session
}

fn sent(session: &mut ClientSession, cut: usize) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), vec![0; cut]);
    while let n @ 1.. = session.transmit(&mut piece) {
        all.extend_from_slice(&piece[..n]);
    }
    assert!(!session.wants_transmit());
    all
}

/// Builds a frame of a server, without a mask.
fn framed(first: u8, payload: &[u8]) -> Vec<u8> {
    let (head, length) = frame::head(first & 0x0f, first & FIN != 0, payload.len() as u64, false);
    [&head[..length], payload].concat()
}

/// Builds a frame of a client, with a mask.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let (mut head, length) = frame::head(first & 0x0f, first & FIN != 0, payload.len() as u64, true);
    let mask = [1, 2, 3, 4];
    head[length - 4..length].copy_from_slice(&mask);
    let mut bytes = payload.to_vec();
    super::mask::apply(&mut bytes, mask, 0);
    [&head[..length], &bytes].concat()
}

/// Sends the frames in `bytes` to our server after a handshake. Returns the bytes that the server sends, and its
/// progress.
fn served(bytes: &[u8], cut: usize) -> (Vec<u8>, Progress) {
    let (mut server, mut sum) = (ServerSession::default(), Progress::default());
    let mut request = client(5, 0);
    let mut all = sent(&mut request, 100);
    all.extend_from_slice(bytes);
    let (mut said, mut piece) = (Vec::new(), [0; 50]);
    for part in all.chunks(cut) {
        sum.merge(server.receive(part).unwrap());
        while let n @ 1.. = server.transmit(&mut piece) {
            said.extend_from_slice(&piece[..n]);
        }
    }
    let agreed = accept_response(key());
    assert!(said.starts_with(agreed.as_bytes()));
    (said.split_off(agreed.len()), sum)
}

proptest! {
    #[test]
    fn every_message_comes_back_over_any_split(bytes in prop::sample::select(vec![1_u64, 125, 126, 700, 65_535, 65_536, 70_000]), messages in 1_u32..4, cut in 1_usize..3000) {
        let (mut client, mut server) = (client(bytes, messages), ServerSession::default());
        let (mut buf, mut completed, mut begun, mut ended) = (vec![0; cut], 0, false, Progress::default());
        loop {
            if client.ready() && !std::mem::replace(&mut begun, true) {
                (0..messages).for_each(|_| client.begin(Request::default()));
                prop_assert!(!client.takes_more());
            }
            let n = client.transmit(&mut buf);
            ended.merge(server.receive(&buf[..n]).unwrap());
            let m = server.transmit(&mut buf);
            if n + m == 0 {
                break;
            }
            let mut sizes = Vec::new();
            completed += client.receive(&buf[..m], &mut |done: Done| sizes.push(done.bytes)).unwrap().completed;
            prop_assert!(sizes.iter().all(|size| *size == bytes));
        }
        prop_assert_eq!((completed, ended.completed, ended.close), (messages, messages, true));
    }

    #[test]
    fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 1_usize..40) {
        let mut session = open(0);
        session.begin(Request::default());
        for piece in bytes.chunks(cut) {
            if session.receive(piece, &mut drop).is_err() {
                break;
            }
        }
        let _ = served(&bytes, cut);
        let mut early = client(5, 0);
        let _ = early.receive(&bytes, &mut drop);
    }
}

#[test]
fn each_frame_has_a_mask_of_its_own() {
    let mut session = open(0);
    (0..8).for_each(|_| session.begin(Request::default()));
    let all = sent(&mut session, 3);
    let frames: Vec<&[u8]> = all.chunks(11).collect();
    let masks: std::collections::BTreeSet<&[u8]> = frames.iter().map(|frame| &frame[2..6]).collect();
    assert!(masks.len() > 4, "{masks:?}");
    for frame in frames {
        let mut message = frame[6..].to_vec();
        super::mask::apply(&mut message, *frame[2..].first_chunk().unwrap(), 0);
        assert_eq!((&frame[..2], &message[..]), (&[0x81, 0x85][..], &b" !\"#$"[..]));
    }
}

#[test]
fn a_message_in_parts_is_one_and_pings_between_them_are_answered() {
    let mut session = open(0);
    session.begin(Request::default());
    sent(&mut session, 100);
    let parts = [framed(frame::TEXT, b"ab"), framed(FIN | frame::PING, b"p"), framed(frame::CONTINUATION, b"")];
    assert_eq!(session.receive(&parts.concat(), &mut drop).unwrap(), Progress::default());
    let pong = sent(&mut session, 100);
    assert_eq!(pong[..2], [FIN | frame::PONG, 0x81]);
    assert_eq!(pong[6] ^ pong[2], b'p');
    let mut size = 0;
    let last = framed(FIN, b"cde");
    assert_eq!(session.receive(&last, &mut |done: Done| size = done.bytes).unwrap().completed, 1);
    assert_eq!(size, 5);
    assert_eq!(session.peer_closed(&mut drop), Ok(Progress::CLOSE));
    let flood = framed(FIN | frame::PING, &[0; 100]).repeat(1000);
    assert!(matches!(session.receive(&flood, &mut drop), Err(Fault::Limit(_))));
}

#[test]
fn a_close_is_answered_by_either_half() {
    let mut session = open(0);
    let close = framed(FIN | frame::CLOSE, &[0x03, 0xe9, b'b', b'y', b'e']);
    assert_eq!(session.receive(&close, &mut drop), Ok(Progress::CLOSE));
    assert_eq!(sent(&mut session, 100)[..2], [FIN | frame::CLOSE, 0x82]);
    assert!(!session.takes_more());
    assert!(session.explain().unwrap().ends_with("code 1001 and the reason \"bye\""), "{:?}", session.explain());
    assert_eq!(session.close_words(), session.explain());
    session.reset();
    assert!(session.takes_more() && !session.ready() && sent(&mut session, 100).starts_with(b"GET "));
    for (payload, code) in [(&b""[..], vec![]), (&[0x03, 0xe8], vec![0x03, 0xe8]), (&[0x03], vec![0x03, 0xea])] {
        let (said, progress) =
            served(&[masked(FIN | frame::CLOSE, payload), masked(FIN | frame::TEXT, b"late")].concat(), 9);
        assert!(progress.close && progress.linger && progress.completed == 0);
        assert_eq!(said, framed(FIN | frame::CLOSE, &code));
    }
}

/// An earlier version of loadline only showed the number of the code, and advised to read the server's log.
#[test]
fn a_close_that_asks_to_come_later_is_known_as_such() {
    let closed = |code: u16| {
        let mut session = open(0);
        session.receive(&framed(FIN | frame::CLOSE, &code.to_be_bytes()), &mut drop).unwrap();
        (session.asks_to_come_later(), session.close_words().unwrap())
    };
    let (later, words) = closed(1013);
    assert!(later && words.contains("code 1013 (try again later: it is overloaded)"), "{words}");
    let (later, words) = closed(1011);
    assert!(!later && words.contains("code 1011 and no reason"), "{words}");
    let mut session = open(0);
    session.receive(&framed(FIN | frame::CLOSE, &1013_u16.to_be_bytes()), &mut drop).unwrap();
    session.reset();
    assert!(!session.asks_to_come_later());
}

#[test]
fn the_server_sends_back_what_it_received_and_refuses_what_is_wrong() {
    let parts = [masked(frame::BINARY, &[9; 200]), masked(FIN | frame::PING, b"x"), masked(FIN, &[7; 70_000])].concat();
    let (said, progress) = served(&parts, 1000);
    assert_eq!((progress.completed, progress.close), (1, false));
    let back = [framed(frame::BINARY, &[9; 200]), framed(FIN | frame::PONG, b"x"), framed(FIN, &[7; 70_000])].concat();
    assert!(said == back);
    let refusal = framed(FIN | frame::CLOSE, &[0x03, 0xea]);
    for wrong in [framed(FIN | frame::TEXT, b"not masked"), masked(FIN | 3, b""), masked(FIN, b"continues nothing")] {
        assert_eq!(served(&wrong, 3).0, refusal);
    }
    let (mut server, mut piece) = (ServerSession::default(), [0; 200]);
    assert!(server.receive(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap().close);
    let n = server.transmit(&mut piece);
    assert!(piece[..n].starts_with(b"HTTP/1.1 426 "));
    server.reset();
    assert!(server.receive(&[b'x'; 70_000]).unwrap().close && !server.awaits_head());
}

#[test]
fn protocol_errors_have_a_message() {
    let head = |bytes: &[u8]| bytes.to_vec();
    for (bytes, words) in [
        (framed(FIN, b""), "continues no message"),
        ([framed(frame::TEXT, b"a"), framed(frame::TEXT, b"b")].concat(), "within another"),
        (masked(FIN | frame::TEXT, b"a"), "must not mask"),
        (head(&[0xc1, 0]), "extension"),
        (head(&[0x83, 0]), "no known kind"),
        (head(&[0x09, 0]), "in parts"),
        (head(&[0x89, 126, 0, 200]), "125 bytes"),
        (head(&[0x82, 126, 0, 5]), "length"),
        (head(&[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]), "length"),
    ] {
        let mut session = open(0);
        session.begin(Request::default());
        let fault = session.receive(&bytes, &mut drop).unwrap_err().to_string();
        assert!(fault.contains(words), "{words}: {fault}");
    }
    let mut session = client(5, 0);
    assert!(session.receive(b"HTTP/1.1 403 No\x1b[2J\r\nContent-Length: 0\r\n\r\n", &mut drop).is_err());
    let why = session.explain().unwrap();
    assert!(why.contains("403 No") && why.contains("--header") && !why.contains('\x1b'), "{why}");
    let mut endless = client(5, 0);
    assert!(matches!(endless.receive(&[b'a'; 100_000], &mut drop), Err(Fault::Limit(_))));
}

#[test]
fn the_largest_length_needs_no_memory() {
    let mut reader = Reader::new(false);
    let (head, length) = frame::head(frame::BINARY, true, i64::MAX as u64, false);
    assert!(matches!(reader.next(&mut &head[..length]), Ok(None)));
    assert!(matches!(reader.next(&mut &[0; 1000][..]), Ok(Some(Piece::Data { ends: false, .. }))));
    assert!(reader.is_inside());
}
