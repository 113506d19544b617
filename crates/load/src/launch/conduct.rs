//! Conducts a running load: forwards commands to its shards (generator threads), and reports their progress.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use run::{AgentCommand, AgentReport, DETAIL_INTERVAL, LoadPart, Phase, TICK_INTERVAL, Tick, TickDetail};
use sys::clock;

use super::context::LoadContext;
use crate::LoadError;
use crate::shard::{MAX_WAIT_NS, Orders};

/// Interval between progress reports during the first [`FINE_TICKS_S`] of the warm-up.
const FINE_TICK_INTERVAL: Duration = Duration::from_millis(5);
/// Time from the start of a warm-up during which progress reports are more frequent, seconds. After 0.6 s, rates in six
/// periods of 0.1 s are known, so frequent reports are no longer needed.
pub const FINE_TICKS_S: f64 = 0.6;
/// Maximum time to wait for a command before other events are handled. The wait ends at once when a command arrives.
const COMMAND_WAIT: Duration = Duration::from_millis(10);
/// Maximum time to wait for a command during the drain, when results of shards (generator threads) are about to arrive.
const DRAIN_COMMAND_WAIT: Duration = Duration::from_millis(1);

/// Channel with the results of the shards (generator threads). Each result comes with the number of its shard
/// (generator thread).
pub(super) type Parts = Receiver<(u32, Result<LoadPart, LoadError>)>;

/// Forwards commands and reports progress, until all shards (generator threads) have ended. Returns the merged results
/// of all shards.
pub(super) fn conduct(
    common: &LoadContext,
    control: &Receiver<AgentCommand>,
    parts: &Parts,
    report: &mut dyn FnMut(AgentReport),
) -> Result<LoadPart, LoadError> {
    let mut phase = Phase::WarmUp;
    let mut times = ReportTimes::new();
    let mut collected = Collected::default();
    let mut listening = true;
    while collected.ended < common.plan.threads.max(1) as usize {
        let left = times.next_tick.saturating_duration_since(Instant::now());
        let look = if phase == Phase::Drain { DRAIN_COMMAND_WAIT } else { COMMAND_WAIT };
        if listening {
            // The loop waits on the channel of commands, so a phase starts without delay.
            match control.recv_timeout(left.min(look)) {
                Ok(command) => phase = order(&common.orders, command, phase),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    common.orders.stop();
                    listening = false;
                }
            }
        } else if let Ok(part) = parts.recv_timeout(left) {
            collected.take(part);
        }
        parts.try_iter().for_each(|part| collected.take(part));
        if collected.failure.is_some() {
            common.orders.stop();
        }
        times.report_if_due(common, phase, report);
    }
    // The last report has the final counts, which include the answers of the drain.
    let detail = Some(Box::new(detail(common)));
    report(AgentReport::Tick(Tick { detail, ..tick(common, phase) }));
    collected.failure.map_or(Ok(collected.merged), Err)
}

/// Times of the next progress reports.
struct ReportTimes {
    next_tick: Instant,
    next_detail: Instant,
}

impl ReportTimes {
    fn new() -> Self {
        let begin = Instant::now();
        Self { next_tick: begin + FINE_TICK_INTERVAL, next_detail: begin + DETAIL_INTERVAL }
    }

    /// Reports the progress if the time for it has come.
    fn report_if_due(&mut self, common: &LoadContext, phase: Phase, report: &mut dyn FnMut(AgentReport)) {
        let now = Instant::now();
        if now < self.next_tick {
            return;
        }
        let tick = tick(common, phase);
        let is_fine = phase == Phase::WarmUp && tick.t_s < FINE_TICKS_S;
        self.next_tick += if is_fine { FINE_TICK_INTERVAL } else { TICK_INTERVAL };
        let detail = (now >= self.next_detail).then(|| Box::new(detail(common)));
        self.next_detail += if detail.is_some() { DETAIL_INTERVAL } else { Duration::ZERO };
        report(AgentReport::Tick(Tick { detail, ..tick }));
    }
}

/// Forwards a command to the shards (generator threads). Returns the load's phase after the command.
fn order(orders: &Orders, command: AgentCommand, phase: Phase) -> Phase {
    match command {
        AgentCommand::Enter { phase: next, at_ns } => {
            if next != phase {
                let soonest = clock::monotonic_ns() + MAX_WAIT_NS + 500_000;
                orders.enter(next, at_ns.map_or(soonest, |at| at.max(soonest)));
            }
            return next;
        }
        AgentCommand::Rate { factor } => orders.rate(factor),
        AgentCommand::Stop => orders.stop(),
        _ => {}
    }
    phase
}

/// Results of the shards (generator threads) that have ended.
#[derive(Default)]
struct Collected {
    merged: LoadPart,
    ended: usize,
    /// First failure of a shard (generator thread).
    failure: Option<LoadError>,
}

impl Collected {
    fn take(&mut self, (_, part): (u32, Result<LoadPart, LoadError>)) {
        self.ended += 1;
        match part {
            Ok(part) => self.merged.merge(part),
            Err(e) => {
                self.failure.get_or_insert(e);
            }
        }
    }
}

fn detail(common: &LoadContext) -> TickDetail {
    let mut sum = TickDetail::default();
    common.shows.iter().for_each(|show| sum.merge(&show.detail()));
    sum
}

/// Returns the progress of all shards (generator threads) together.
pub(super) fn tick(common: &LoadContext, phase: Phase) -> Tick {
    let mut tick = Tick { phase, ..Tick::default() };
    common.shows.iter().for_each(|show| show.add_to(&mut tick));
    // The time of the tick is read after the counts. If the time of a progress report is before the start of the load,
    // all its counts are from before the start, too.
    let t_ns = clock::monotonic_ns() as i64 - common.begin.origin_ns() as i64;
    tick.t_s = t_ns as f64 / 1e9;
    tick
}

/// Waits until the thread that watches the slots (short periods of an experiment) has ended, which may be after the end
/// of the load. Does not wait for the thread that watches the slots if the load is stopped.
pub(super) fn wait_for_slots<T>(slots: &std::thread::JoinHandle<T>, orders: &Orders, control: &Receiver<AgentCommand>) {
    while !slots.is_finished() {
        let heard = control.recv_timeout(COMMAND_WAIT);
        if matches!(heard, Ok(AgentCommand::Stop) | Err(RecvTimeoutError::Disconnected)) {
            return orders.stop();
        }
    }
}
