//! One generator thread: a driver, a heart, and the loop between them.

use std::sync::atomic::{AtomicU64, Ordering};

use proto::AnyClient;
use run::{CoarseHist, ErrorKind, LoadPart, Phase, Tick, TickDetail};
use sys::Errno;

use crate::core::{Core, Task};
use crate::driver::{Driver, Ops as _};

/// Longest wait of the loop: after at most this it sees a new phase. Only an idle generator notices.
pub(crate) const LONGEST_WAIT_NS: u64 = 2_000_000;
/// How often a shard shows its counts.
const SHOW_NS: u64 = 5_000_000;
/// How often it shows what only people look at, and sets its batches anew.
const DETAIL_NS: u64 = 20_000_000;
/// The same where slots of an experiment are read from them.
const SHOW_SLOTS_NS: u64 = 200_000;

/// What a shard is told. Read in every pass, written a few times in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Order {
    pub(crate) phase: Phase,
    /// When the phase began, or the next one will.
    pub(crate) at_ns: u64,
    pub(crate) stop: bool,
    /// When the next order takes effect, as far as it is known.
    pub(crate) next_ns: u64,
    /// How many times the plan's rate is offered, since somebody changed it by hand.
    pub(crate) factor: f64,
}

/// The order of all shards, in its own cache line: phase, stop, and the moment from which it holds, in one word; and the
/// factor of the rate, as the bits of a float less those of 1.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Orders(AtomicU64, AtomicU64);

/// What a factor of the rate may be.
const FACTORS: std::ops::RangeInclusive<f64> = 0.001..=1000.0;

const STOP: u64 = 4;
const PHASE: u64 = 3;
const BITS: u32 = 3;

impl Orders {
    /// Every shard enters `phase` at `at_ns`, so that all measure the same window; more than [`LONGEST_WAIT_NS`] ahead
    /// makes sure that none sees it late.
    pub(crate) fn enter(&self, phase: Phase, at_ns: u64) {
        self.0.store(at_ns << BITS | phase as u64, Ordering::Release);
    }

    /// Every shard offers so many times the plan's rate.
    pub(crate) fn rate(&self, factor: f64) {
        if factor.is_finite() {
            let factor = factor.clamp(*FACTORS.start(), *FACTORS.end());
            self.1.store(factor.to_bits() ^ 1.0_f64.to_bits(), Ordering::Relaxed);
        }
    }

    /// Whether every shard is to stop.
    pub(crate) fn stopped(&self) -> bool {
        self.0.load(Ordering::Acquire) & STOP != 0
    }

    /// Every shard stops at once.
    pub(crate) fn stop(&self) {
        self.0.fetch_or(STOP, Ordering::Release);
    }

    /// What holds at `now`, for a shard in phase `current`.
    #[inline]
    pub(crate) fn read(&self, now: u64, current: Phase) -> Order {
        let raw = self.0.load(Ordering::Acquire);
        let at = raw >> BITS;
        let phase = match raw & PHASE {
            _ if now < at => current,
            0 => Phase::WarmUp,
            1 => Phase::Measure,
            _ => Phase::Drain,
        };
        let factor = f64::from_bits(self.1.load(Ordering::Relaxed) ^ 1.0_f64.to_bits());
        Order { phase, at_ns: at, stop: raw & STOP != 0, next_ns: if now < at { at } else { u64::MAX }, factor }
    }
}

/// What one shard shows, in cache lines that nobody else writes.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Show {
    sent: AtomicU64,
    completed: AtomicU64,
    errors: AtomicU64,
    open: AtomicU64,
    in_flight: AtomicU64,
    detail: Detail,
}

/// What a shard shows of failures by kind and of response times by bucket.
#[derive(Debug)]
struct Detail {
    errors: [AtomicU64; ErrorKind::ALL.len()],
    unexpected: AtomicU64,
    responses: [AtomicU64; CoarseHist::BUCKETS],
}

impl Default for Detail {
    fn default() -> Self {
        Self {
            errors: [const { AtomicU64::new(0) }; _],
            unexpected: AtomicU64::new(0),
            responses: [const { AtomicU64::new(0) }; _],
        }
    }
}

impl Show {
    fn publish(&self, core: &Core) {
        let counts = &core.record.counts;
        self.sent.store(counts.sent, Ordering::Relaxed);
        self.completed.store(counts.completed, Ordering::Relaxed);
        self.errors.store(counts.error_count(), Ordering::Relaxed);
        self.open.store(core.open, Ordering::Relaxed);
        self.in_flight.store(core.in_flight, Ordering::Relaxed);
    }

    /// Shows failures and response times apart.
    fn publish_detail(&self, core: &Core) {
        let store = |(to, n): (&AtomicU64, &u64)| to.store(*n, Ordering::Relaxed);
        self.detail.unexpected.store(core.record.counts.unexpected, Ordering::Relaxed);
        self.detail.errors.iter().zip(&core.record.counts.errors).for_each(store);
        self.detail.responses.iter().zip(core.record.coarse.iter()).for_each(store);
    }

    /// Failures and response times apart.
    pub(crate) fn detail(&self) -> TickDetail {
        let load = |n: &AtomicU64| n.load(Ordering::Relaxed);
        let errors = ErrorKind::ALL.into_iter().zip(self.detail.errors.iter().map(load)).filter(|(_, n)| *n > 0);
        TickDetail {
            errors: run::Errors(errors.collect()),
            unexpected: load(&self.detail.unexpected),
            responses: CoarseHist::of(self.detail.responses.iter().map(load)),
        }
    }

    /// What is shown, for another process.
    pub(crate) fn bytes(&self) -> [u8; 40] {
        let mut bytes = [0; 40];
        let all = [&self.sent, &self.completed, &self.errors, &self.open, &self.in_flight];
        for (to, value) in bytes.chunks_exact_mut(8).zip(all) {
            to.copy_from_slice(&value.load(Ordering::Relaxed).to_ne_bytes());
        }
        bytes
    }

    /// Shows what another process showed.
    pub(crate) fn take_bytes(&self, bytes: &[u8]) {
        let all = [&self.sent, &self.completed, &self.errors, &self.open, &self.in_flight];
        for (from, value) in bytes.chunks_exact(8).zip(all) {
            value.store(u64::from_ne_bytes(std::array::from_fn(|i| from[i])), Ordering::Relaxed);
        }
    }

    /// Adds what is shown to a tick.
    pub(crate) fn add_to(&self, tick: &mut Tick) {
        tick.sent += self.sent.load(Ordering::Relaxed);
        tick.completed += self.completed.load(Ordering::Relaxed);
        tick.errors += self.errors.load(Ordering::Relaxed);
        tick.open += self.open.load(Ordering::Relaxed);
        tick.in_flight += self.in_flight.load(Ordering::Relaxed);
    }
}

/// Runs one shard that begins now to its end.
pub(crate) fn run<D: Driver>(
    driver: &mut D,
    client: &dyn AnyClient,
    task: Task,
    show: &Show,
    order: &dyn Fn(u64, Phase) -> Order,
) -> Result<LoadPart, Errno> {
    let slots = task.slots;
    go(driver, Core::new(task, client), slots, show, order)
}

/// Runs one shard to its end; counts that are read in `slots` are shown more often. `order` is asked in every pass with the
/// driver's time and the phase that holds; it is no type parameter, since the loop would be compiled for each of its askers.
pub(crate) fn go<D: Driver>(
    driver: &mut D,
    mut core: Core,
    slots: bool,
    show: &Show,
    order: &dyn Fn(u64, Phase) -> Order,
) -> Result<LoadPart, Errno> {
    let show_ns = if slots { SHOW_SLOTS_NS } else { SHOW_NS };
    let mut phase = Phase::WarmUp;
    let (mut show_at, mut detail_at, mut factor) = (0, 0, 1.0);
    // The driver was made a while ago.
    driver.ops().refresh();
    core.start(driver.ops());
    loop {
        let now = driver.ops().refresh();
        core.pass(now);
        let told = order(now, phase);
        if told.phase != phase {
            phase = told.phase;
            core.enter(driver.ops(), phase, told.at_ns);
        }
        if told.factor != factor {
            factor = told.factor;
            core.turn(now, factor);
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
                detail_at = now + DETAIL_NS;
            }
        }
        if told.stop || core.drained(now) {
            break;
        }
        let early = if D::WAKES_LATE { core.early_ns() } else { 0 };
        // Awake and before the due time, the wait looks without waiting until the time has come.
        let until =
            core.next_ns().saturating_sub(early).min(core.drain_end_ns()).min(now + LONGEST_WAIT_NS).min(told.next_ns);
        core.sleeps(until);
        let mut edge_ns = told.next_ns;
        driver.wait(until, core.batch(), |ops, completion| {
            if ops.now() >= edge_ns {
                // It had no CPU until after the edge: what came meanwhile belongs to the phase that began.
                edge_ns = u64::MAX;
                let told = order(ops.now(), phase);
                core.edge(told.phase, told.at_ns, ops.now());
            }
            core.on(ops, completion);
        })?;
    }
    let part = core.finish(driver.ops());
    Ok(part)
}
