//! One generator thread: a driver, a connection engine, and the loop that connects them.

use std::sync::atomic::{AtomicU64, Ordering};

use proto::AnyClient;
use run::{CoarseHist, ErrorKind, LoadPart, Phase, Tick, TickDetail};
use sys::Errno;

use crate::core::{Core, Task};
use crate::driver::{Driver, Ops as _};
use crate::status_counts::PublishedStatusCounts;

/// Maximum time for which the loop waits, nanoseconds. The maximum is short, so that each generator thread soon notices
/// a new phase of the load. A busy generator waits for less than this maximum.
pub(crate) const MAX_WAIT_NS: u64 = 2_000_000;
/// Interval at which a shard (generator thread) publishes its counts, nanoseconds.
const PUBLISH_INTERVAL_NS: u64 = 5_000_000;
/// Interval at which a shard (generator thread) publishes details for the live view, nanoseconds. At the same interval,
/// the thread adjusts how many answers it collects before it handles them. In an experiment with slots (short periods),
/// the thread adjusts this number more often.
const DETAIL_INTERVAL_NS: u64 = 20_000_000;
/// Interval at which a shard (generator thread) publishes its counts if an experiment reads them in each of its slots
/// (short periods), nanoseconds.
const SLOT_PUBLISH_INTERVAL_NS: u64 = 200_000;

/// Command to a shard (generator thread). Each shard (generator thread) reads the command in every pass of its event
/// loop. The thread that receives the commands of the conductor (controlling process) changes this command a few times
/// in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Order {
    pub(crate) phase: Phase,
    /// Time at which `phase` started, or at which the next phase starts.
    pub(crate) at_ns: u64,
    pub(crate) stop: bool,
    /// Time at which the next command takes effect; `u64::MAX` if no command is known.
    pub(crate) next_ns: u64,
    /// Factor by which the user has changed the planned rate.
    pub(crate) factor: f64,
}

/// Command to all shards (generator threads), in a cache line of its own. The first word has the phase, the stop flag,
/// and the time at which the phase starts. The second word has the rate factor: the bits of a float, XORed with the
/// bits of 1.0. For an unchanged rate (factor 1.0), the second word of the command is therefore 0.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Orders(AtomicU64, AtomicU64);

/// Range of the factors by which the planned rate may be changed during a load.
const RATE_FACTORS: std::ops::RangeInclusive<f64> = 0.001..=1000.0;

const STOP_BIT: u64 = 4;
const PHASE_MASK: u64 = 3;
const PHASE_BITS: u32 = 3;

impl Orders {
    /// Orders every shard (generator thread) to enter `phase` at `at_ns`, so that all shards measure the same window.
    /// If `at_ns` is more than [`MAX_WAIT_NS`] in the future, every shard (generator thread) reads the order in time.
    pub(crate) fn enter(&self, phase: Phase, at_ns: u64) {
        self.0.store(at_ns << PHASE_BITS | phase as u64, Ordering::Release);
    }

    /// Sets, for every shard (generator thread), the factor by which the planned rate is changed.
    pub(crate) fn rate(&self, factor: f64) {
        if factor.is_finite() {
            let factor = factor.clamp(*RATE_FACTORS.start(), *RATE_FACTORS.end());
            self.1.store(factor.to_bits() ^ 1.0_f64.to_bits(), Ordering::Relaxed);
        }
    }

    /// Returns true if every shard (generator thread) must stop.
    pub(crate) fn stopped(&self) -> bool {
        self.0.load(Ordering::Acquire) & STOP_BIT != 0
    }

    /// Orders every shard (generator thread) to stop at once.
    pub(crate) fn stop(&self) {
        self.0.fetch_or(STOP_BIT, Ordering::Release);
    }

    /// Returns the command that applies at the time `now` to a shard (generator thread) that is in phase `current`.
    #[inline]
    pub(crate) fn read(&self, now: u64, current: Phase) -> Order {
        let raw = self.0.load(Ordering::Acquire);
        let at = raw >> PHASE_BITS;
        let phase = match raw & PHASE_MASK {
            _ if now < at => current,
            0 => Phase::WarmUp,
            1 => Phase::Measure,
            _ => Phase::Drain,
        };
        let factor = f64::from_bits(self.1.load(Ordering::Relaxed) ^ 1.0_f64.to_bits());
        Order { phase, at_ns: at, stop: raw & STOP_BIT != 0, next_ns: if now < at { at } else { u64::MAX }, factor }
    }
}

/// Size of the counts that another process sends, bytes: six counts of eight bytes each.
pub(crate) const LIVE_BYTES: usize = 48;

/// Counts that one shard (generator thread) publishes. The published counts are in cache lines to which no other shard
/// (generator thread) writes.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct LiveCounts {
    sent: AtomicU64,
    completed: AtomicU64,
    errors: AtomicU64,
    refused: AtomicU64,
    open: AtomicU64,
    in_flight: AtomicU64,
    detail: Detail,
}

/// Published failures by kind, and published times of answered and of failed requests by bucket.
#[derive(Debug)]
struct Detail {
    errors: [AtomicU64; ErrorKind::ALL.len()],
    unexpected: AtomicU64,
    unexpected_statuses: PublishedStatusCounts,
    responses: [AtomicU64; CoarseHist::BUCKETS],
    unanswered: [AtomicU64; CoarseHist::BUCKETS],
}

impl Default for Detail {
    fn default() -> Self {
        Self {
            errors: [const { AtomicU64::new(0) }; _],
            unexpected: AtomicU64::new(0),
            unexpected_statuses: PublishedStatusCounts::default(),
            responses: [const { AtomicU64::new(0) }; _],
            unanswered: [const { AtomicU64::new(0) }; _],
        }
    }
}

impl LiveCounts {
    fn publish(&self, core: &Core) {
        let counts = &core.record.counts;
        self.sent.store(counts.sent, Ordering::Relaxed);
        self.completed.store(counts.completed, Ordering::Relaxed);
        self.errors.store(counts.error_count(), Ordering::Relaxed);
        self.refused.store(counts.unexpected, Ordering::Relaxed);
        self.open.store(core.open, Ordering::Relaxed);
        self.in_flight.store(core.in_flight, Ordering::Relaxed);
    }

    /// Publishes the failures and the response times.
    fn publish_detail(&self, core: &Core) {
        let store = |(to, n): (&AtomicU64, &u64)| to.store(*n, Ordering::Relaxed);
        self.detail.unexpected.store(core.record.counts.unexpected, Ordering::Relaxed);
        self.detail.unexpected_statuses.publish(&core.record.counts.unexpected_statuses);
        self.detail.errors.iter().zip(&core.record.counts.errors).for_each(store);
        self.detail.responses.iter().zip(core.record.coarse.iter()).for_each(store);
        self.detail.unanswered.iter().zip(core.record.coarse_unanswered.iter()).for_each(store);
    }

    /// Returns the published failures and response times.
    pub(crate) fn detail(&self) -> TickDetail {
        let load = |n: &AtomicU64| n.load(Ordering::Relaxed);
        let errors = ErrorKind::ALL.into_iter().zip(self.detail.errors.iter().map(load)).filter(|(_, n)| *n > 0);
        TickDetail {
            errors: run::Errors(errors.collect()),
            unexpected: load(&self.detail.unexpected),
            unexpected_statuses: self.detail.unexpected_statuses.read(),
            responses: CoarseHist::of(self.detail.responses.iter().map(load)),
            unanswered: CoarseHist::of(self.detail.unanswered.iter().map(load)),
        }
    }

    /// Returns the published counts as bytes, for another process.
    pub(crate) fn bytes(&self) -> [u8; LIVE_BYTES] {
        let mut bytes = [0; LIVE_BYTES];
        let all = [&self.sent, &self.completed, &self.errors, &self.refused, &self.open, &self.in_flight];
        for (to, value) in bytes.chunks_exact_mut(8).zip(all) {
            to.copy_from_slice(&value.load(Ordering::Relaxed).to_ne_bytes());
        }
        bytes
    }

    /// Publishes the counts in `bytes`, which another process has sent.
    pub(crate) fn take_bytes(&self, bytes: &[u8]) {
        let all = [&self.sent, &self.completed, &self.errors, &self.refused, &self.open, &self.in_flight];
        for (from, value) in bytes.chunks_exact(8).zip(all) {
            value.store(u64::from_ne_bytes(std::array::from_fn(|i| from[i])), Ordering::Relaxed);
        }
    }

    /// Adds the published counts to a progress report.
    pub(crate) fn add_to(&self, tick: &mut Tick) {
        tick.sent += self.sent.load(Ordering::Relaxed);
        tick.completed += self.completed.load(Ordering::Relaxed);
        tick.errors += self.errors.load(Ordering::Relaxed);
        tick.refused += self.refused.load(Ordering::Relaxed);
        tick.open += self.open.load(Ordering::Relaxed);
        tick.in_flight += self.in_flight.load(Ordering::Relaxed);
    }
}

/// Runs one shard (generator thread), which starts now, to its end. Returns the shard's result.
pub(crate) fn run<D: Driver>(
    driver: &mut D,
    client: &dyn AnyClient,
    task: Task,
    show: &LiveCounts,
    order: &dyn Fn(u64, Phase) -> Order,
) -> Result<LoadPart, Errno> {
    let slots = task.slots;
    run_with(driver, Core::new(task, client), slots, show, order)
}

/// Runs one shard (generator thread) to its end, and returns its result. If `slots` is true, the thread publishes its
/// counts more often, at [`SLOT_PUBLISH_INTERVAL_NS`]. In every pass of the event loop, `order` is called with the
/// driver's time and the current phase. `order` is a trait object because, with a type parameter, the loop would be
/// compiled once per caller.
pub(crate) fn run_with<D: Driver>(
    driver: &mut D,
    mut core: Core,
    slots: bool,
    show: &LiveCounts,
    order: &dyn Fn(u64, Phase) -> Order,
) -> Result<LoadPart, Errno> {
    let show_ns = if slots { SLOT_PUBLISH_INTERVAL_NS } else { PUBLISH_INTERVAL_NS };
    let mut phase = Phase::WarmUp;
    let (mut show_at, mut detail_at, mut factor) = (0, 0, 1.0);
    // The driver last read its clock when it was created, so the clock is read again before the load starts.
    driver.ops().refresh();
    core.start(driver.ops());
    loop {
        let now = driver.ops().refresh();
        core.pass(now);
        let current = order(now, phase);
        if current.phase != phase {
            phase = current.phase;
            core.enter(driver.ops(), phase, current.at_ns);
        }
        if current.factor != factor {
            factor = current.factor;
            core.change_rate(now, factor);
        }
        core.advance(driver.ops());
        if now >= show_at {
            show.publish(&core);
            show_at = now + show_ns;
            if slots || now >= detail_at {
                core.retune(now);
            }
            if now >= detail_at {
                show.publish_detail(&core);
                detail_at = now + DETAIL_INTERVAL_NS;
            }
        }
        if current.stop || core.drained(now) {
            break;
        }
        let early = if D::WAKES_LATE { core.early_ns() } else { 0 };
        // Shortly before a due time, the loop polls instead of sleeping, because a sleeping thread wakes up late.
        let until =
            core.next_ns().saturating_sub(early).min(core.drain_end_ns()).min(now + MAX_WAIT_NS).min(current.next_ns);
        core.sleeps(until);
        let mut edge_ns = current.next_ns;
        driver.wait(until, core.batch(), |ops, completion| {
            if ops.now() >= edge_ns {
                // The phase began while this thread had no CPU, so this event and all later events belong to the new
                // phase.
                edge_ns = u64::MAX;
                let current = order(ops.now(), phase);
                core.edge(current.phase, current.at_ns, ops.now());
            }
            core.on(ops, completion);
        })?;
    }
    // The last counts of the live view include the answers of the drain.
    show.publish(&core);
    show.publish_detail(&core);
    let part = core.finish(driver.ops());
    Ok(part)
}
