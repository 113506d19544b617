//! What a good answer is, in figures, and whether a trial held it. Lab's search and the findings use the same words.

use run::{Run, Trial, TrialKind};

use crate::number::{duration, percent, positive, ratio};

/// The objective in figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Longest 99th percentile of the response time, microseconds; absent while the unloaded one is not known.
    pub p99_us: Option<f64>,
    /// Largest share of requests that may fail, 0 to 1.
    pub errors: f64,
    /// Both in words: `p99 <= 20.0 ms and errors <= 0.100 %`.
    pub text: String,
}

/// How much longer than unloaded a response may take when the user names no limit.
const TIMES_UNLOADED: f64 = 10.0;
/// A first step of the search below this share of the sweep's highest rate shows what a request meets without load.
const LIGHT: f64 = 0.1;
/// Fewest response times of which a 99th percentile is one.
const ENOUGH: u64 = 500;

/// The objective of a run: what the plan asks for; without a limit of its own, 10 times the unloaded 99th percentile.
pub fn limits(run: &Run) -> Limits {
    let asked = run.plan.objective.p99_us.and_then(positive);
    let steps: Vec<&Trial> =
        run.trials.iter().filter(|t| matches!(t.kind, TrialKind::Sweep | TrialKind::Experiment)).collect();
    let several = crate::facts::several_sizes(run);
    let unloaded = || [light_p99_us(run), unloaded_p99_us(&steps)].into_iter().flatten().reduce(f64::max);
    let p99_us = asked.or_else(|| unloaded().filter(|_| !several).map(|p| p * TIMES_UNLOADED));
    let errors = run.plan.objective.errors;
    let p99 = match (asked, p99_us) {
        (Some(limit), _) => format!("p99 <= {}", duration(limit)),
        (None, Some(limit)) => format!("p99 <= {} ({TIMES_UNLOADED} times the unloaded one)", duration(limit)),
        (None, None) if several => "no limit on p99 (requests of several sizes)".into(),
        (None, None) => "no limit on p99 (no unloaded trial)".into(),
    };
    Limits { p99_us, errors, text: format!("{p99} and errors <= {}", percent(errors)) }
}

/// The 99th percentile of arrivals at any moment under next to no load, if the search began with such a step.
fn light_p99_us(run: &Run) -> Option<f64> {
    let of = |kind| run.trials.iter().filter(move |t| t.kind == kind);
    let best = of(TrialKind::Sweep).map(|t| t.rates.completed_rate).fold(0.0, f64::max);
    let first = of(TrialKind::Search).next()?;
    let light = first.rates.offered_rate <= LIGHT * best && first.latency_us.count >= ENOUGH;
    positive(first.latency_us.p99).filter(|_| light)
}

/// The same from closed clients, which is all there is before the search. The search has arrivals at any moment, and a
/// closed client that a pause of the machine held up sends nothing meanwhile, so its own percentile hides the pause; the
/// better of the two lightest steps is taken, since one of them may have been disturbed.
fn unloaded_p99_us(steps: &[&Trial]) -> Option<f64> {
    let first = lightest(steps)?;
    let rest: Vec<&Trial> = steps.iter().copied().filter(|t| !std::ptr::eq(*t, first)).collect();
    let second = lightest(&rest).filter(|_| !first.histograms.is_empty());
    let met = |t: &Trial| {
        let wait = t.histograms.get("response").map_or(0.0, |h| h.wait_of_arrivals_us(0.99));
        positive(t.latency_us.p99.max(wait))
    };
    [Some(first), second].into_iter().flatten().filter_map(met).min_by(f64::total_cmp)
}

/// The step with the fewest clients that has a response time.
pub(crate) fn lightest<'a>(steps: &[&'a Trial]) -> Option<&'a Trial> {
    let usable =
        steps.iter().filter(|t| positive(t.rates.completed_rate).is_some() && positive(t.latency_us.p50).is_some());
    usable.copied().min_by(|a, b| crate::facts::clients(a).total_cmp(&crate::facts::clients(b)))
}

/// Share of the measured requests that failed: errors, unexpected answers, and none at all. 1 when nothing was measured.
pub(crate) fn error_share(trial: &Trial) -> f64 {
    let t = &trial.measured.tally;
    let failed = t.error_count() as f64 + t.unexpected_status as f64 + t.unanswered as f64;
    let connects = t.attempted.saturating_sub(t.connected) as f64;
    let all = (t.completed as f64 + t.error_count() as f64 + t.unanswered as f64).max(connects.min(failed));
    ratio(failed, all).map_or(1.0, |s| s.clamp(0.0, 1.0))
}

/// Whether only pauses broke the objective: a queue that load has made delays one request in ten nearly as much as one
/// in a hundred (2 to 1 where waits are exponential), while a pause of a machine delays few, and those by much.
pub fn paused(trial: &Trial, limits: &Limits) -> bool {
    let (p90, p99) = (trial.latency_us.p90, trial.latency_us.p99);
    let all_else = Limits { p99_us: None, ..limits.clone() };
    holds(trial, limits).is_err() && holds(trial, &all_else).is_ok() && p90 < p99 / 4.0
}

/// Whether a trial held the objective; the error says what was seen instead, with figures.
pub fn holds(trial: &Trial, limits: &Limits) -> Result<(), String> {
    if positive(trial.rates.completed_rate).is_none() {
        return Err("nothing completed".into());
    }
    let errors = error_share(trial);
    if errors > limits.errors {
        return Err(format!("{} of the requests failed", percent(errors)));
    }
    let (offered, completed) = (trial.rates.offered_rate, trial.rates.completed_rate);
    if completed < 0.9 * offered && matches!(trial.intensity, run::Intensity::Open { .. }) {
        return Err(format!("{} of the offered load was completed", percent(completed / offered)));
    }
    match limits.p99_us {
        Some(limit) if trial.latency_us.p99 > limit => Err(format!("p99 was {}", duration(trial.latency_us.p99))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Intensity, Rates, Summary};

    fn trial(p99: f64, completed: u64, failed: u64) -> Trial {
        let mut t = Trial { kind: TrialKind::Sweep, ..Trial::default() };
        t.rates = Rates { completed_rate: completed as f64, offered_rate: completed as f64, ..Rates::default() };
        t.latency_us = Summary { p50: p99 / 2.0, p99, count: completed, ..Summary::default() };
        t.measured.tally.completed = completed;
        t.measured.tally.unexpected_status = failed;
        t
    }

    #[test]
    fn without_a_limit_ten_times_the_unloaded_counts() {
        let run = Run { trials: vec![trial(100.0, 1000, 0)], ..Run::default() };
        let limits = limits(&run);
        assert_eq!(limits.p99_us, Some(1000.0));
        assert!(holds(&trial(1000.0, 1000, 1), &limits).is_ok());
        assert!(holds(&trial(1001.0, 1000, 0), &limits).is_err());
        assert!(holds(&trial(10.0, 1000, 2), &limits).unwrap_err().contains("0.200 %"));
        assert!(holds(&trial(10.0, 0, 0), &limits).is_err());
    }

    fn offered(rate: f64, p99: f64) -> Trial {
        let mut t = trial(p99, rate as u64, 0);
        t.kind = TrialKind::Search;
        t.latency_us.p90 = p99 / 2.0;
        t
    }

    #[test]
    fn arrivals_under_next_to_no_load_count_if_the_search_began_with_them() {
        let of = |first| {
            let trials = vec![trial(100.0, 10_000, 0), first, offered(8000.0, 9000.0)];
            limits(&Run { trials, ..Run::default() }).p99_us
        };
        assert_eq!(of(offered(600.0, 300.0)), Some(3000.0));
        assert_eq!(of(offered(600.0, 50.0)), Some(1000.0), "a quiet second is no reason to ask for more");
        assert_eq!(of(offered(400.0, 300.0)), Some(1000.0), "too few for a percentile");
        assert_eq!(of(offered(1100.0, 300.0)), Some(1000.0), "a load");
    }

    #[test]
    fn a_pause_is_told_from_a_queue() {
        let limits = limits(&Run { trials: vec![trial(100.0, 1000, 0)], ..Run::default() });
        let broken = |p90: f64| Trial {
            latency_us: Summary { p90, ..offered(500.0, 4000.0).latency_us },
            ..offered(500.0, 4000.0)
        };
        assert!(paused(&broken(900.0), &limits) && !paused(&broken(2000.0), &limits));
        let mut failing = broken(900.0);
        failing.measured.tally.unexpected_status = 100;
        assert!(!paused(&failing, &limits), "errors are no pause");
        assert!(!paused(&offered(500.0, 900.0), &limits), "it held");
    }

    #[test]
    fn an_open_loop_that_falls_behind_does_not_hold() {
        let mut t = trial(10.0, 800, 0);
        t.intensity = Intensity::Open { rate: 1000.0, arrival: run::Arrival::Poisson, max_connections: 100 };
        t.rates.offered_rate = 1000.0;
        assert!(holds(&t, &limits(&Run::default())).is_err());
    }
}
