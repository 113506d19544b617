//! Periods in which other programs took much of a machine's CPUs. The estimate of a search leaves out periods with much
//! CPU use of other programs, and pauses of the machine.

use run::{TENTH_S, Trial, TrialKind, Window};

use super::tenths::disturbed_tenths;
use crate::context::single::{closed, good};
use crate::thresholds::{CATCHES_UP, COUNTED_LOAD, OTHERS_USE, SPOILED};

/// Usual share of the CPUs that other programs take during the loads of a search. CPU time of interrupts counts as use
/// by other programs, although packets of the load also cause interrupts. Other programs disturb the search if their
/// share is well above the usual share, with and without interrupts. Some kernels also add the CPU time of an interrupt
/// to the interrupted program. If a kernel does so, the share without interrupts is too small, so a program with little
/// CPU time may remain undetected.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct UsualShare {
    /// Usual share of the CPUs that other programs and interrupts take, 0 to 1.
    share: f64,
    /// Usual share of the CPUs that other programs take, without interrupts, 0 to 1.
    without_interrupts: f64,
    /// True if other programs disturbed most of every step of the sweep, although the first disturbed step was
    /// repeated. If every step was disturbed, the sweep has no better steps, so the disturbed steps count.
    in_every_sweep_step: bool,
    /// True if other programs disturbed most of every step of the search, although the first disturbed step was
    /// repeated.
    in_every_search_step: bool,
}

impl UsualShare {
    /// Finds the usual share of the CPUs that other programs take during the loads of a search.
    pub(crate) fn of<'a>(trials: impl Iterator<Item = &'a Trial> + Clone) -> Self {
        let usual = Self {
            share: lower_quartile(trials.clone(), |t| t.measured.others.clone()),
            without_interrupts: lower_quartile(trials.clone(), without_interrupts),
            ..Self::default()
        };
        let in_every_step = |kind: TrialKind| {
            let mut steps = trials.clone().filter(|t| t.kind == kind);
            steps.clone().nth(1).is_some() && steps.all(|t| usual.spoils(t))
        };
        let in_every_sweep_step = in_every_step(TrialKind::Sweep);
        Self { in_every_sweep_step, in_every_search_step: in_every_step(TrialKind::Search), ..usual }
    }

    /// Returns true if other programs disturbed most of a step of a search. The search repeats a disturbed step,
    /// because the result of this step is useless.
    pub(crate) fn spoils(self, trial: &Trial) -> bool {
        let may_be_repeated = match trial.kind {
            TrialKind::Sweep => !self.in_every_sweep_step,
            TrialKind::Search => !self.in_every_search_step,
            TrialKind::Overload => true,
            _ => false,
        };
        // A closed loop builds up no backlog, because its clients wait for their answers.
        may_be_repeated && self.disturbs_most(trial, if closed(trial) { 0.0 } else { CATCHES_UP })
    }

    /// Returns true for an overload that other programs disturbed for at most half of its time. An overload has a
    /// backlog of requests from its start. Catching up with a backlog therefore does not count as disturbed time: the
    /// completed rate is the same with any backlog.
    pub(crate) fn shows_rate_of_overload(self, trial: &Trial) -> bool {
        trial.kind == TrialKind::Overload && !self.disturbs_most(trial, 0.0)
    }

    /// Returns true if other programs disturbed most of a trial. After a disturbance, the server catches up for
    /// `catches_up` times its length.
    fn disturbs_most(self, trial: &Trial, catches_up: f64) -> bool {
        let disturbed = disturbed_tenths(trial, &self.exceeded(trial), catches_up);
        let lost = disturbed.iter().filter(|d| **d).count();
        lost as f64 > SPOILED * disturbed.len() as f64
    }

    /// Returns the periods of a trial in which other programs took an unusual share of the CPUs, in seconds since the
    /// load began. The kernel counts CPU time in coarse ticks, so each tenth of a second is judged by the mean of this
    /// tenth and its two neighbours.
    pub(crate) fn exceeded(self, trial: &Trial) -> Vec<Window> {
        let (others, without) = (&trial.measured.others, without_interrupts(trial));
        let around =
            |shares: &[f64], at: usize| stats::average(&shares[at.saturating_sub(1)..shares.len().min(at + 2)]);
        let exceeds = |at: usize| {
            around(others, at) > self.share + OTHERS_USE && around(&without, at) > self.without_interrupts + OTHERS_USE
        };
        let begin_s = |at: usize| TENTH_S * at as f64;
        let mut periods: Vec<Window> = Vec::new();
        for at in (0..others.len()).filter(|at| exceeds(*at)) {
            match periods.last_mut().filter(|last| last.end_s >= begin_s(at) - TENTH_S / 2.0) {
                Some(last) => last.end_s = begin_s(at + 1),
                None => periods.push(Window { begin_s: begin_s(at), end_s: begin_s(at + 1) }),
            }
        }
        periods
    }

    /// Returns the total length of the periods in which other programs took an unusual share of the CPUs, within the
    /// measured window, in seconds. Also returns the CPU time that other programs took in these periods. A CPU time of
    /// 1 second means that other programs used all CPUs of the machine for 1 second.
    pub(crate) fn taken_s(self, trial: &Trial) -> (f64, f64) {
        let (periods, window) = (self.exceeded(trial), trial.measured.window);
        // The list of shares has one entry per tenth of a second, from the start of the load.
        let within = |at: usize| {
            let middle_s = TENTH_S * (at as f64 + 0.5);
            window.holds(middle_s) && periods.iter().any(|period| period.holds(middle_s))
        };
        let shares = trial.measured.others.iter().enumerate().filter(|(at, _)| within(*at));
        shares.fold((0.0, 0.0), |(length_s, cpu_s), (_, share)| (length_s + TENTH_S, cpu_s + share * TENTH_S))
    }
}

/// Returns the share of the CPUs that other programs took in each tenth of a second of a trial. The share that
/// interrupts took is subtracted.
fn without_interrupts(trial: &Trial) -> Vec<f64> {
    let interrupts = trial.measured.interrupts.iter().copied().chain(std::iter::repeat(0.0));
    trial.measured.others.iter().zip(interrupts).map(|(others, interrupts)| (others - interrupts).max(0.0)).collect()
}

/// Returns the lower quartile of a CPU share over all tenths of a second with a high load. A program that runs during
/// half of the search does not change the lower quartile. The kernel's work grows with the load, so tenths with a light
/// load are left out. `shares` returns the share in each tenth of a second of a trial.
fn lower_quartile<'a>(trials: impl Iterator<Item = &'a Trial> + Clone, shares: impl Fn(&Trial) -> Vec<f64>) -> f64 {
    let most = trials.clone().map(good).filter(|rate| rate.is_finite()).fold(0.0, f64::max);
    let loaded = trials.filter(|t| good(t) >= COUNTED_LOAD * most);
    let mut shares: Vec<f64> = loaded.flat_map(shares).collect();
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 4).copied().unwrap_or(0.0)
}

/// Returns a predicate on steps of a search. The predicate is true for a step that must be repeated because other
/// programs disturbed the step for most of its time. `trials` are all trials of the search so far.
pub fn spoiled(trials: &[Trial]) -> impl Fn(&Trial) -> bool + use<> {
    let usual = UsualShare::of(trials.iter());
    move |trial| usual.spoils(trial)
}

#[cfg(test)]
mod tests {
    use run::{Arrival, Intensity, ThinkTime};

    use super::*;

    /// Returns a trial in which other programs took the CPU shares `others`, one value per tenth of a second.
    fn trial(rate: f64, others: &[f64]) -> Trial {
        let intensity = Intensity::Open { rate, arrival: Arrival::Constant, max_connections: 1, pipeline: 1 };
        let mut trial = Trial { kind: TrialKind::Search, intensity, ..Trial::default() };
        trial.rates.completed_rate = rate;
        trial.measured.others = others.to_vec();
        trial.measured.window = Window { begin_s: 0.0, end_s: TENTH_S * others.len() as f64 };
        trial
    }

    #[test]
    fn a_burst_is_a_period_of_its_own_length() {
        let mut shares = vec![0.05; 20];
        shares[8..12].fill(0.5);
        let disturbed = trial(900.0, &shares);
        let trials = [trial(10.0, &[0.0; 50]), trial(1000.0, &[0.05; 20]), disturbed.clone()];
        let periods = UsualShare::of(trials.iter()).exceeded(&disturbed);
        assert_eq!(periods.len(), 1, "{periods:?}");
        assert!((periods[0].begin_s - 0.7).abs() < 1e-9 && (periods[0].end_s - 1.3).abs() < 1e-9, "{periods:?}");
        let (length_s, cpu_s) = UsualShare::of(trials.iter()).taken_s(&disturbed);
        assert!((length_s - 0.6).abs() < 1e-9 && (cpu_s - 0.21).abs() < 1e-9, "{length_s} {cpu_s}");
        assert!(spoiled(&trials)(&disturbed), "0.6 s of 2 s, and the backlog after it");
        let intensity = Intensity::Closed { connections: 1, pipeline: 1, think: ThinkTime::default() };
        assert!(!spoiled(&trials)(&Trial { intensity, ..disturbed }), "clients leave no backlog");
    }

    /// At a higher rate, the packets cause more interrupts, on a CPU that runs no observed program.
    #[test]
    fn interrupts_of_a_higher_rate_are_no_neighbour() {
        let with = |rate: f64, others: f64, interrupts: f64| {
            let mut trial = trial(rate, &[others; 20]);
            trial.measured.interrupts = vec![interrupts; 20];
            trial
        };
        let (low, high, beside) = (with(900.0, 0.25, 0.2), with(1400.0, 0.45, 0.4), with(1400.0, 0.65, 0.4));
        let spoils = |trial: &Trial| spoiled(&[low.clone(), low.clone(), trial.clone()])(trial);
        assert!(!spoils(&high) && spoils(&beside));
        // On some kernels, the CPU time of interrupts counts as CPU time of the interrupted server.
        let of_server = with(1400.0, 0.05, 0.4);
        assert!(!spoiled(&[of_server.clone(), of_server, high.clone()])(&high));
    }

    #[test]
    fn a_neighbour_that_is_always_there_disturbs_nothing() {
        let trials = [trial(1000.0, &[0.5; 20]), trial(1000.0, &[0.5; 20])];
        assert!(!spoiled(&trials)(&trials[0]));
        let (quiet, busy) = (trial(1000.0, &[0.02; 20]), trial(700.0, &[0.4; 10]));
        let trials = [quiet.clone(), busy.clone()];
        assert!(spoiled(&trials)(&busy) && !spoiled(&trials)(&quiet));
    }

    /// On a busy machine, other programs disturbed all steps. An earlier version of loadline repeated the first step
    /// until the end of the budget, and then had no result.
    #[test]
    fn steps_count_if_other_programs_disturbed_all_of_them() {
        let closed = |trial: Trial| {
            let intensity = Intensity::Closed { connections: 1, pipeline: 1, think: ThinkTime::default() };
            Trial { kind: TrialKind::Sweep, intensity, ..trial }
        };
        let (busy, quiet) = (trial(700.0, &[0.4; 10]), trial(700.0, &[0.02; 10]));
        let unsteady = trial(700.0, &[0.0, 0.0, 0.2, 0.5, 0.5, 0.3, 0.4, 0.7, 0.4, 0.6]);
        let sweep = closed(trial(1000.0, &[0.02; 40]));
        let is_spoiled = |trials: &[Trial], step: &Trial| spoiled(trials)(step);
        assert!(is_spoiled(&[sweep.clone(), busy.clone()], &busy), "it is repeated once");
        assert!(!is_spoiled(&[sweep.clone(), busy.clone(), busy.clone()], &busy), "no better step");
        assert!(is_spoiled(&[sweep, busy.clone(), busy.clone(), quiet], &busy), "a better step");
        let (first, second) = (closed(unsteady.clone()), closed(unsteady));
        assert!(is_spoiled(std::slice::from_ref(&first), &first) && !is_spoiled(&[first, second.clone()], &second));
    }
}
