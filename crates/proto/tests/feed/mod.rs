//! Feeds a server's bytes to a client, and a client's bytes to our servers, for every protocol that has its own message
//! frames. The tests of the crate `proto` and the fuzz targets use the functions of this file.

use std::sync::Arc;

use loadline_proto::http1::{Page, Site};
use loadline_proto::{Done, Request, Session, by_scheme, http2, http3, memcached, redis, websocket};
use run::StreamPlan;

/// Number of requests that the client has in flight.
const IN_FLIGHT: u16 = 4;

/// Feeds `bytes` to the client of a scheme after its handshake, in pieces of `piece` bytes. Returns the result of each
/// request that ended, and true if the connection ended with a fault.
pub(crate) fn client(scheme: &str, bytes: &[u8], piece: usize) -> (Vec<Done>, bool) {
    stream(scheme, None, bytes, piece)
}

/// Feeds `bytes` to a client of `tcp://` that waits for a greeting until `until`, in pieces of `piece` bytes. Returns
/// true if the greeting is complete, and true if the connection ended with a fault. Returns `None` if `until` is no end
/// of a greeting.
#[allow(dead_code, reason = "not every user of this file tests greetings")]
pub(crate) fn greeting(until: &str, bytes: &[u8], piece: usize) -> Option<(bool, bool)> {
    let plan = run::Protocol::Raw { send_file: None, expect_bytes: Some(2), read_first: Some(until.into()) };
    let mut sessions = loadline_proto::client(&plan, None, None).ok()?.sessions(1);
    let session = sessions.session(0);
    let broken = bytes.chunks(piece.max(1)).any(|part| session.receive(part, &mut |_| ()).is_err());
    Some((session.ready(), broken))
}

fn http3_session() -> http3::ClientSession {
    let Ok(plan) = http3::ClientPlan::with_set(&run::Protocol::Http3(run::HttpPlan::default()), None) else {
        unreachable!("the defaults can be sent")
    };
    http3::ClientSession::without_connection(&plan, IN_FLIGHT)
}

/// Feeds `bytes` to a client of HTTP/3, in pieces of `piece` bytes, as the content of two unidirectional streams. The
/// first stream stays open, and the second one ends. Returns the result of each request that ended, and true if the
/// connection ended with a fault.
#[allow(dead_code, reason = "not every user of this file tests HTTP/3")]
pub(crate) fn http3_peer_streams(bytes: &[u8], piece: usize) -> (Vec<Done>, bool) {
    let (mut session, mut told) = (http3_session(), Vec::new());
    let mut done = |done| told.push(done);
    for (stream, ends) in [(0, false), (1, true)] {
        for part in bytes.chunks(piece.max(1)) {
            if session.receive_peer_stream(stream, part, false, &mut done).is_err() {
                return (told, true);
            }
        }
        if session.receive_peer_stream(stream, &[], ends, &mut done).is_err() {
            return (told, true);
        }
    }
    (told, false)
}

/// Feeds `bytes` to a client of HTTP/3, in pieces of `piece` bytes, as the content of the stream of each of its
/// requests in turn. Returns the result of each request that ended, and true if the connection ended with a fault.
#[allow(dead_code, reason = "not every user of this file tests HTTP/3")]
pub(crate) fn http3_client(bytes: &[u8], piece: usize) -> (Vec<Done>, bool) {
    let (mut session, mut told) = (http3_session(), Vec::new());
    let mut done = |done| told.push(done);
    for request in 0..IN_FLIGHT {
        for part in bytes.chunks(piece.max(1)) {
            if session.receive_stream(request, part, false, &mut done).is_err() {
                return (told, true);
            }
        }
        if session.receive_stream(request, &[], true, &mut done).is_err() {
            return (told, true);
        }
    }
    (told, false)
}

/// Feeds `bytes` to a client as [`client`] does. If `stream` is given, the client's answers are streams of events, and
/// each result contains its number of events.
pub(crate) fn stream(scheme: &str, stream: Option<&StreamPlan>, bytes: &[u8], piece: usize) -> (Vec<Done>, bool) {
    let Some((row, _)) = by_scheme(scheme) else { unreachable!("{scheme} has a row") };
    let plan = (row.defaults)();
    let greeting = (row.canned)(&plan, &[]);
    let Ok(client) = loadline_proto::stream_client(&plan, None, None, stream) else {
        unreachable!("the defaults of {scheme} can be sent")
    };
    let (mut sessions, mut sent, mut told) = (client.sessions(1), [0; 1024], Vec::new());
    let session = sessions.session(0);
    while !session.ready() {
        while session.transmit(&mut sent) > 0 {}
        if session.receive(&greeting, &mut |_| ()).is_err() {
            unreachable!("a greeting of its own row");
        }
    }
    (0..IN_FLIGHT).for_each(|id| session.begin(Request { id, item: 0, ..Request::default() }));
    while session.transmit(&mut sent) > 0 {}
    let mut done = |done| told.push(done);
    for part in bytes.chunks(piece.max(1)) {
        match session.receive(part, &mut done) {
            Ok(progress) if progress.close => return (told, false),
            Ok(_) => {}
            Err(_) => return (told, true),
        }
    }
    let broken = session.peer_closed(&mut done).is_err();
    (told, broken)
}

/// A site with a single page.
struct OnePage(Arc<Page>);

impl Site for OnePage {
    fn now_s(&self) -> u64 {
        784_111_777
    }

    fn find(&self, _: &str, _: &str) -> Arc<Page> {
        self.0.clone()
    }

    fn plain(&self, status: u16) -> Arc<Page> {
        Page::plain(status, "")
    }
}

/// Feeds `bytes` to a server of HTTP/3, in pieces of `piece` bytes, as the stream of one request. Returns true if the
/// server would answer the request, and true if it would end the connection.
#[allow(dead_code, reason = "not every user of this file tests HTTP/3")]
pub(crate) fn http3_request(bytes: &[u8], piece: usize) -> (bool, bool) {
    let site = OnePage(Page::new(200, "text/plain", "", b"hello".to_vec()));
    let answers = http3::answers(&site, bytes.chunks(piece.max(1)));
    (matches!(answers, Ok(true)), answers.is_err())
}

/// Feeds `bytes` to a server of HTTP/3, in pieces of `piece` bytes, as each of two unidirectional streams of a client.
/// Returns true if the server would end the connection.
#[allow(dead_code, reason = "not every user of this file tests HTTP/3")]
pub(crate) fn http3_client_streams(bytes: &[u8], piece: usize) -> bool {
    let parts: Vec<&[u8]> = bytes.chunks(piece.max(1)).collect();
    http3::reads_peer_streams(&[&parts, &parts]).is_err()
}

/// Feeds `bytes` to a server in pieces of `piece` bytes. Returns the number of completed requests, the server's answer,
/// and true if the server ends the connection.
pub(crate) fn server(service: &str, bytes: &[u8], piece: usize) -> (u32, Vec<u8>, bool) {
    match service {
        "h2" => {
            let site = Arc::new(OnePage(Page::new(200, "text/plain", "", b"hello".to_vec())));
            fed(http2::ServerSession::new(site, 0), bytes, piece)
        }
        "memcached" => fed(memcached::ServerSession::new(Arc::default()), bytes, piece),
        "ws" => fed(websocket::ServerSession::default(), bytes, piece),
        _ => fed(redis::ServerSession::new(Arc::default()), bytes, piece),
    }
}

fn fed(mut session: impl Session, bytes: &[u8], piece: usize) -> (u32, Vec<u8>, bool) {
    let (mut completed, mut said, mut out) = (0, Vec::new(), [0; 100]);
    for part in bytes.chunks(piece.max(1)) {
        let heard = session.receive(part);
        while let n @ 1.. = session.transmit(&mut out) {
            said.extend_from_slice(&out[..n]);
        }
        match heard {
            Ok(progress) => {
                completed += progress.completed;
                if progress.close {
                    return (completed, said, true);
                }
            }
            Err(_) => return (completed, said, true),
        }
    }
    (completed, said, false)
}
