//! Stated weaknesses: a server that is slow, sleepy or limited in a known way, so that a verdict can be checked against
//! the truth. Each wraps the sessions of any service under any model; one file each, one row in [`BEHAVIOURS`].

mod capacity;
mod delay;
mod sleep;
mod work;

use std::sync::Arc;

use proto::{Fault, Progress, Session};

use crate::service::BoxedSession;
use crate::{Options, ServeError, Service};
use delay::Delay;

/// One row of [`BEHAVIOURS`].
#[derive(Clone, Copy)]
pub struct BehaviourSpec {
    /// The option that turns it on.
    pub option: &'static str,
    /// What it does to a request, and what of the server it makes the bottleneck.
    pub help: &'static str,
    /// Where it is done.
    pub(crate) kind: Kind,
}

/// Where a behaviour is done.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Around each session: called for every completed request.
    Session(fn(&Options<'_>, u32) -> Result<Option<Delay>, ServeError>),
    /// In the http service or where connections are accepted.
    Elsewhere,
}

/// Every behaviour.
pub const BEHAVIOURS: &[BehaviourSpec] = &[
    BehaviourSpec {
        option: "work_us",
        help: "burns this much CPU time per request: server-cpu",
        kind: Kind::Session(work::delay),
    },
    BehaviourSpec {
        option: "sleep_ms",
        help: "each request holds its worker asleep: server-concurrency",
        kind: Kind::Session(sleep::delay),
    },
    BehaviourSpec {
        option: "capacity",
        help: "a known highest rate, by work or by sleep",
        kind: Kind::Session(capacity::delay),
    },
    BehaviourSpec {
        option: "accept_every_ms",
        help: "accepts in batches on a timer: accept-queue",
        kind: Kind::Elsewhere,
    },
    BehaviourSpec {
        option: "split_head",
        help: "http: two small writes with Nagle on: tcp-delayed-ack",
        kind: Kind::Elsewhere,
    },
    BehaviourSpec {
        option: "reject_over",
        help: "http: 503 or 429 above a rate: server-rate-limit",
        kind: Kind::Elsewhere,
    },
];

/// The service with the behaviours that the options ask for.
pub(crate) fn wrap(
    service: Arc<dyn Service>,
    options: &Options<'_>,
    threads: u32,
) -> Result<Arc<dyn Service>, ServeError> {
    let mut delays = Vec::new();
    for row in BEHAVIOURS {
        if let Kind::Session(make) = row.kind {
            delays.extend(make(options, threads)?);
        }
    }
    Ok(if delays.is_empty() { service } else { Arc::new(Delayed { service, delays: delays.into() }) })
}

struct Delayed {
    service: Arc<dyn Service>,
    delays: Arc<[Delay]>,
}

impl Service for Delayed {
    fn session(&self) -> BoxedSession {
        Box::new(DelayedSession { inner: self.service.session(), delays: self.delays.clone() })
    }

    fn tick(&self, now_s: u64) {
        self.service.tick(now_s);
    }

    fn busy_reply(&self) -> &[u8] {
        self.service.busy_reply()
    }

    fn nagle(&self) -> bool {
        self.service.nagle()
    }
}

/// A session whose completed requests go through the delays before their answers may leave.
struct DelayedSession {
    inner: BoxedSession,
    delays: Arc<[Delay]>,
}

impl Session for DelayedSession {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        self.inner.transmit(out)
    }

    fn wants_transmit(&self) -> bool {
        self.inner.wants_transmit()
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        let progress = self.inner.receive(input)?;
        for _ in 0..progress.completed {
            self.delays.iter().for_each(|delay| delay());
        }
        Ok(progress)
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        self.inner.peer_closed()
    }

    fn flushed(&mut self) -> Progress {
        self.inner.flushed()
    }

    fn reset(&mut self) {
        self.inner.reset();
    }
}
