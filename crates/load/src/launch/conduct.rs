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
/// Time from the start of a warm-up during which progress reports are more frequent, seconds. After 0.6 s, the reader
/// of the reports knows the rates in six periods of 0.1 s, so frequent reports are no longer needed.
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
    let begin = Instant::now();
    let (mut next_tick, mut next_detail) = (begin + FINE_TICK_INTERVAL, begin + DETAIL_INTERVAL);
    let (mut merged, mut ended) = (LoadPart::default(), 0);
    let mut failure = None;
    let mut listening = true;
    while ended < common.plan.threads.max(1) as usize {
        let left = next_tick.saturating_duration_since(Instant::now());
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
            take(part, &mut merged, &mut ended, &mut failure);
        }
        while let Ok(part) = parts.try_recv() {
            take(part, &mut merged, &mut ended, &mut failure);
        }
        if failure.is_some() {
            common.orders.stop();
        }
        let now = Instant::now();
        if now >= next_tick {
            let tick = tick(common, phase);
            next_tick +=
                if phase == Phase::WarmUp && tick.t_s < FINE_TICKS_S { FINE_TICK_INTERVAL } else { TICK_INTERVAL };
            let detail = (now >= next_detail).then(|| Box::new(detail(common)));
            next_detail += if detail.is_some() { DETAIL_INTERVAL } else { Duration::ZERO };
            report(AgentReport::Tick(Tick { detail, ..tick }));
        }
    }
    // The last report has the final counts, which include the answers of the drain.
    let detail = Some(Box::new(detail(common)));
    report(AgentReport::Tick(Tick { detail, ..tick(common, phase) }));
    failure.map_or(Ok(merged), Err)
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

fn take(
    (_, part): (u32, Result<LoadPart, LoadError>),
    merged: &mut LoadPart,
    ended: &mut usize,
    failure: &mut Option<LoadError>,
) {
    *ended += 1;
    match part {
        Ok(part) => merged.merge(part),
        Err(e) => {
            failure.get_or_insert(e);
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
