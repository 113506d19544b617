//! Planted weaknesses: a server is slow, sleeps or is limited in a known way. Because the weakness is known, a test can
//! check whether loadline's verdict on the server is right.
//!
//! Each weakness is called a behaviour, and wraps the sessions of any service under any I/O model. Each behaviour has
//! one file and one entry in [`BEHAVIOURS`].

mod capacity;
mod delay;
mod lock;
mod pool;
mod sleep;
mod spin;
mod work;

use std::sync::Arc;

use proto::{Fault, Progress, Session};

use crate::connection::BoxedSession;
use crate::{Options, ServeError, Service};
use delay::Delay;

/// Entry of [`BEHAVIOURS`].
#[derive(Clone, Copy)]
pub struct BehaviourSpec {
    /// Name of the option that turns the behaviour on.
    pub option: &'static str,
    /// Effect on a request, and the verdict that loadline should reach.
    pub help: &'static str,
    /// Part of the server that implements the behaviour.
    pub(crate) kind: Kind,
}

/// Part of the server that implements a behaviour (a planted weakness).
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// The behaviour wraps each session and delays every completed request.
    Session(fn(&Options<'_>, u32) -> Result<Option<Delay>, ServeError>),
    /// The behaviour is implemented in the http service, or in the code that accepts connections.
    Elsewhere,
}

/// All behaviours that can be planted.
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
        option: "lock",
        help: "each request holds one lock of the whole server, asleep: server-concurrency",
        kind: Kind::Session(lock::delay),
    },
    BehaviourSpec {
        option: "pool",
        help: "each request holds one of these places of the whole server, asleep: server-concurrency",
        kind: Kind::Session(pool::delay),
    },
    BehaviourSpec {
        option: "spin",
        help: "burns this much CPU time per request in the function planted_spin: server-cpu",
        kind: Kind::Session(spin::delay),
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

/// Wraps a service in the behaviours that the options select.
pub(crate) fn wrap(
    service: Arc<dyn Service>,
    options: &Options<'_>,
    threads: u32,
) -> Result<Arc<dyn Service>, ServeError> {
    let delays = delays(options, threads)?;
    Ok(if delays.is_empty() { service } else { Arc::new(Delayed { service, delays }) })
}

/// Functions that delay each completed request.
pub(crate) type Delays = Arc<[Delay]>;

/// Returns the delays of the behaviours that the options select.
pub(crate) fn delays(options: &Options<'_>, threads: u32) -> Result<Delays, ServeError> {
    let mut delays = Vec::new();
    for row in BEHAVIOURS {
        if let Kind::Session(make) = row.kind {
            delays.extend(make(options, threads)?);
        }
    }
    Ok(delays.into())
}

struct Delayed {
    service: Arc<dyn Service>,
    delays: Delays,
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

    fn is_timed(&self) -> bool {
        self.service.is_timed()
    }

    fn is_slowed(&self) -> bool {
        true
    }

    fn nagle(&self) -> bool {
        self.service.nagle()
    }
}

/// A session that delays each completed request before its answer is sent.
struct DelayedSession {
    inner: BoxedSession,
    delays: Delays,
}

impl Session for DelayedSession {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        self.inner.transmit(out)
    }

    fn wants_transmit(&self) -> bool {
        self.inner.wants_transmit()
    }

    fn due_ns(&self) -> Option<u64> {
        self.inner.due_ns()
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

    fn awaits_head(&self) -> bool {
        self.inner.awaits_head()
    }

    fn head_is_late(&mut self) {
        self.inner.head_is_late();
    }

    fn reset(&mut self) {
        self.inner.reset();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;
    use crate::services::tests::service;

    fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()
    }

    fn refused(pairs: &[(&str, &str)]) -> String {
        wrap(service("echo", &[]), &Options::new(&options(pairs)).unwrap(), 1).err().unwrap().to_string()
    }

    fn delayed(name: &str) -> (DelayedSession, Arc<AtomicU32>) {
        let count = Arc::new(AtomicU32::new(0));
        let counts = count.clone();
        let delay: Delay = Arc::new(move || {
            counts.fetch_add(1, Relaxed);
        });
        (DelayedSession { inner: service(name, &[]).session(), delays: [delay].into() }, count)
    }

    #[test]
    fn each_completed_request_is_delayed_once_before_its_answer() {
        let (mut session, count) = delayed("http");
        let get = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        session.receive(&get.repeat(3)).unwrap();
        assert_eq!(count.load(Relaxed), 3);
        // An incomplete request is not delayed.
        session.receive(&get[..10]).unwrap();
        assert_eq!(count.load(Relaxed), 3);
    }

    #[test]
    fn echoed_bytes_are_delayed_too() {
        let (mut session, count) = delayed("echo");
        assert!(!session.mirrors());
        session.receive(b"x").unwrap();
        assert!(session.wants_transmit());
        assert_eq!(count.load(Relaxed), 1);
    }

    #[test]
    fn a_delayed_session_still_reports_incomplete_heads() {
        let (mut session, _) = delayed("http");
        session.receive(b"GET / HT").unwrap();
        assert!(session.awaits_head());
        session.head_is_late();
        let mut answer = [0; 64];
        let n = session.transmit(&mut answer);
        assert!(answer[..n].starts_with(b"HTTP/1.1 408 "));
    }

    #[test]
    fn without_a_behaviour_the_service_is_not_wrapped() {
        let echo = service("echo", &[]);
        let wrapped = wrap(echo.clone(), &Options::new(&options(&[])).unwrap(), 1).unwrap();
        assert!(Arc::ptr_eq(&echo, &wrapped));
    }

    #[test]
    fn wrong_values_are_refused_with_the_valid_ones() {
        assert!(refused(&[("work_us", "1"), ("work_by", "magic")]).contains("clock or loops"));
        assert!(refused(&[("work_us", "0")]).contains("above zero"));
        assert!(refused(&[("sleep_ms", "-1")]).contains("above zero"));
        assert!(refused(&[("capacity", "5"), ("capacity_by", "magic")]).contains("work or sleep"));
        assert!(refused(&[("capacity", "fast")]).contains("requests/s"));
    }

    #[test]
    fn work_uses_the_stated_cpu_time() {
        let map = options(&[("work_us", "200")]);
        let delay = work::delay(&Options::new(&map).unwrap(), 1).unwrap().unwrap();
        let begin_ns = sys::clock::thread_cpu_ns();
        (0..5).for_each(|_| delay());
        assert!(sys::clock::thread_cpu_ns() - begin_ns >= 1_000_000);
    }

    #[test]
    fn every_behaviour_is_an_option() {
        for row in BEHAVIOURS {
            assert!(crate::OPTIONS.iter().any(|o| o.name == row.option), "{}", row.option);
        }
    }
}
