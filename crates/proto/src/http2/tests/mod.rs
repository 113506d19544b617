//! Tests of the HTTP/2 client and server: with frames written by hand, and against each other. This file has the helper
//! functions for all tests of HTTP/2.

mod answers;
mod client;
mod client_faults;
mod server;

use run::Protocol;

use super::frame::{self, FrameHeader};
use super::{ClientPlan, ClientSession};
use crate::{Client, Done, Fault, Outcome, Progress, Request, Requester, Which, http1};

/// A header block with the single field `:status: 200`.
pub(super) const OK: u8 = 0x88;
/// A header block with the single field `:status: 404`.
const NOT_FOUND: u8 = 0x8d;
/// A header block with the single field `:status: 500`.
const ERROR: u8 = 0x8e;

fn plan() -> ClientPlan {
    ClientPlan::new(&http1::to_http2(Protocol::default())).unwrap()
}

/// Creates a client session that has received `settings` from the server.
pub(super) fn settled(settings: &[(u16, u32)]) -> ClientSession {
    settled_session(&plan(), settings)
}

/// Creates a client session from `plan`, which has received `settings` from the server.
fn settled_session(plan: &ClientPlan, settings: &[(u16, u32)]) -> ClientSession {
    let mut session = plan.session();
    assert!(!session.ready() && sent(&mut session).starts_with(frame::PREFACE));
    let mut hello = Vec::new();
    frame::write_settings(&mut hello, settings);
    receive(&mut session, &hello).0.unwrap();
    assert!(session.ready());
    assert_eq!(frames(&sent(&mut session))[0], (frame::SETTINGS, frame::ACK, 0, vec![]));
    session
}

fn done(id: u16, status: u16, outcome: Outcome) -> Done {
    Done { which: Which::Id(id), status, outcome, bytes: 0, events: 0 }
}

pub(super) fn sent(session: &mut ClientSession) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), [0; 7]);
    while let n @ 1.. = session.transmit(&mut piece) {
        all.extend_from_slice(&piece[..n]);
    }
    assert!(!session.wants_transmit());
    all
}

pub(super) fn receive(session: &mut ClientSession, bytes: &[u8]) -> (Result<Progress, Fault>, Vec<Done>) {
    let mut ended = Vec::new();
    let progress = session.receive(bytes, &mut |done| ended.push(Done { bytes: 0, ..done }));
    (progress, ended)
}

/// Kind, flags, stream and payload of a frame.
pub(super) type SentFrame = (u8, u8, u32, Vec<u8>);

pub(super) fn frames(mut bytes: &[u8]) -> Vec<SentFrame> {
    let mut all = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<9>() {
        let head = FrameHeader::read(head);
        all.push((head.kind, head.flags, head.stream, rest[..head.length].to_vec()));
        bytes = &rest[head.length..];
    }
    all
}

pub(super) fn begin(session: &mut ClientSession, requests: u16) -> Vec<u32> {
    (0..requests).for_each(|id| session.begin(Request { id, item: 0, ..Request::default() }));
    let sent = frames(&sent(session));
    sent.iter().filter(|f| f.0 == frame::HEADERS).map(|f| f.2).collect()
}

/// Builds a response whose body is in two frames, the second one with padding.
fn answer(stream: u32, status: u8, body: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut block = vec![status];
    block.extend([0x0f, 0x0d, body.to_string().len() as u8]);
    block.extend(body.to_string().bytes());
    frame::write_block(&mut bytes, stream, 0, &block);
    frame::write(&mut bytes, frame::DATA, 0, stream, &vec![b'x'; body / 2]);
    let mut padded = vec![3];
    padded.resize(1 + body - body / 2 + 3, b'y');
    frame::write(&mut bytes, frame::DATA, frame::END_STREAM | frame::PADDED, stream, &padded);
    bytes
}
