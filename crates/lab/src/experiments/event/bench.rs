//! Timing single calls of the event API. Hot connections are TCP over loopback with both ends here: between two calls
//! every end that was served is written to again, so each call finds exactly as many ready as there are hot ones.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use ::event::{Event, EventQueue, Mask, Options};
use sys::epoll::{Epoll, Interest};
use sys::epoll_raw::{self, Slots};
use sys::socket;
use sys::tsc::{self, Calibration};

use crate::LabError;

/// What a number of calls cost, the clock's own cost taken off.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timing {
    pub(super) calls: usize,
    pub(super) mean_us: f64,
    pub(super) median_us: f64,
    pub(super) p99_us: f64,
    /// Events that a call returned, on average.
    pub(super) returned: f64,
    /// Calls that found nothing and would have blocked; not in the figures.
    pub(super) rejected: usize,
}

impl Timing {
    fn of(mut counts: Vec<u64>, events: usize, rejected: usize, clock: &Calibration) -> Self {
        counts.sort_unstable();
        let at = |share: f64| counts.get((counts.len() as f64 * share) as usize).map_or(0.0, |&c| clock.ns(c) / 1e3);
        let n = counts.len().max(1) as f64;
        let mean_us = counts.iter().map(|&c| clock.ns(c)).sum::<f64>() / n / 1e3;
        let (median_us, p99_us) = (at(0.5), at(0.99));
        Self { calls: counts.len(), mean_us, median_us, p99_us, returned: events as f64 / n, rejected }
    }
}

/// How many calls, and for how long at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Amount {
    pub(super) calls: usize,
    pub(super) at_most: Duration,
}

/// Both ends of hot connections.
pub(super) struct Hot {
    ours: Vec<OwnedFd>,
    theirs: Vec<OwnedFd>,
    /// Which one a descriptor is, by its number.
    index: Vec<u32>,
    ready: Vec<bool>,
}

impl Hot {
    pub(super) fn open(count: usize) -> Result<Self, LabError> {
        let failed = |e: sys::Errno| LabError::set_up("opening hot connections", std::io::Error::from(e));
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = socket::tcp(any).map_err(failed)?;
        socket::bind(&listener, any).map_err(failed)?;
        socket::listen(&listener, 4096).map_err(failed)?;
        let to = socket::local_addr(&listener).map_err(failed)?;
        let mut hot = Self { ours: Vec::new(), theirs: Vec::new(), index: Vec::new(), ready: vec![false; count] };
        for at in 0..count {
            let client = socket::tcp(to).map_err(failed)?;
            socket::set_nodelay(&client, true).map_err(failed)?;
            socket::connect(&client, to).map_err(failed)?;
            let ours = socket::accept(&listener).map_err(failed)?;
            let fd = ours.as_raw_fd() as usize;
            hot.index.resize(hot.index.len().max(fd + 1), u32::MAX);
            hot.index[fd] = at as u32;
            hot.ours.push(ours);
            hot.theirs.push(client);
        }
        Ok(hot)
    }

    fn fds(&self) -> impl Iterator<Item = RawFd> + '_ {
        self.ours.iter().map(AsRawFd::as_raw_fd)
    }

    /// Gives every connection that has nothing to read something, in so many pieces.
    fn trigger(&mut self, pieces: usize) {
        for (at, ready) in self.ready.iter_mut().enumerate() {
            if !std::mem::replace(ready, true) {
                for _ in 0..pieces {
                    let _ = socket::send(&self.theirs[at], b"x");
                }
            }
        }
    }

    /// Reads what an event announced.
    fn serve(&mut self, fd: RawFd) {
        let Some(&at) = self.index.get(fd as usize).filter(|&&at| at != u32::MAX) else { return };
        let _ = socket::recv(&self.ours[at as usize], &mut [0; 64]);
        self.ready[at as usize] = false;
    }

    fn quiet(&mut self) {
        for at in 0..self.ours.len() {
            let _ = socket::recv(&self.ours[at], &mut [0; 64]);
            self.ready[at] = false;
        }
    }
}

/// Something that returns events.
pub(super) trait Caller {
    /// One call for at most `most` events; the timed part.
    fn call(&mut self, most: usize) -> usize;
    /// The descriptor of an event of the last call.
    fn fd(&self, at: usize) -> RawFd;
}

/// The library.
pub(super) struct Library {
    queue: EventQueue,
    events: Vec<Event>,
}

impl Library {
    /// A queue with all these connections declared.
    pub(super) fn new(options: Options, hot: &mut Hot, cold: &[OwnedFd], room: usize) -> Result<Self, LabError> {
        let failed = |e: event::EventError| LabError::set_up("making an event queue", std::io::Error::other(e));
        hot.quiet();
        let mut queue = EventQueue::with(options).map_err(failed)?;
        for fd in cold.iter().map(AsRawFd::as_raw_fd).chain(hot.fds()) {
            queue.declare_interest(fd, Mask::READ, false).map_err(failed)?;
        }
        queue.flush().map_err(failed)?;
        Ok(Self { queue, events: vec![Event::default(); room] })
    }
}

impl Caller for Library {
    #[inline]
    fn call(&mut self, most: usize) -> usize {
        self.queue.get_next_event(&mut self.events[..most], Some(Duration::ZERO)).unwrap_or(0)
    }

    fn fd(&self, at: usize) -> RawFd {
        self.events[at].fd
    }
}

/// The bare system call of epoll, with the same interest.
pub(super) struct Bare {
    epoll: Epoll,
    slots: Slots,
    fds: Vec<RawFd>,
}

impl Bare {
    pub(super) fn new(hot: &mut Hot, cold: &[OwnedFd]) -> Result<Self, LabError> {
        let failed = |e: sys::Errno| LabError::set_up("making an epoll instance", std::io::Error::from(e));
        hot.quiet();
        let epoll = Epoll::new().map_err(failed)?;
        for fd in cold.iter().map(AsRawFd::as_raw_fd).chain(hot.fds()) {
            let interest = Interest::IN | Interest::RDHUP | Interest::ET;
            epoll_raw::add(&epoll, fd, fd as u64, interest).map_err(failed)?;
        }
        Ok(Self { epoll, slots: Slots::default(), fds: Vec::new() })
    }
}

impl Caller for Bare {
    #[inline]
    fn call(&mut self, most: usize) -> usize {
        epoll_raw::wait(&self.epoll, &mut self.slots, most, Some(0)).unwrap_or(0)
    }

    fn fd(&self, at: usize) -> RawFd {
        self.fds.get(at).copied().or_else(|| self.slots.iter().nth(at).map(|e| e.token as RawFd)).unwrap_or(-1)
    }
}

/// Times calls.
pub(super) fn calls(
    caller: &mut impl Caller,
    hot: &mut Hot,
    most: usize,
    pieces: usize,
    amount: Amount,
    clock: &Calibration,
) -> Timing {
    let begin = Instant::now();
    let (mut counts, mut events, mut rejected, mut turn) = (Vec::with_capacity(amount.calls), 0, 0, 0_usize);
    let warm = (amount.calls / 20).max(10);
    while counts.len() < amount.calls && rejected <= amount.calls && (turn < warm || begin.elapsed() < amount.at_most) {
        turn += 1;
        hot.trigger(pieces);
        let start = tsc::counts();
        let count = caller.call(most);
        let end = tsc::counts();
        for at in 0..count {
            hot.serve(caller.fd(at));
        }
        if turn <= warm {
            continue;
        }
        if count == 0 {
            rejected += 1;
            continue;
        }
        events += count;
        counts.push(end.wrapping_sub(start));
    }
    Timing::of(counts, events, rejected, clock)
}

/// What declaring and revoking cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Declares {
    pub(super) declare: Timing,
    pub(super) revoke: Timing,
    /// Declaring and being told the state.
    pub(super) with_state: Timing,
}

/// Times declaring and revoking of all hot connections in turn; each time is that of one of them, what is handed over
/// in batches included.
pub(super) fn declares(library: &mut Library, hot: &mut Hot, amount: Amount, clock: &Calibration) -> Declares {
    hot.quiet();
    let fds: Vec<RawFd> = hot.fds().collect();
    let (begin, each) = (Instant::now(), fds.len().max(1) as u64);
    let mut counts: [Vec<u64>; 3] = Default::default();
    let timed = |library: &mut Library, mask: Mask, state: bool| {
        let start = tsc::counts();
        for &fd in &fds {
            let _ = library.queue.declare_interest(fd, mask, state);
        }
        let _ = library.queue.flush();
        // The clock is read once for all of them.
        tsc::counts().wrapping_sub(start).saturating_sub(clock.overhead) / each + clock.overhead
    };
    timed(library, Mask::NONE, false);
    while counts[0].len() * fds.len() < amount.calls && begin.elapsed() < amount.at_most {
        counts[0].push(timed(library, Mask::READ, false));
        counts[1].push(timed(library, Mask::NONE, false));
        counts[2].push(timed(library, Mask::READ, true));
        timed(library, Mask::NONE, false);
    }
    timed(library, Mask::READ, false);
    library.call(library.events.len());
    let [declare, revoke, with_state] = counts.map(|list| Timing::of(list, 0, 0, clock));
    Declares { declare, revoke, with_state }
}

#[cfg(test)]
mod tests {
    use super::*;
    use event::BACKENDS;

    #[test]
    fn every_call_of_every_back_end_returns_what_is_ready() {
        let clock = Calibration::measure();
        let amount = Amount { calls: 50, at_most: Duration::from_secs(5) };
        for row in BACKENDS {
            let mut hot = Hot::open(8).unwrap();
            let Ok(mut library) = Library::new(Options::new(row.backend), &mut hot, &[], 16) else {
                println!("SKIP every_call_of_every_back_end_returns_what_is_ready: no {}", row.name);
                assert!(std::env::var("LOADLINE_REQUIRE").as_deref() != Ok("all"));
                continue;
            };
            let three = calls(&mut library, &mut hot, 3, 1, amount, &clock);
            assert_eq!((three.calls, three.returned, three.rejected), (50, 3.0, 0), "{}", row.name);
            let all = calls(&mut library, &mut hot, 16, 2, amount, &clock);
            assert_eq!((all.returned, all.rejected), (8.0, 0), "{}", row.name);
            assert!(all.mean_us > 0.0 && all.p99_us >= all.median_us);
            let declared = declares(&mut library, &mut hot, amount, &clock);
            assert!(declared.declare.median_us > 0.0 && declared.declare.calls > 0, "{}", row.name);
        }
        let mut hot = Hot::open(8).unwrap();
        let mut bare = Bare::new(&mut hot, &[]).unwrap();
        assert_eq!(calls(&mut bare, &mut hot, 3, 1, amount, &clock).returned, 3.0);
    }
}
