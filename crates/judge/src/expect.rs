//! Whether a run is what its user expects: each expectation with its figure and interval.

use run::{Expectation, Expected, Findings, Hist, Run, Trial};

use crate::number::{duration, finite, percent, rate};
use crate::sample::{NORMAL_95, Sample};
use crate::single::{failed_share, good, unanswered};
use crate::student::t95;

/// What came of every expectation of the plan: of the trial whose figures stand for the run; of several repeats the mean of
/// theirs.
pub(crate) fn expected(run: &Run, findings: &Findings) -> Vec<Expected> {
    let trial = findings.picks.loaded.and_then(|at| run.trials.get(at));
    let repeats = if run.repeats().count() > 1 { crate::repeats::at_capacity(run) } else { Vec::new() };
    run.plan.expect.iter().map(|e| one(e, trial, &repeats, findings)).collect()
}

/// A figure of a trial with its interval.
fn of(trial: &Trial, figure: &str) -> (Option<f64>, Option<(f64, f64)>) {
    match figure {
        "rate" => (Some(good(trial)), rates(trial)),
        "errors" => (failed_share(trial), failures(trial)),
        _ => time(trial, figure),
    }
}

/// The mean of a figure over repeats, with the interval of how far they are apart.
fn over(repeats: &[&Trial], figure: &str) -> (Option<f64>, Option<(f64, f64)>) {
    let values: Option<Vec<f64>> = repeats.iter().map(|t| of(t, figure).0.and_then(finite)).collect();
    let Some(sample) = values.and_then(|values| Sample::of(&values)) else { return (None, None) };
    let half = t95(sample.n - 1.0) * sample.error();
    (Some(sample.mean), Some(((sample.mean - half).max(0.0), sample.mean + half)))
}

fn one(expectation: &Expectation, trial: Option<&Trial>, repeats: &[&Trial], findings: &Findings) -> Expected {
    let figure = expectation.figure.as_str();
    let (value, interval) = match figure {
        "capacity" => {
            let found = findings.capacity.as_ref().filter(|c| c.held);
            (found.map(|c| c.rate), found.and_then(|c| c.low.zip(c.high)))
        }
        _ if repeats.len() > 1 => over(repeats, figure),
        _ => trial.map_or((None, None), |t| of(t, figure)),
    };
    let value = value.and_then(finite);
    let met = value.is_some_and(|v| if expectation.at_least { v >= expectation.limit } else { v <= expectation.limit });
    let words = |v: f64| match figure {
        "capacity" | "rate" => rate(v),
        "errors" => percent(v),
        _ => duration(v),
    };
    let between = interval.map_or_else(String::new, |(l, h)| format!(" (95 % interval {} to {})", words(l), words(h)));
    let found = value.map_or_else(|| "it was not measured".into(), |v| format!("it was {}{between}", words(v)));
    Expected {
        text: expectation.text.clone(),
        value,
        low: interval.map(|i| i.0),
        high: interval.map(|i| i.1),
        met,
        found,
    }
}

/// A figure of the response time, microseconds, with the interval that the order of so many values gives a percentile.
fn time(trial: &Trial, figure: &str) -> (Option<f64>, Option<(f64, f64)>) {
    let seen = &trial.latency_us;
    if seen.count == 0 {
        return (None, None);
    }
    let (value, share) = match figure {
        "p50" => (seen.p50, 0.5),
        "p99" => (seen.p99, 0.99),
        "p99.9" => (seen.p99_9, 0.999),
        _ => return (Some(seen.mean), trial.histograms.get("response").and_then(means)),
    };
    let half = NORMAL_95 * (share * (1.0 - share) / seen.count as f64).sqrt();
    // Of too few requests the order says nothing of how large it may be.
    let hist = trial.histograms.get("response").filter(|h| !h.is_empty() && share + half < 1.0);
    (Some(value), hist.map(|h| (h.quantile_us(share - half), h.quantile_us(share + half))))
}

/// Interval of a mean response time, microseconds, of so many requests.
fn means(hist: &Hist) -> Option<(f64, f64)> {
    let half_us = NORMAL_95 * hist.histogram().stdev() / 1e3 / (hist.len() as f64).sqrt();
    (hist.len() > 1).then(|| (hist.mean_us() - half_us, hist.mean_us() + half_us))
}

/// Interval of a rate of good answers by how far the parts of the window are apart.
fn rates(trial: &Trial) -> Option<(f64, f64)> {
    let parts = &trial.measured.series_completed;
    let half = t95(parts.len() as f64 - 1.0) * Sample::of(parts)?.error();
    let rate = good(trial);
    (parts.len() > 2 && half.is_finite()).then(|| ((rate - half).max(0.0), rate + half))
}

/// Interval of a share of failures (Wilson 1927), which has one where nothing failed, too.
fn failures(trial: &Trial) -> Option<(f64, f64)> {
    let tally = &trial.measured.tally;
    let n = (tally.completed + tally.error_count()) as f64 + unanswered(trial);
    let (share, z2) = (failed_share(trial)?, NORMAL_95 * NORMAL_95 / n);
    let half = NORMAL_95 * (share * (1.0 - share) / n + z2 / (4.0 * n)).sqrt();
    (n > 0.0).then(|| (((share + z2 / 2.0 - half) / (1.0 + z2)).max(0.0), (share + z2 / 2.0 + half) / (1.0 + z2)))
}

#[cfg(test)]
mod tests {
    use run::{Expectation, Failure};

    use super::*;

    /// The best of several repeats must not hide the others.
    #[test]
    fn of_repeats_the_mean_is_held_against_what_is_expected() {
        let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).rates(&[]).run();
        let template = run.trials.pop().unwrap();
        let expect = |text: &str| Expectation::parse(text, |_, v| v.parse().map_err(|_| String::new())).unwrap();
        run.plan.expect = ["p99<20000", "p99<60000"].map(expect).into();
        run.trials = [50e3, 51e3, 10e3, 49e3, 50e3]
            .into_iter()
            .zip(0..)
            .map(|(p99, repeat)| {
                let mut trial = run::Trial { repeat, kind: run::TrialKind::Fixed, ..template.clone() };
                trial.latency_us.p99 = p99;
                trial.rates.completed_rate += if p99 < 20e3 { 100.0 } else { 0.0 };
                trial
            })
            .collect();
        crate::judge(&mut run);
        let [tight, loose] = &run.findings.expected[..] else { unreachable!("{:?}", run.findings.expected) };
        assert!(!tight.met && (tight.value.unwrap() - 42e3).abs() < 1.0 && tight.high.unwrap() > 60e3, "{tight:?}");
        assert!(loose.met, "{loose:?}");
    }

    #[test]
    fn every_figure_that_can_be_expected_has_an_interval() {
        let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).run();
        let expect = |text: &str| Expectation::parse(text, |_, v| v.parse().map_err(|_| String::new())).unwrap();
        run.plan.expect = ["p50<1", "p99<1", "mean<1", "rate>1e9", "errors<0"].map(expect).into();
        for trial in &mut run.trials {
            let mut hist = Hist::new();
            (1..=400u64).for_each(|us| hist.record_ns(us * 1000));
            trial.latency_us = hist.summary();
            trial.histograms.insert("response".into(), hist);
            trial.measured.series_completed = vec![190.0, 210.0, 195.0, 205.0];
        }
        crate::judge(&mut run);
        for e in &run.findings.expected {
            let (value, low, high) = (e.value.unwrap(), e.low, e.high);
            assert!(low.is_some_and(|low| low <= value) && high.is_some_and(|high| value < high), "{e:?}");
        }
        let mean = &run.findings.expected[2];
        // A standard deviation of 115 us over the root of 400.
        assert!((mean.high.unwrap() - mean.low.unwrap() - 2.0 * 11.3).abs() < 0.5, "{mean:?}");
        let errors = &run.findings.expected[4];
        assert!(errors.value == Some(0.0) && errors.high.unwrap() > 0.0, "{errors:?}");
    }

    #[test]
    fn what_is_not_met_is_named_with_its_figure_and_fails_the_run() {
        let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).run();
        let expect = |text: &str| Expectation::parse(text, |_, v| v.parse().map_err(|_| String::new())).unwrap();
        run.plan.expect = vec![expect("capacity>=100"), expect("p99<1e9")];
        crate::judge(&mut run);
        assert!(run.findings.expected.iter().all(|e| e.met), "{:?}", run.findings.expected);
        assert_eq!(run.findings.failure, None);
        run.plan.expect.push(expect("rate>1e9"));
        crate::judge(&mut run);
        let last = run.findings.expected.last().unwrap();
        assert!(!last.met && last.found.contains("/s"), "{last:?}");
        assert_eq!(run.findings.failure, Some(Failure::Expectation));
    }
}
