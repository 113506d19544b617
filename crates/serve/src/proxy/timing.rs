//! Measures the calls of the event API in the proxy, as Banga, Mogul and Druschel did in their paper about this API. A
//! cycle counter is read before and after each call. The results do not contain the durations of calls that would have
//! blocked. When enough calls were measured, the proxy sends the result to the `CallTimer`.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use event::{Event, EventQueue, Mask};
use sys::tsc;

/// Maximum wait for a result after the measuring time is over. The proxy notices the end of the measuring time only at
/// its next event.
const LAST_WORD: Duration = Duration::from_secs(1);

/// Durations of measured calls, in cycles ([`sys::tsc`]). The durations include the time for reading the cycle counter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timings {
    /// Calls of `get_next_event` that returned events: duration in cycles, and number of events.
    pub calls: Vec<(u64, u32)>,
    /// Number of calls of `get_next_event` that found no events, so the proxy had to wait. Calls that found no events
    /// are not part of `calls`.
    pub rejected: u64,
    /// Duration of each declaration of interest, in cycles.
    pub declared: Vec<u64>,
    /// Duration of each revocation of interest, in cycles. Revocations before a close are included.
    pub revoked: Vec<u64>,
}

/// Number and kind of calls after which a measurement ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimingGoal {
    /// The measurement ends after the contained number of calls of `get_next_event`.
    Calls(usize),
    /// The measurement ends after the contained number of declarations of interest, and as many revocations.
    /// Declarations come in bursts, so their number may be reached long before the number of revocations.
    Declarations(usize),
}

#[derive(Debug, Default)]
struct Asked {
    /// Serial number of the measurement. The number increases by one at each start and at each end, so it is odd while
    /// a measurement is running.
    serial: AtomicU32,
    array: AtomicUsize,
    calls: AtomicUsize,
    /// Cycle count at the time at which the measurement was requested.
    at: AtomicU64,
    declarations: AtomicUsize,
}

/// Requests measurements from a proxy that [`crate::start_timed`] started.
#[derive(Debug)]
pub struct CallTimer {
    asked: Arc<Asked>,
    /// Results, each with the serial number of its measurement.
    results: Receiver<(u32, Timings)>,
}

impl CallTimer {
    pub(super) fn new() -> (Self, Box<Stopwatch>) {
        let (asked, (sender, results)) = (Arc::new(Asked::default()), channel());
        let watch = Stopwatch {
            asked: asked.clone(),
            sender,
            serial: 0,
            done: false,
            slept: None,
            timings: Timings::default(),
        };
        (Self { asked, results }, Box::new(watch))
    }

    /// Measures calls with space for `array` events, until the goal `enough` is reached or the time `at_most` has
    /// passed. After the measurement, the proxy keeps using space for `array` events. Returns empty timings if no event
    /// arrived.
    pub fn measure(&self, array: usize, enough: TimingGoal, at_most: Duration) -> Timings {
        let (calls, declarations) = match enough {
            TimingGoal::Calls(n) => (n, usize::MAX),
            TimingGoal::Declarations(n) => (usize::MAX, n),
        };
        self.asked.array.store(array.max(1), Ordering::Relaxed);
        self.asked.calls.store(calls, Ordering::Relaxed);
        self.asked.declarations.store(declarations, Ordering::Relaxed);
        self.asked.at.store(tsc::counts(), Ordering::Relaxed);
        let serial = self.asked.serial.fetch_add(1, Ordering::Release).wrapping_add(1);
        let found = self.result_of(serial, at_most);
        self.asked.serial.fetch_add(1, Ordering::Release);
        found.or_else(|| self.result_of(serial, LAST_WORD)).unwrap_or_default()
    }

    /// Waits for the result of the measurement with the number `serial`. Results with other serial numbers belong to
    /// earlier measurements and are dropped.
    fn result_of(&self, serial: u32, at_most: Duration) -> Option<Timings> {
        let until = Instant::now() + at_most;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.results.recv_timeout(left) {
                Ok((of, found)) if of == serial => return Some(found),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }
}

/// Stopwatch of a proxy thread. The stopwatch times the event API calls while a measurement is running.
#[derive(Debug)]
pub(super) struct Stopwatch {
    asked: Arc<Asked>,
    sender: Sender<(u32, Timings)>,
    serial: u32,
    /// True if the result of the current measurement was sent.
    done: bool,
    /// Cycle count at which the last wait began to block; `None` if the wait did not block.
    slept: Option<u64>,
    timings: Timings,
}

impl Stopwatch {
    pub(super) fn room(&mut self, most: usize) -> usize {
        let asked = self.asked.serial.load(Ordering::Acquire);
        if asked != self.serial {
            let was_on = self.on();
            if was_on {
                self.hand_over();
            }
            (self.serial, self.done) = (asked, false);
            // The measurement was requested while the proxy waited for events. A proxy that waits for events is not
            // saturated, and may have waited for a long time. The wait during which the measurement was requested
            // counts as a call that found no events.
            let slept = self.slept.is_some_and(|since| since < self.asked.at.load(Ordering::Relaxed));
            self.timings = Timings { rejected: u64::from(slept), ..Timings::default() };
        } else if self.on() && self.enough() {
            self.hand_over();
            self.done = true;
        }
        match self.asked.array.load(Ordering::Relaxed) {
            0 => most,
            array => array.min(most),
        }
    }

    const fn on(&self) -> bool {
        self.serial % 2 == 1 && !self.done
    }

    fn enough(&self) -> bool {
        self.timings.calls.len() >= self.asked.calls.load(Ordering::Relaxed)
            || self.timings.declared.len().min(self.timings.revoked.len())
                >= self.asked.declarations.load(Ordering::Relaxed)
    }

    fn hand_over(&mut self) {
        // Errors of the channel are ignored, because the receiver is gone if the experiment has ended.
        let _ = self.sender.send((self.serial, std::mem::take(&mut self.timings)));
    }

    pub(super) fn next(
        &mut self,
        queue: &mut EventQueue,
        out: &mut [Event],
        timeout: Option<Duration>,
    ) -> event::Result<usize> {
        if !self.on() {
            return self.untimed(queue, out, timeout);
        }
        self.slept = None;
        let (found, counts) = timed(|| queue.get_next_event(out, Some(Duration::ZERO)));
        match found {
            Ok(0) => {
                self.timings.rejected += 1;
                after_nothing(queue, out, timeout)
            }
            Ok(n) => {
                self.timings.calls.push((counts, n as u32));
                Ok(n)
            }
            Err(e) => Err(e),
        }
    }

    /// Waits for events without measuring the call. Only the time at which the wait began to block is recorded.
    fn untimed(
        &mut self,
        queue: &mut EventQueue,
        out: &mut [Event],
        timeout: Option<Duration>,
    ) -> event::Result<usize> {
        let found = queue.get_next_event(out, Some(Duration::ZERO))?;
        self.slept = (found == 0).then(tsc::counts);
        if found > 0 { Ok(found) } else { after_nothing(queue, out, timeout) }
    }

    pub(super) fn declare(&mut self, queue: &mut EventQueue, fd: RawFd, mask: Mask) -> event::Result<()> {
        let (outcome, counts) = timed(|| queue.declare_interest(fd, mask, false));
        if self.on() {
            if mask.is_none() { &mut self.timings.revoked } else { &mut self.timings.declared }.push(counts);
        }
        outcome.map(drop)
    }

    pub(super) fn forget(&mut self, queue: &mut EventQueue, fd: RawFd) {
        let ((), counts) = timed(|| queue.forget(fd));
        if self.on() {
            self.timings.revoked.push(counts);
        }
    }
}

/// Waits for events after a call that found no event.
pub(super) fn after_nothing(
    queue: &mut EventQueue,
    out: &mut [Event],
    timeout: Option<Duration>,
) -> event::Result<usize> {
    if timeout == Some(Duration::ZERO) { Ok(0) } else { queue.get_next_event(out, timeout) }
}

/// Makes a call and measures it. Returns the call's result and its duration in cycles.
#[inline(always)]
pub(super) fn timed<T>(call: impl FnOnce() -> T) -> (T, u64) {
    let start = tsc::counts();
    let outcome = call();
    (outcome, tsc::counts().wrapping_sub(start))
}

#[cfg(test)]
mod tests;
