//! A small protocol for tests, with features of TLS, HTTP/2 and request sets. The test protocol has a handshake,
//! answers in any order, single requests that fail, and pings at any time.

use proto::{Done, Fault, Outcome, Progress, Request, Requester, Which};

/// The made-up protocol of the tests. In the handshake, the client sends `H`, the server sends `h`, and the client
/// sends `F`. A request consists of `R`, its ID and its class. An answer consists of `A` and the ID. Instead of `A`,
/// the server may send `X` (failed), `U` (not processed) or `T` (status 408). The client answers a ping `P` with `p`, a
/// close `C` with `c`, and an error `E` with `e`. The server sends `M` to begin an answer. It sends `B` to close
/// the connection with a reason, and `L` to close it and ask the client to come back later.
#[derive(Clone)]
pub(super) struct TestProtocol {
    pub(super) mix: proto::Mix,
    /// True if requests may start before the handshake is done (early data). If the server sends `K`, it rejects early
    /// data, and the session sends the requests again.
    pub(super) takes_early: bool,
}

pub(super) struct TestSession {
    ready: bool,
    leaving: bool,
    answering: bool,
    gave_reason: bool,
    asks_to_come_later: bool,
    takes_early: bool,
    /// True if the server accepted early data and has not sent `N`, a ticket.
    awaits_ticket: bool,
    /// Requests that were sent before the handshake was done.
    early: Vec<u8>,
    early_counts: proto::EarlyData,
    out: Vec<u8>,
}

const GREETING: &[u8] = b"H";

impl proto::Client for TestProtocol {
    type Session = TestSession;

    fn session(&self) -> TestSession {
        TestSession {
            ready: false,
            leaving: false,
            answering: false,
            gave_reason: false,
            asks_to_come_later: false,
            takes_early: self.takes_early,
            awaits_ticket: false,
            early: Vec::new(),
            early_counts: proto::EarlyData::default(),
            out: GREETING.to_vec(),
        }
    }

    fn mix(&self) -> &proto::Mix {
        &self.mix
    }

    fn is_idempotent(&self, item: u16) -> bool {
        item == 0
    }

    fn may_be_early(&self, item: u16) -> bool {
        item == 0
    }

    fn has_transactions(&self) -> bool {
        self.mix.order == run::RequestOrder::Sequence
    }
}

impl Requester for TestSession {
    fn sends_unasked(&self) -> bool {
        true
    }

    fn is_timed(&self) -> bool {
        self.takes_early
    }

    fn ready(&self) -> bool {
        self.ready
    }

    fn takes_early(&self) -> bool {
        self.takes_early && !self.ready
    }

    fn awaits_ticket(&self) -> bool {
        self.awaits_ticket
    }

    fn take_early_data(&mut self) -> proto::EarlyData {
        std::mem::take(&mut self.early_counts)
    }

    fn takes_more(&self) -> bool {
        !self.leaving
    }

    fn close_words(&self) -> Option<String> {
        self.gave_reason.then(|| "closed with code 1011".to_owned())
    }

    fn asks_to_come_later(&self) -> bool {
        self.asks_to_come_later
    }

    fn is_answering(&self) -> Option<bool> {
        Some(self.answering)
    }

    fn each_begun_answer(&mut self, begun: &mut dyn FnMut(Which, u32)) {
        if self.answering {
            begun(Which::Oldest, 0);
        }
    }

    fn leave(&mut self) {
        self.out.push(b'l');
    }

    fn begin(&mut self, request: Request) {
        assert!(!self.leaving, "no request where the server leaves");
        assert!(self.ready || self.takes_early && request.item == 0, "no request before the handshake is done");
        let bytes = [b'R', request.id as u8, request.item as u8];
        if !self.ready {
            self.early.extend(bytes);
        }
        self.out.extend(bytes);
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let n = out.len().min(self.out.len());
        out[..n].copy_from_slice(&self.out[..n]);
        self.out.drain(..n);
        n
    }

    fn wants_transmit(&self) -> bool {
        !self.out.is_empty()
    }

    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let mut progress = Progress::default();
        let mut end = |id: u8, status, outcome| {
            progress.completed += 1;
            done(Done { which: Which::Id(u16::from(id)), status, outcome, bytes: 0, events: 0 });
        };
        let mut rest = input;
        while let Some((&kind, after)) = rest.split_first() {
            rest = after;
            match (kind, after.split_first()) {
                (b'h' | b'K', _) => {
                    self.ready = true;
                    self.out.push(b'F');
                    let requests = self.early.len() as u64 / 3;
                    let counts = &mut self.early_counts;
                    if kind == b'K' {
                        counts.resent += requests;
                        self.out.append(&mut self.early);
                    } else if self.takes_early {
                        (counts.handshakes, counts.requests) = (counts.handshakes + 1, counts.requests + requests);
                        self.awaits_ticket = true;
                    }
                    self.early.clear();
                }
                (b'M', _) => self.answering = true,
                (b'N', _) => self.awaits_ticket = false,
                (b'B' | b'L', _) => {
                    (self.gave_reason, self.asks_to_come_later) = (true, kind == b'L');
                    return Ok(Progress { close: true, ..progress });
                }
                (b'P', _) => self.out.push(b'p'),
                (b'E', _) => {
                    self.out.push(b'e');
                    return Err(Fault::Malformed("an end that it is told of"));
                }
                (b'C', _) => {
                    self.out.push(b'c');
                    return Ok(Progress { close: true, ..progress });
                }
                (b'A' | b'X', Some((&id, after))) => {
                    end(id, 0, if kind == b'A' { Outcome::Expected } else { Outcome::Failed(Fault::Short) });
                    rest = after;
                }
                (b'T', Some((&id, after))) => {
                    end(id, 408, Outcome::Unexpected);
                    rest = after;
                }
                (b'U', Some((&id, after))) => {
                    self.leaving = true;
                    end(id, 0, Outcome::Failed(Fault::Unprocessed));
                    rest = after;
                }
                _ => return Err(Fault::Malformed("not of this protocol")),
            }
        }
        Ok(progress)
    }

    fn peer_closed(&mut self, _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        Ok(Progress::CLOSE)
    }

    fn reset(&mut self) {
        (self.ready, self.leaving, self.answering, self.out) = (false, false, false, GREETING.to_vec());
        (self.gave_reason, self.asks_to_come_later) = (false, false);
        self.awaits_ticket = false;
        self.early.clear();
    }
}
