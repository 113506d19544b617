//! Calls by which the load drives a connection of HTTP/3.

use super::super::error_codes;
use super::super::peer_streams::{PeerStreams, Side};
use super::ClientSession;
use crate::http2::client::completions::Completions;
use crate::quic::instant;
use crate::{Done, EarlyData, Fault, Progress, Request, Requester, Which};

impl Requester for ClientSession {
    fn sends_unasked(&self) -> bool {
        true
    }

    fn is_timed(&self) -> bool {
        true
    }

    fn tick(&mut self, now_ns: u64) {
        self.now = instant(now_ns);
        self.open();
        if let Some(link) = &mut self.link {
            link.tick(self.now);
        }
        // The first datagrams are filled when they are sent, so that they can contain early data.
        if self.connected || !self.early.is_open {
            self.refill();
        }
    }

    fn due_ns(&self) -> Option<u64> {
        let link = self.link.as_ref()?;
        // A timer may have ended the connection, which the next call of `receive` reports.
        if link.connection.is_closed() && !self.leaving { Some(0) } else { link.due_ns() }
    }

    fn quic_path(&self) -> Option<run::QuicPaths> {
        self.link.as_ref().filter(|_| self.connected).map(|link| link.path())
    }

    fn expect_datagrams(&mut self, bytes: usize) {
        self.datagram_bytes = bytes;
    }

    fn ready(&self) -> bool {
        self.connected
    }

    fn resumed(&self) -> bool {
        self.resumed
    }

    fn takes_early(&self) -> bool {
        self.early.is_open && !self.leaving
    }

    fn take_early_data(&mut self) -> EarlyData {
        self.early.take_counts()
    }

    fn awaits_ticket(&self) -> bool {
        let link = self.link.as_ref().filter(|link| !link.connection.is_closed());
        link.is_some_and(|link| self.connected && link.connection.accepted_0rtt() && !link.has_ticket)
    }

    fn explain(&self) -> Option<String> {
        self.close_words()
    }

    fn refusal_words(&self) -> Option<String> {
        self.refusals.words()
    }

    fn close_words(&self) -> Option<String> {
        self.ended_by_server.clone().or_else(|| self.stopped_by_server.clone())
    }

    fn plain(&self) -> Option<&[u8]> {
        Some(self.first_answer.text().unwrap_or_default())
    }

    fn forget_first_answer(&mut self) {
        self.first_answer.restart();
    }

    fn last_body_bytes(&self) -> Option<u64> {
        self.last_body_bytes
    }

    fn takes_more(&self) -> bool {
        !self.leaving
    }

    fn is_answering(&self) -> Option<bool> {
        Some(self.streams.iter().any(|stream| stream.status > 0))
    }

    fn each_begun_answer(&mut self, begun: &mut dyn FnMut(Which, u32)) {
        if std::mem::take(&mut self.has_begun_answers) {
            let begun_streams = self.streams.iter_mut().filter(|stream| stream.status > 0);
            begun_streams.for_each(|stream| begun(Which::Id(stream.request), std::mem::take(&mut stream.new_events)));
        }
    }

    fn leave(&mut self) {
        if let Some(link) = &mut self.link {
            link.close(self.now, error_codes::NO_ERROR, "");
        }
    }

    fn each_late_request(&mut self, sent: &mut dyn FnMut(u16)) {
        self.late.take(self.waiting.len(), sent);
    }

    fn begin(&mut self, request: Request) {
        self.waiting.push_back(request);
        self.stale = true;
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        self.refill();
        let now = self.now;
        self.link.as_mut().map_or(0, |link| link.transmit(now, out))
    }

    fn wants_transmit(&self) -> bool {
        self.stale || self.link.as_ref().is_some_and(|link| link.wants_transmit())
    }

    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        if let Some(link) = self.link.as_mut().filter(|_| !input.is_empty()) {
            link.receive(self.now, input, self.datagram_bytes);
        }
        self.stale = true;
        let mut completions = Completions::new(done);
        if let Err(fault) = self.handle_events(&mut completions) {
            self.give_up(&fault);
            return Err(fault);
        }
        Ok(Progress { close: self.is_over(), ..completions.progress })
    }

    fn peer_closed(&mut self, _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        // A socket for datagrams reports no end of the data.
        Ok(Progress::default())
    }

    fn reset(&mut self) {
        self.link = None;
        (self.stale, self.connected, self.resumed, self.leaving) = (true, false, false, false);
        self.early.reset();
        self.peer = PeerStreams::new(Side::Client);
        self.last_block.clear();
        self.streams.clear();
        self.waiting.clear();
        self.late.clear();
        self.live.iter_mut().for_each(|live| live.clear());
        (self.ended_by_server, self.stopped_by_server, self.has_begun_answers) = (None, None, false);
        self.refusals.clear();
    }
}
