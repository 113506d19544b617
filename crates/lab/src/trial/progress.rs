//! Ticks (progress reports) of all load agents. Computes the number of completed requests at any moment of a load test.

mod silence;

use run::{Moment, Stage, Tick, TickDetail};

use crate::agents::MAX_CLOCK_SKEW_S;
use crate::trial::snapshots::Snapshots;

/// Ticks (progress reports) of each agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    ticks: Vec<Vec<Tick>>,
    /// Newest detailed progress report of each agent: failures and response times.
    details: Vec<TickDetail>,
    stretches: Snapshots,
}

/// Requests per second in each step (short interval) of a measurement.
pub(crate) struct Series {
    /// Width of a step, seconds.
    pub(crate) step_s: f64,
    pub(crate) completed: Vec<f64>,
    /// Requests per second that failed or were refused; empty if there were none.
    pub(crate) failed: Vec<f64>,
    /// Answers per second with an unexpected status; empty if there were none.
    pub(crate) refused: Vec<f64>,
}

/// Width of a step of the rate series, seconds.
pub(crate) const STEP_S: f64 = run::TENTH_S;

/// Maximum number of steps in a series. A measurement of ten minutes has the maximum number of steps if each step is a
/// tenth of a second. A longer measurement has wider steps.
const MAX_STEPS: f64 = 6_000.0;
/// Maximum number of ticks kept per agent: more than an hour at ten per second. If an agent sends more ticks, [`thin`]
/// drops some of them.
const MAX_TICKS: usize = 40_000;

/// Possible widths of a step, seconds, in the series that shows how a load becomes steady. The series uses the first
/// width that gives enough completed requests per step, or otherwise [`STEP_S`].
const FINE_STEPS_S: [f64; 4] = [0.005, 0.01, 0.02, 0.05];
/// Minimum number of completed requests in a step. A count of 50 has a random error of a seventh.
const MIN_REQUESTS_PER_STEP: f64 = 50.0;

impl Progress {
    pub(crate) fn new(agents: usize) -> Self {
        Self { ticks: vec![Vec::new(); agents], details: vec![TickDetail::default(); agents], ..Self::default() }
    }

    /// Takes a tick (progress report) of an agent, which arrived at `now_s`. Drops a tick with an impossible time. The
    /// series of rates has a value for every tenth of a second up to the last tick. A tick with a time in the far
    /// future would therefore make the series too long.
    pub(crate) fn push(&mut self, agent: usize, mut tick: Tick, now_s: f64) {
        let Some((ticks, detail)) = self.ticks.get_mut(agent).zip(self.details.get_mut(agent)) else { return };
        let since_s = ticks.last().map_or(f64::NEG_INFINITY, |last| last.t_s);
        if tick.t_s >= since_s && tick.t_s < now_s + MAX_CLOCK_SKEW_S {
            let newer = tick.detail.take().map(|newest| *detail = *newest).is_some();
            ticks.push(tick);
            if ticks.len() >= MAX_TICKS {
                thin(ticks);
            }
            if newer && self.stretches.due(now_s) {
                self.stretches.push(now_s, self.detail());
            }
        }
    }

    /// Divides a measurement of `window_s` seconds, which begins now, into stretches (short parts). From now on, a
    /// snapshot is taken at the end of each stretch.
    pub(crate) fn stretch(&mut self, now_s: f64, window_s: f64, stages: &[Stage]) {
        self.stretches = Snapshots::begin(now_s, (window_s, stages), self.detail());
    }

    /// Returns the stretches of the measurement that ended before `until_s`; empty if agents report no details.
    pub(crate) fn moments(&self, until_s: f64) -> Vec<Moment> {
        self.stretches.moments(until_s)
    }

    /// Returns the memory that the reports use, bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        let ticks: usize = self.ticks.iter().map(|ticks| ticks.capacity() * size_of::<Tick>()).sum();
        ticks + self.stretches.bytes()
    }

    /// Returns the failures of each kind and the response times so far, summed over all agents.
    pub(crate) fn detail(&self) -> TickDetail {
        let mut sum = TickDetail::default();
        self.details.iter().for_each(|detail| sum.merge(detail));
        sum
    }

    /// Returns the newest tick (progress report) of an agent.
    pub(crate) fn last(&self, agent: usize) -> Option<&Tick> {
        self.ticks.get(agent)?.last()
    }

    /// Returns the latest time up to which every agent has reported, seconds since the start of the load.
    pub(crate) fn known_until(&self) -> f64 {
        let last = self.ticks.iter().map(|t| t.last().map_or(0.0, |t| t.t_s));
        last.reduce(f64::min).unwrap_or(0.0)
    }

    /// Returns the sums of all agents' newest ticks (progress reports).
    pub(crate) fn now(&self) -> Tick {
        self.ticks.iter().filter_map(|t| t.last()).fold(Tick::default(), |sum, t| Tick {
            t_s: sum.t_s.max(t.t_s),
            phase: t.phase,
            sent: sum.sent.saturating_add(t.sent),
            completed: sum.completed.saturating_add(t.completed),
            errors: sum.errors.saturating_add(t.errors),
            refused: sum.refused.saturating_add(t.refused),
            open: sum.open.saturating_add(t.open),
            in_flight: sum.in_flight.saturating_add(t.in_flight),
            detail: None,
        })
    }

    /// Returns completed requests per second in each tenth of a second from `begin_s` to `end_s`.
    pub(crate) fn rates(&self, begin_s: f64, end_s: f64) -> Vec<f64> {
        self.rates_by(STEP_S, (begin_s, end_s), completed)
    }

    /// Returns the series of a measurement in steps of a tenth of a second. For long measurements, the width of a step
    /// is doubled until there are at most [`MAX_STEPS`] steps. Without any tick, all rates are unknown, so the series
    /// is empty. For example, a simulated load (`--io sim`) sends no ticks.
    pub(crate) fn series(&self, begin_s: f64, end_s: f64) -> Series {
        let wider = |step_s: &f64| Some(2.0 * step_s).filter(|_| end_s - begin_s > MAX_STEPS * step_s);
        let step_s = std::iter::successors(Some(STEP_S), wider).last().unwrap_or(STEP_S);
        let is_known = self.ticks.iter().any(|ticks| !ticks.is_empty());
        let of = |count| if is_known { self.rates_by(step_s, (begin_s, end_s), count) } else { Vec::new() };
        let some = |rates: Vec<f64>| if rates.iter().any(|rate| *rate > 0.0) { rates } else { Vec::new() };
        Series { step_s, completed: of(completed), failed: some(of(failed)), refused: some(of(refused)) }
    }

    fn rates_by(&self, step_s: f64, (begin_s, end_s): (f64, f64), count: fn(&Tick) -> f64) -> Vec<f64> {
        let steps = ((end_s - begin_s) / step_s + 1e-9).floor().max(0.0) as usize;
        let sum = |i: usize| self.sum_at(begin_s + i as f64 * step_s, count);
        (0..steps).map(|i| run::six_digits((sum(i + 1) - sum(i)) / step_s)).collect()
    }

    /// Returns completed requests per second since the start of the load, in the narrowest steps that have enough
    /// completed requests. The returned series shows how the load becomes steady.
    pub(crate) fn settling(&self) -> Vec<f64> {
        let until_s = self.known_until();
        let per_s = self.completed_at(until_s) / until_s.max(STEP_S);
        let fine = until_s < load::FINE_TICKS_S && self.ticks.iter().all(|ticks| fine(ticks));
        let enough = |step_s: &&f64| fine && per_s * **step_s >= MIN_REQUESTS_PER_STEP;
        self.rates_by(*FINE_STEPS_S.iter().find(enough).unwrap_or(&STEP_S), (0.0, until_s), completed)
    }

    /// Returns the number of requests that all agents together completed until a moment, interpolated between ticks.
    fn completed_at(&self, t_s: f64) -> f64 {
        self.sum_at(t_s, completed)
    }

    fn sum_at(&self, t_s: f64, count: fn(&Tick) -> f64) -> f64 {
        self.ticks.iter().map(|ticks| interpolate(ticks, t_s, count)).sum()
    }
}

/// Drops every second tick (progress report) in which requests were completed. Keeps ticks without completed requests,
/// so an old standstill keeps its length. If too many ticks remain, also drops every second tick of all remaining
/// ticks.
fn thin(ticks: &mut Vec<Tick>) {
    let same = |t: &[Tick]| t[0].completed == t[1].completed || t[1].completed == t[2].completed;
    let still: Vec<bool> = ticks.windows(3).map(same).collect();
    every_second(ticks, |at| at.checked_sub(1).and_then(|i| still.get(i)).is_none_or(|still| *still));
    if ticks.len() > MAX_TICKS * 3 / 4 {
        every_second(ticks, |_| false);
    }
}

/// Keeps the ticks at even positions, and those at odd positions that `wanted` accepts.
fn every_second(ticks: &mut Vec<Tick>, wanted: impl Fn(usize) -> bool) {
    let mut places = 0..;
    ticks.retain(|_| places.next().is_some_and(|at| at % 2 == 0 || wanted(at)));
}

/// Returns true if an agent sent more than about thirty ticks per second on average.
fn fine(ticks: &[Tick]) -> bool {
    ticks.len() >= 2 && ticks.last().is_some_and(|last| last.t_s < 0.03 * ticks.len() as f64)
}

fn completed(t: &Tick) -> f64 {
    t.completed as f64
}

fn errors(t: &Tick) -> f64 {
    t.errors as f64
}

fn refused(t: &Tick) -> f64 {
    t.refused as f64
}

fn failed(t: &Tick) -> f64 {
    errors(t) + refused(t)
}

fn in_flight(t: &Tick) -> f64 {
    t.in_flight as f64
}

fn interpolate(ticks: &[Tick], t_s: f64, count: fn(&Tick) -> f64) -> f64 {
    let after = ticks.partition_point(|t| t.t_s < t_s);
    let a = after.checked_sub(1).map_or((0.0, 0.0), |i| (ticks[i].t_s, count(&ticks[i])));
    let Some(b) = ticks.get(after).map(|t| (t.t_s, count(t))) else { return a.1 };
    if b.0 > a.0 { a.1 + (b.1 - a.1) * ((t_s - a.0) / (b.0 - a.0)).clamp(0.0, 1.0) } else { b.1 }
}

#[cfg(test)]
mod tests;
