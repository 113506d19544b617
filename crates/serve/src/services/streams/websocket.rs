//! WebSocket: each message of a client is answered by a stream of messages. Without the option `end`, the server closes
//! the connection after the first stream.

use std::sync::Arc;

use proto::websocket::ServerSession;
use proto::{Fault, Progress, Session};

use super::plan::StreamPlan;
use super::schedule::Times;
use crate::connection::BoxedSession;
use crate::{Options, ServeError, Service};

struct WebsocketStreams(Arc<StreamPlan>);

impl Service for WebsocketStreams {
    fn session(&self) -> BoxedSession {
        Box::new(StreamSession::new(self.0.clone()))
    }

    fn is_timed(&self) -> bool {
        true
    }
}

/// Server side of one connection.
struct StreamSession {
    plan: Arc<StreamPlan>,
    within: ServerSession,
    /// Number of client messages that wait for their streams.
    waiting: u32,
    /// Times at which the events of the current stream are sent.
    times: Option<Times>,
    /// True if the connection must end after all output was sent.
    ends: bool,
}

impl StreamSession {
    fn new(plan: Arc<StreamPlan>) -> Self {
        Self { plan, within: ServerSession::silent(), waiting: 0, times: None, ends: false }
    }

    /// Begins the next stream, unless a stream is being sent.
    fn begin(&mut self) {
        if self.times.is_none() && self.waiting > 0 && !self.ends {
            self.waiting -= 1;
            self.times = Some(self.plan.begin());
        }
    }

    /// Writes the events that are due.
    fn write_due(&mut self) {
        let plan = self.plan.clone();
        while let Some(times) = self.times.as_mut().filter(|times| times.next_ns <= (plan.clock)()) {
            if !plan.schedule.is_over(times) {
                self.within.say(format!("{{\"event\":{}}}", times.sent).as_bytes());
                plan.schedule.advance(times);
                continue;
            }
            self.times = None;
            if plan.end.is_empty() {
                self.within.leave();
                self.ends = true;
            } else {
                self.within.say(plan.end.as_bytes());
                self.begin();
            }
        }
    }
}

impl Session for StreamSession {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        if !self.within.wants_transmit() {
            self.write_due();
        }
        self.within.transmit(out)
    }

    fn wants_transmit(&self) -> bool {
        self.within.wants_transmit() || self.due_ns().is_some_and(|due_ns| due_ns <= (self.plan.clock)())
    }

    fn due_ns(&self) -> Option<u64> {
        self.times.as_ref().map(|times| times.next_ns)
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        let progress = self.within.receive(input)?;
        self.waiting = self.waiting.saturating_add(progress.completed);
        self.begin();
        Ok(progress)
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        self.within.peer_closed()
    }

    fn flushed(&mut self) -> Progress {
        Progress { close: self.ends, linger: self.ends, ..Progress::default() }
    }

    fn awaits_head(&self) -> bool {
        self.within.awaits_head()
    }

    fn head_is_late(&mut self) {
        self.within.head_is_late();
    }

    fn reset(&mut self) {
        self.within.reset();
        (self.waiting, self.times, self.ends) = (0, None, false);
    }
}

/// Opens the service if the options select streams; otherwise returns `None`.
pub(crate) fn open(options: &Options<'_>) -> Result<Option<Arc<dyn Service>>, ServeError> {
    let plan = StreamPlan::if_asked(options)?;
    Ok(plan.map(|plan| Arc::new(WebsocketStreams(plan)) as Arc<dyn Service>))
}
