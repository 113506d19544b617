//! Tests of the PostgreSQL client. The server's bytes arrive in pieces of any size.

use proptest::prelude::*;
use run::{Protocol, RequestPlan, RequestSet};

use super::{ClientSession, client};
use crate::{Client as _, Done, Fault, Outcome, Progress, Request, Requester as _};

fn plan(user: &str, prepared: bool, local: bool) -> Protocol {
    let (database, password) = (String::new(), "pencil".to_owned());
    Protocol::Postgres { user: user.into(), database, password, prepared, local }
}

fn session(user: &str, prepared: bool, local: bool) -> ClientSession {
    client(&plan(user, prepared, local), None).unwrap().session()
}

/// Builds a message of the server.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

fn error(severity: &str, code: &str, words: &str) -> Vec<u8> {
    message(b'E', format!("S{severity}\0V{severity}\0C{code}\0M{words}\0\0").as_bytes())
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

/// Returns the bytes that the client wants to send.
fn sent(session: &mut ClientSession) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), [0; 7]);
    while let n @ 1.. = session.transmit(&mut piece) {
        all.extend_from_slice(&piece[..n]);
    }
    assert!(!session.wants_transmit());
    all
}

/// Feeds bytes to a session in pieces. Returns the completed requests, and the sum of the progress of all pieces.
fn fed(session: &mut ClientSession, bytes: &[u8], piece: usize) -> Result<(Vec<Done>, Progress), Fault> {
    let (mut all, mut sum) = (Vec::new(), Progress::default());
    for part in bytes.chunks(piece) {
        sum.merge(session.receive(part, &mut |done| all.push(done))?);
    }
    Ok((all, sum))
}

#[test]
fn a_login_by_trust_names_user_and_database() {
    let mut session = session("app", false, true);
    assert!(!session.ready() && session.peer_closed(&mut drop) == Err(Fault::Short));
    let first = String::from_utf8(sent(&mut session)).unwrap();
    assert!(first.contains("user\0app\0database\0app\0application_name\0loadline\0"), "{first:?}");
    let answer = [
        message(b'R', &[0; 4]),
        message(b'S', b"server_version\x0015.4\0"),
        message(b'K', &[0; 8]),
        message(b'N', b"Mwelcome\0\0"),
        ready(),
    ];
    assert_eq!(fed(&mut session, &answer.concat(), 3).unwrap().0, []);
    assert!(session.ready() && session.peer_closed(&mut drop) == Ok(Progress::CLOSE));
    session.reset();
    assert!(!session.ready() && sent(&mut session) == first.as_bytes());
}

#[test]
fn a_password_in_clear_text_crosses_no_network() {
    let wants = message(b'R', &[0, 0, 0, 3]);
    let mut local = session("app", false, true);
    sent(&mut local);
    fed(&mut local, &wants, 99).unwrap();
    assert_eq!(sent(&mut local), b"p\0\0\0\x0bpencil\0");
    let mut far = session("app", false, false);
    sent(&mut far);
    assert!(fed(&mut far, &wants, 99).is_err() && sent(&mut far).is_empty());
    assert!(far.explain().unwrap().contains("clear text"));
    let mut within_tls = client(&plan("app", false, false), None).unwrap().within_tls().session();
    sent(&mut within_tls);
    assert!(fed(&mut within_tls, &wants, 99).is_ok());
}

#[test]
fn passwords_go_as_md5_and_by_scram() {
    let mut session = session("app", false, false);
    sent(&mut session);
    fed(&mut session, &message(b'R', &[0, 0, 0, 5, 1, 2, 3, 4]), 1).unwrap();
    let hash = postgres_protocol::authentication::md5_hash(b"app", b"pencil", [1, 2, 3, 4]);
    assert_eq!(sent(&mut session), message(b'p', format!("{hash}\0").as_bytes()));
    session.reset();
    sent(&mut session);
    fed(&mut session, &message(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"), 2).unwrap();
    let first = String::from_utf8_lossy(&sent(&mut session)).into_owned();
    let nonce = first.split("n,,n=,r=").nth(1).unwrap().to_owned();
    let server_first = format!("r={nonce}abc,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
    fed(&mut session, &message(b'R', &[&[0, 0, 0, 11], server_first.as_bytes()].concat()), 5).unwrap();
    assert!(String::from_utf8_lossy(&sent(&mut session)).contains(&format!("c=biws,r={nonce}abc,p=")));
    // The server in this case does not know the password.
    assert!(fed(&mut session, &message(b'R', b"\0\0\0\x0cv=AAAA"), 9).is_err());
    assert!(session.explain().unwrap().contains("SCRAM"));
}

#[test]
fn a_refused_login_has_advice() {
    for (code, words, advice) in [
        ("53300", "sorry, too many clients already", "raise its max_connections"),
        ("28P01", "password authentication failed", "right password"),
        ("3D000", "database \"app\" does not exist", "postgres://USER@HOST/DATABASE"),
        ("08P01", "no more connections allowed (max_client_conn)", "max_client_conn of PgBouncer"),
    ] {
        let mut session = session("app", false, true);
        sent(&mut session);
        assert!(fed(&mut session, &error("FATAL", code, words), 4).is_err());
        let said = session.explain().unwrap();
        assert!(said.contains(words) && said.contains(code) && said.contains(advice), "{said}");
    }
    let mut other = session("app", false, true);
    assert!(fed(&mut other, b"HTTP/1.1 400 Bad Request\r\n\r\n", 99).is_err());
    assert!(other.explain().unwrap().contains("does it speak PostgreSQL's protocol"));
}

proptest! {
    #[test]
    fn every_split_gives_the_same_answers(piece in 1_usize..120) {
        let mut session = session("", false, true);
        (0..4).for_each(|_| session.begin(Request::default()));
        prop_assert_eq!(sent(&mut session), b"Q\0\0\0\x0dSELECT 1\0".repeat(4));
        let row = message(b'D', &[b'x'; 90]);
        let rows = [message(b'T', &[1; 30]), row.clone(), row, message(b'C', b"SELECT 2\0"), ready()].concat();
        let failed = [message(b'N', b"Mhint\0\0"), error("ERROR", "40001", "could not serialize"), ready()].concat();
        let empty = [message(b'I', b""), ready()].concat();
        let bytes = [&rows[..], &message(b'A', b"\0\0\0\x01c\0\0"), &failed, &empty, &rows].concat();
        let (done, progress) = fed(&mut session, &bytes, piece).unwrap();
        let outcomes: Vec<_> = done.iter().map(|done| done.outcome).collect();
        prop_assert_eq!(
            outcomes,
            [Outcome::Expected, Outcome::Unexpected, Outcome::Expected, Outcome::Expected]
        );
        prop_assert_eq!(run::status_name(done[1].status), "40001 serialization failure");
        prop_assert_eq!((progress.completed, progress.unasked, progress.close), (4, 1, false));
        prop_assert_eq!(done.iter().map(|done| done.bytes).sum::<u64>(), bytes.len() as u64);
        prop_assert_eq!(session.refusal_words().unwrap(), "\"ERROR 40001: could not serialize\"");
        prop_assert!(session.explain().unwrap().contains("change other rows"));
        prop_assert_eq!(session.is_answering(), Some(false));
    }
}

#[test]
fn a_fatal_error_fails_its_statement_and_ends_the_connection() {
    let ended = error("FATAL", "57P01", "terminating connection due to administrator command");
    let mut idle = session("", false, true);
    assert_eq!(fed(&mut idle, &ended, 6).unwrap(), (vec![], Progress::CLOSE));
    assert!(idle.close_words().unwrap().contains("57P01"));
    // The server ended the connection of its own accord, just when a statement was sent. An earlier version of loadline
    // counted this statement as answered.
    let mut crossed = session("", false, true);
    crossed.begin(Request::default());
    assert_eq!(fed(&mut crossed, &ended, 6).unwrap(), (vec![], Progress::CLOSE));
    assert!(crossed.close_words().unwrap().contains("57P01"));
    let fatal = error("FATAL", "54000", "the statement is too complex");
    let mut busy = session("", false, true);
    busy.begin(Request::default());
    let (done, progress) = fed(&mut busy, &fatal, 6).unwrap();
    assert_eq!((done[0].outcome, progress.close), (Outcome::Unexpected, true));
    busy.reset();
    (0..2).for_each(|_| busy.begin(Request::default()));
    let (done, progress) = fed(&mut busy, &fatal, 6).unwrap();
    assert_eq!((done.len(), progress.close, busy.peer_closed(&mut drop)), (1, false, Err(Fault::Short)));
}

#[test]
fn answers_that_no_statement_asked_for_end_the_connection() {
    let mut session = session("", false, true);
    assert!(matches!(fed(&mut session, &ready(), 9), Err(Fault::Unasked(_))));
    session.reset();
    assert!(matches!(fed(&mut session, &error("ERROR", "XX000", "?"), 9), Err(Fault::Unasked(_))));
    for bytes in [&b"Z\0\0\0\x03"[..], b"Z\xff\0\0\0", b"R\0\0\0\x08\0\0\0\0", b"HTTP/1.1", &message(b'G', &[0; 3])[..]]
    {
        session.reset();
        session.begin(Request::default());
        assert!(matches!(fed(&mut session, bytes, 2), Err(Fault::Malformed(_))), "{bytes:?}");
    }
}

#[test]
fn statements_are_prepared_before_the_first_request() {
    let of = |body: &str| RequestPlan { body: body.into(), ..RequestPlan::default() };
    let set = RequestSet {
        requests: vec![of("SELECT {{random 7 7}}"), of("SELECT 2")],
        templates: true,
        ..RequestSet::default()
    };
    let mut session = client(&plan("", true, true), Some(&set)).unwrap().session();
    assert!(!session.ready());
    let parse = [message(b'P', b"s0\0SELECT $1\0\0\0"), message(b'P', b"s1\0SELECT 2\0\0\0"), message(b'S', b"")];
    assert_eq!(sent(&mut session), parse.concat());
    let prepared = [message(b'1', b""), message(b'1', b""), ready()].concat();
    assert_eq!(fed(&mut session, &prepared, 4).unwrap().0, []);
    assert!(session.ready());
    (0..2).for_each(|item| session.begin(Request { item, ..Request::default() }));
    let execute = [message(b'E', &[0; 5]), message(b'S', b"")].concat();
    let bind = |body: &[u8]| [message(b'B', body), execute.clone()].concat();
    let both = [bind(b"\0s0\0\0\0\0\x01\0\0\0\x017\0\0"), bind(b"\0s1\0\0\0\0\0\0\0")].concat();
    assert_eq!(sent(&mut session), both);
    for (sqlstate, text, advice) in [
        ("42P01", "relation \"t\" does not exist", "correct the statement"),
        ("42601", "syntax error at end of input", "each line of the file is one whole SQL statement"),
    ] {
        session.reset();
        sent(&mut session);
        assert!(fed(&mut session, &error("ERROR", sqlstate, text), 8).is_err());
        let said = session.explain().unwrap();
        assert!(said.contains(sqlstate) && said.contains(advice), "{said}");
    }
}
