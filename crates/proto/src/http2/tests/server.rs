//! Tests of the HTTP/2 server: with our client, with input in pieces of any size, and with violations of the protocol.

use std::sync::Arc;

use proptest::prelude::*;

use super::{SentFrame, frames, plan};
use crate::http1::{Page, Site};
use crate::http2::hpack::write_fields;
use crate::http2::{ServerSession, frame};
use crate::{Client, Outcome, Progress, Request, Requester, Session as _};

struct OnePage(Arc<Page>);

impl Site for OnePage {
    fn now_s(&self) -> u64 {
        784_111_777
    }

    fn find(&self, method: &str, path: &str) -> Arc<Page> {
        if (method, path) == ("GET", "/") { self.0.clone() } else { self.plain(404) }
    }

    fn plain(&self, status: u16) -> Arc<Page> {
        Page::plain(status, "")
    }
}

fn server(bytes: usize, most: u32) -> ServerSession<OnePage> {
    ServerSession::new(Arc::new(OnePage(Page::new(200, "text/plain", "", vec![b'p'; bytes]))), most)
}

fn said(server: &mut ServerSession<OnePage>) -> Vec<SentFrame> {
    let (mut all, mut piece) = (Vec::new(), [0; 999]);
    while let n @ 1.. = server.transmit(&mut piece) {
        all.extend_from_slice(&piece[..n]);
    }
    frames(&all)
}

proptest! {
    #[test]
    fn every_request_is_answered_over_any_split(cut in 1_usize..3000, bytes in 0_usize..40_000, requests in 1_u16..9, most in 1_u32..9) {
        let (mut client, mut server) = (plan().session(), server(bytes, most));
        let (mut buf, mut begun, mut ended, mut served) = (vec![0; cut], false, Vec::new(), 0);
        loop {
            if client.ready() && !std::mem::replace(&mut begun, true) {
                (0..requests).for_each(|id| client.begin(Request { id, item: 0, ..Request::default() }));
            }
            let n = client.transmit(&mut buf);
            served += server.receive(&buf[..n]).unwrap().completed;
            let m = server.transmit(&mut buf);
            if n + m == 0 {
                break;
            }
            client.receive(&buf[..m], &mut |done| ended.push(done)).unwrap();
        }
        prop_assert_eq!((served, ended.len()), (u32::from(requests), usize::from(requests)));
        prop_assert!(ended.iter().all(|d| (d.outcome, d.bytes) == (Outcome::Expected, bytes as u64)));
    }

    #[test]
    fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0_u8..12, flags in any::<u8>(), stream in 0_u32..8) {
        let mut server = server(10, 0);
        let mut all = frame::PREFACE.to_vec();
        frame::write_settings(&mut all, &[]);
        frame::write(&mut all, kind, flags, stream, &bytes);
        all.extend_from_slice(&bytes);
        server.receive(&all).unwrap();
        said(&mut server);
    }
}

/// Sends the preface, SETTINGS and `bytes` to a server. Returns the server's frames, and the progress that the server
/// reports.
fn to(bytes: &[u8]) -> (Vec<SentFrame>, Progress) {
    let (mut server, mut all) = (server(10, 3), frame::PREFACE.to_vec());
    frame::write_settings(&mut all, &[]);
    all.extend_from_slice(bytes);
    let progress = server.receive(&all).unwrap();
    (said(&mut server), progress)
}

fn framed(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, kind, flags, stream, payload);
    bytes
}

fn asked(stream: u32, flags: u8, more: &[(&str, &str)]) -> Vec<u8> {
    let first = [(":method", "GET"), (":path", "/"), (":scheme", "http")];
    let block = write_fields(first.into_iter().chain(more.iter().copied()));
    framed(frame::HEADERS, frame::END_HEADERS | flags, stream, &block)
}

#[test]
fn protocol_errors_end_the_connection_with_their_code() {
    let ends = frame::END_STREAM;
    let head = framed(frame::HEADERS, 0, 1, &[0x82]);
    for (bytes, code) in [
        (framed(frame::DATA, 0, 1, b"x"), 1),
        (framed(frame::DATA, 0, 0, b"x"), 1),
        (asked(2, ends, &[]), 1),
        ([asked(3, ends, &[]), asked(1, ends, &[])].concat(), 1),
        (framed(frame::PUSH_PROMISE, 0, 1, &[0; 8]), 1),
        (framed(frame::WINDOW_UPDATE, 0, 0, &[0; 4]), 1),
        (framed(frame::WINDOW_UPDATE, 0, 0, &[0x7f, 255, 255, 255]), 3),
        (framed(frame::SETTINGS, 0, 0, &[0, 4, 0x80, 0, 0, 0]), 3),
        (framed(frame::PRIORITY_FRAME, 0, 1, &[0, 0, 0, 1, 9]), 1),
        (framed(frame::RST_STREAM, 0, 1, &[0; 4]), 1),
        (framed(frame::SETTINGS, frame::ACK, 0, &[0; 6]), 6),
        (framed(frame::HEADERS, frame::END_HEADERS, 1, &[0xff, 0xff]), 9),
        ([head.clone(), framed(frame::PING, 0, 0, &[0; 8])].concat(), 1),
        ([head.clone(), framed(frame::CONTINUATION, 0, 1, &[])].concat(), 11),
        ([head, framed(frame::CONTINUATION, 0, 1, &[0; 16_384]).repeat(9)].concat(), 11),
        (framed(frame::PING, 0, 0, &[0; 8]).repeat(20_000), 11),
        (framed(frame::SETTINGS, 0, 0, &[]).repeat(40_000), 11),
    ] {
        let (said, progress) = to(&bytes);
        let last = said.last().unwrap();
        assert_eq!((last.0, last.3.last()), (frame::GOAWAY, Some(&code)), "{:?}", &bytes[..20.min(bytes.len())]);
        assert!(progress.close && progress.linger);
    }
    assert!(server(1, 0).receive(b"GET / HTTP/1.1\r\n").is_err());
}

#[test]
fn errors_in_a_request_reset_only_its_stream() {
    let ends = frame::END_STREAM;
    for (bytes, code) in [
        (asked(1, ends, &[("Upper", "x")]), 1),
        (asked(1, ends, &[("connection", "close")]), 1),
        (asked(1, ends, &[("te", "gzip")]), 1),
        (asked(1, ends, &[("x", "y"), (":authority", "late")]), 1),
        (asked(1, ends, &[(":path", "/twice")]), 1),
        (asked(1, ends, &[("content-length", "5")]), 1),
        ([asked(1, 0, &[]), framed(frame::WINDOW_UPDATE, 0, 1, &[0; 4])].concat(), 1),
        ([asked(1, 0, &[]), framed(frame::WINDOW_UPDATE, 0, 1, &[0x7f, 255, 255, 255])].concat(), 3),
        ([asked(1, 0, &[]), framed(frame::RST_STREAM, 0, 1, &[0; 4]), framed(frame::DATA, 1, 1, b"x")].concat(), 5),
        ([asked(1, ends, &[]), framed(frame::DATA, 0, 1, b"x")].concat(), 5),
        ([asked(1, 0, &[]), asked(3, 0, &[]), asked(5, 0, &[]), asked(7, ends, &[])].concat(), 7),
    ] {
        let bytes = [bytes, asked(9, ends, &[])].concat();
        let (said, progress) = to(&bytes);
        let reset = said.iter().find(|f| f.0 == frame::RST_STREAM).unwrap();
        assert_eq!(reset.3.last(), Some(&code), "{reset:?}");
        assert!(!progress.close);
        if code != 7 {
            assert!(said.iter().any(|f| (f.0, f.2) == (frame::DATA, 9)), "the next request is answered: {said:?}");
        }
    }
}
