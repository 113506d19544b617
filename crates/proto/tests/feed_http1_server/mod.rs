//! Feeds a client's bytes to the reference server. A test in `tests` and a fuzz target share the functions of this
//! file.

use std::sync::Arc;

use loadline_proto::http1::{Chunked, Framing, Page, ServerSession, Site, empty_lines, request};
use loadline_proto::{Progress, Session};

/// A site with a single page.
struct OnePage(Arc<Page>);

impl Site for OnePage {
    fn now_s(&self) -> u64 {
        784_111_777
    }

    fn find(&self, method: &str, path: &str) -> Arc<Page> {
        match (method, path) {
            ("GET" | "HEAD" | "POST", "/") => self.0.clone(),
            _ => self.plain(404),
        }
    }

    fn plain(&self, status: u16) -> Arc<Page> {
        Page::plain(status, "")
    }

    fn splits_head(&self) -> bool {
        false
    }
}

/// Feeds `bytes` in pieces of `piece` bytes until the server ends the connection. Returns the server's progress and its
/// answer.
pub(crate) fn feed(bytes: &[u8], piece: usize) -> (Progress, Vec<u8>) {
    let mut session = ServerSession::new(Arc::new(OnePage(Page::new(200, "text/plain", "", b"hello".to_vec()))));
    let (mut sum, mut sent) = (Progress::default(), Vec::new());
    for part in bytes.chunks(piece.max(1)) {
        let fault = |fault| unreachable!("a server answers what it does not understand: {fault}");
        sum.merge(session.receive(part).unwrap_or_else(fault));
        transmit(&mut session, &mut sent);
        if sum.close {
            return (sum, sent);
        }
    }
    if let Ok(progress) = session.peer_closed() {
        sum.merge(progress);
    }
    transmit(&mut session, &mut sent);
    (sum, sent)
}

fn transmit(session: &mut ServerSession, sent: &mut Vec<u8>) {
    let mut piece = [0; 100];
    loop {
        match session.transmit(&mut piece) {
            0 => return,
            n => sent.extend_from_slice(&piece[..n]),
        }
    }
}

/// Reads requests with the parser that the server and the proxy share. Returns the number of complete requests before
/// the bytes end or a request is refused. Checks that every head consumes bytes.
pub(crate) fn requests(mut bytes: &[u8]) -> u32 {
    let mut count = 0;
    while !bytes.is_empty() {
        bytes = &bytes[empty_lines(bytes)..];
        let Ok(Some(head)) = request(bytes) else { return count };
        assert!(head.length > 0 && head.length <= bytes.len(), "{} of {}", head.length, bytes.len());
        bytes = &bytes[head.length..];
        let body = match head.framing {
            Framing::Length(n) if n <= bytes.len() as u64 => n as usize,
            Framing::Chunked => match Chunked::new().skip(bytes) {
                Ok((n, true)) => n,
                _ => return count,
            },
            Framing::Undeclared => 0,
            _ => return count,
        };
        bytes = &bytes[body..];
        count += 1;
    }
    count
}
