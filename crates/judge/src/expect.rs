//! Expectations of the user, each with the measured figure and its interval.
//!
//! All windows near the capacity stand for a run, whether they met the expectation or not; a window chosen because it
//! met the expectation would always meet it. Answers of one window are not independent draws, since a long queue stays
//! long. The scatter between stretches of the window says how many answers count as one draw (batch means; A. Law,
//! *Simulation Modeling and Analysis*).

use run::{
    CensoredTimes, Expectation, ExpectationResult, Findings, Hist, Run, SummaryFigure, TimeFigure, Trial, TrialKind,
    response_times,
};

use crate::number::{duration, finite, percent, rate};
use crate::repeats::{at_capacity, finished};
use crate::single::{failed_and_all, good};
use stats::student::t95;
use stats::{NORMAL_95, Sample, average};

/// Minimum rate, as a share of the capacity, at which a window of a search counts as near the capacity.
const NEAR: f64 = 0.9;
/// Number of stretches that windows are cut into.
const STRETCHES: usize = 10;

/// A figure with its interval, if known.
#[derive(Clone, Copy, Debug, Default)]
struct Figure {
    value: Option<f64>,
    low: Option<f64>,
    /// Upper end of the interval. If only `low` is set, the interval has no upper end.
    high: Option<f64>,
    /// Share of the requests that were never answered, if that makes the value a lower bound.
    lost: Option<f64>,
    /// True if every load that was tried held, so that the value is a lower bound.
    none_failed: bool,
}

impl Figure {
    fn around(value: Option<f64>, interval: Option<(f64, f64)>) -> Self {
        Self { value, low: interval.map(|i| i.0), high: interval.map(|i| i.1), ..Self::default() }
    }
}

/// Returns the result of every expectation of the plan, from the windows that stand for the run. With several repeats,
/// the mean over the repeats counts.
pub(crate) fn expected(run: &Run, findings: &Findings) -> Vec<ExpectationResult> {
    let parts: Vec<Option<Seen<'_>>> = match run.repeats().count() > 1 {
        true => {
            at_capacity(run).into_iter().map(|at| at.map(|(trials, at, rate)| Seen::near(trials, at, rate))).collect()
        }
        false => {
            let at = findings.picks.loaded.and_then(|at| run.trials.get(at));
            let rate = findings.capacity.as_ref().filter(|c| c.held).map(|c| c.rate);
            vec![at.map(|at| Seen::near(&run.trials, at, rate))]
        }
    };
    run.plan.expect.iter().map(|e| one(e, &parts, findings, finished(run).count())).collect()
}

/// Windows that represent a run or a repeat.
struct Seen<'a>(Vec<&'a Trial>);

impl<'a> Seen<'a> {
    /// Returns the windows of a search whose offered rate was near the capacity; without a search, the chosen window.
    fn near(trials: &'a [Trial], chosen: &'a Trial, capacity: Option<f64>) -> Self {
        let near = |t: &&Trial| {
            let share = t.rates.offered_rate / capacity.unwrap_or(f64::NAN);
            t.kind == TrialKind::Search && t.broken().is_none() && (NEAR..=1.0).contains(&share)
        };
        let all: Vec<&Trial> = trials.iter().filter(near).filter(|_| chosen.kind == TrialKind::Search).collect();
        Self(if all.is_empty() { vec![chosen] } else { all })
    }

    fn of(&self, figure: &str, allowed: f64) -> Figure {
        match figure {
            "rate" => self.rate(),
            "errors" => self.failed(),
            _ => self.time(figure, allowed),
        }
    }

    /// Returns the response times of all windows; `None` for an older run that kept none.
    fn responses(&self) -> Option<Hist> {
        let mut all = Hist::new();
        self.0.iter().for_each(|t| t.histograms.get("response").into_iter().for_each(|hist| all.merge(hist)));
        (!all.is_empty()).then_some(all)
    }

    /// Returns the response times of all windows, including the requests that were never answered.
    fn times(&self) -> CensoredTimes {
        let mut all = CensoredTimes::default();
        let failed = |trial: &Trial| trial.measured.tally.errors.requests();
        self.0.iter().for_each(|trial| all.merge(&response_times(&trial.histograms, failed(trial))));
        all
    }

    /// Returns the share of the requests that were never answered.
    fn lost(&self) -> f64 {
        let sum = |of: fn(&Trial) -> u64| self.0.iter().map(|t| of(t) as f64).sum::<f64>();
        let (lost, answered) = (sum(|t| t.latency_us.unanswered), sum(|t| t.latency_us.count));
        stats::number::ratio(lost, lost + answered).unwrap_or(0.0)
    }

    /// Returns a figure of the response time, microseconds. `allowed` is the share of failed requests that the
    /// objective allows. With more failures, the mean is unknown.
    fn time(&self, figure: &str, allowed: f64) -> Figure {
        let (quantile, of) = match figure {
            "p50" => (Some(0.5), SummaryFigure::P50),
            "p99" => (Some(0.99), SummaryFigure::P99),
            "p99.9" => (Some(0.999), SummaryFigure::P999),
            _ => (None, SummaryFigure::Mean),
        };
        let hist = self.responses();
        let times = hist.as_ref().map(|_| self.times());
        let several = times.as_ref().filter(|_| self.0.len() > 1);
        let found = match (several, quantile) {
            (Some(times), Some(share)) => times.percentile(share),
            (Some(times), None) => times.mean(),
            (None, _) => self.0[0].latency_us.figure(of),
        };
        let open = !matches!(found, TimeFigure::Exact(_)) && (quantile.is_some() || self.lost() > allowed);
        let lost = Some(self.lost()).filter(|_| open && found != TimeFigure::Unknown);
        let known = Figure { value: found.lowest(), lost, ..Figure::default() };
        let (Some(hist), Some(times)) = (hist, times.as_ref()) else { return known };
        match quantile {
            _ if known.value.is_none() => known,
            None if several.is_some() && lost.is_none() => Figure::around(Some(hist.mean_us()), self.mean(&hist)),
            None if lost.is_none() => Figure::around(known.value, self.mean(&hist)),
            None => known,
            Some(share) => {
                let (draws, t) = self.draws(&hist);
                let error = (share * (1.0 - share) / draws).sqrt();
                let between = found.lowest().and_then(|us| self.between_windows(us, error));
                let half = between.map_or(t * error, |between| between.max(t * error));
                let end = |q: f64| times.percentile(q);
                // With too few requests, order statistics give no bounds.
                let some = share + half < 1.0;
                let low = some.then(|| end((share - half).max(0.0)).lowest()).flatten();
                Figure { low, high: some.then(|| end(share + half).exact()).flatten(), ..known }
            }
        }
    }

    /// Returns the interval of the mean response time, microseconds.
    fn mean(&self, hist: &Hist) -> Option<(f64, f64)> {
        let (draws, t) = self.draws(hist);
        let half_us = t * hist.histogram().stdev() / 1e3 / draws.sqrt();
        (hist.len() > 1).then(|| ((hist.mean_us() - half_us).max(0.0), hist.mean_us() + half_us))
    }

    /// Returns the number of independent draws that equals all answers in precision, and the half-width of an interval
    /// in standard errors.
    fn draws(&self, hist: &Hist) -> (f64, f64) {
        let answers = hist.len() as f64;
        let stretches = self.stretches();
        let (all, took) = stretches.iter().fold((0.0, 0.0), |(n, us), (more, of)| (n + more, us + of));
        let count = stretches.len() as f64;
        let mean = took / all;
        let square = |(n, us): &(f64, f64)| (us - n * mean).powi(2);
        let error = (stretches.iter().map(square).sum::<f64>() * count / (count - 1.0)).sqrt() / all;
        let alone = hist.histogram().stdev() / 1e3 / answers.sqrt();
        let worth = (error / alone).powi(2);
        // Without counts per tenth of a second, every answer counts as a draw.
        let known = stretches.len() > 1 && worth.is_finite();
        if known { (answers / worth.max(1.0), t95(count - 1.0)) } else { (answers, NORMAL_95) }
    }

    /// Returns the half-width of the interval of the share of answers up to `us` microseconds, with windows as
    /// observations (Student's t). Returns `None` unless the windows scatter more than `error` explains: stretches of one
    /// window share its level, so they would give too narrow an interval.
    fn between_windows(&self, us: f64, error: f64) -> Option<f64> {
        let hists = self.0.iter().filter_map(|trial| trial.histograms.get("response").filter(|hist| !hist.is_empty()));
        let shares: Vec<f64> = hists.map(|hist| hist.share_within_ns((us * 1e3) as u64)).collect();
        let sample = Sample::of(&shares).filter(|sample| sample.error() > error)?;
        Some(t95(sample.n - 1.0) * sample.error()).filter(|half| half.is_finite())
    }

    /// Returns the answers of each stretch and their total time, microseconds; stretches without an answer are left out.
    fn stretches(&self) -> Vec<(f64, f64)> {
        let each = STRETCHES.div_ceil(self.0.len());
        let of = |trial: &&Trial| {
            let tenths = &trial.measured.tenths;
            let kept = if tenths.took_us.len() == tenths.answered.len() { tenths.answered.len() } else { 0 };
            let both: Vec<(u64, u64)> =
                tenths.answered.iter().copied().zip(tenths.took_us.iter().copied()).take(kept).collect();
            let sum =
                |part: &[(u64, u64)]| part.iter().fold((0.0, 0.0), |(n, us), (a, b)| (n + *a as f64, us + *b as f64));
            both.chunks(kept.div_ceil(each).max(1)).map(sum).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).filter(|(n, _)| *n > 0.0).collect()
    }

    /// Returns the rate of good answers, with an interval from the scatter of the stretches.
    fn rate(&self) -> Figure {
        let length_s: f64 = self.0.iter().map(|t| t.measured.length_s).sum();
        let rate = match length_s > 0.0 {
            true => self.0.iter().map(|t| good(t) * t.measured.length_s).sum::<f64>() / length_s,
            false => average(&self.0.iter().map(|t| good(t)).collect::<Vec<_>>()),
        };
        let each = STRETCHES.div_ceil(self.0.len());
        let of = |t: &&Trial| {
            let series = &t.measured.series_completed;
            series.chunks(series.len().div_ceil(each).max(1)).map(average).collect::<Vec<f64>>()
        };
        let parts: Vec<f64> = self.0.iter().flat_map(of).collect();
        let half = Sample::of(&parts).map(|sample| t95(sample.n - 1.0) * sample.error());
        let half = half.filter(|half| parts.len() > 2 && half.is_finite());
        Figure::around(Some(rate), half.map(|half| ((rate - half).max(0.0), rate + half)))
    }

    /// Returns the share of failures with Wilson's interval (1927), which has a width even if nothing failed.
    fn failed(&self) -> Figure {
        let counts = self.0.iter().map(|t| failed_and_all(t));
        let (failed, all) = counts.fold((0.0, 0.0), |(failed, all), (more, of)| (failed + more.min(of), all + of));
        if all <= 0.0 {
            return Figure::default();
        }
        let (draws, t) = self.responses().map_or((all, NORMAL_95), |hist| self.draws(&hist));
        let n = all.min(draws * all / (all - failed).max(1.0));
        let share = failed / all;
        let interval = stats::shares::wilson(share, n, t);
        Figure::around(Some(share), Some((interval.low, interval.high)))
    }
}

/// Returns the mean of a figure over repeats with its interval. If one repeat lacks the figure, there is no mean. If
/// one repeat has a lower bound, the mean is a lower bound.
fn over(parts: &[Option<Seen<'_>>], figure: &str, allowed: f64) -> Figure {
    let found: Vec<Figure> = parts.iter().flatten().map(|seen| seen.of(figure, allowed)).collect();
    let values: Option<Vec<f64>> = found.iter().map(|found| found.value.and_then(finite)).collect();
    let values = values.filter(|values| values.len() == parts.len());
    let Some(sample) = values.and_then(|values| Sample::of(&values)) else { return Figure::default() };
    let lost = found.iter().filter_map(|found| found.lost).reduce(f64::max);
    if lost.is_some() {
        return Figure { value: Some(sample.mean), lost, ..Figure::default() };
    }
    let half = t95(sample.n - 1.0) * sample.error();
    Figure::around(Some(sample.mean), Some(((sample.mean - half).max(0.0), sample.mean + half)))
}

/// Returns the capacity. With repeats, each must have held some rate.
fn capacity(findings: &Findings) -> Figure {
    let all = findings.repeats.iter().all(|repeat| repeat.capacity.is_some());
    let found = findings.capacity.as_ref().filter(|c| c.held && all);
    let around = Figure::around(found.map(|c| c.rate), found.and_then(|c| c.low.zip(c.high)));
    Figure { none_failed: found.is_some_and(|c| c.at_least), ..around }
}

/// Returns why a figure was not measured, if the repeats are the reason.
fn missing(parts: &[Option<Seen<'_>>], findings: &Findings, figure: &str, all: usize) -> String {
    let nothing = parts.iter().filter(|seen| seen.is_none()).count();
    let held_none = findings.repeats.iter().filter(|repeat| repeat.capacity.is_none()).count();
    if figure == "capacity" && fixed(parts) {
        return "one fixed load shows no capacity: run `loadline find`".into();
    }
    match (figure == "capacity", nothing, held_none) {
        (false, 1.., _) if all > 1 => format!("not measured: {nothing} of {all} repeats completed nothing"),
        (true, _, 1..) => format!("not measured: {held_none} of {all} repeats held the objective at no rate"),
        (true, ..) if findings.capacity.as_ref().is_some_and(|c| !c.held) => {
            "not measured: no load held the objective".into()
        }
        _ => "not measured".into(),
    }
}

/// Returns true if the run has only fixed loads. Their rate is not a capacity.
fn fixed(parts: &[Option<Seen<'_>>]) -> bool {
    let mut trials = parts.iter().flatten().flat_map(|seen| &seen.0).peekable();
    trials.peek().is_some() && trials.all(|trial| trial.kind == TrialKind::Fixed)
}

fn one(expectation: &Expectation, parts: &[Option<Seen<'_>>], findings: &Findings, all: usize) -> ExpectationResult {
    let (figure, allowed) = (expectation.figure.as_str(), findings.limits.errors);
    let found = match (figure, parts) {
        ("capacity", _) if fixed(parts) => Figure::default(),
        ("capacity", _) => capacity(findings),
        (_, [one]) => one.as_ref().map_or_else(Figure::default, |seen| seen.of(figure, allowed)),
        _ => over(parts, figure, allowed),
    };
    let value = found.value.and_then(finite);
    let met = value.is_some_and(|v| match expectation.at_least {
        true => v >= expectation.limit,
        // A lower bound below the limit says nothing about the value.
        false => v <= expectation.limit && found.lost.is_none() && !found.none_failed,
    });
    // If no load failed, the real value may be any higher rate.
    let undecided = found.none_failed && !met && value.is_some_and(|v| v <= expectation.limit);
    ExpectationResult {
        text: expectation.text.clone(),
        value,
        low: found.low,
        high: found.high,
        met,
        undecided,
        found: value.map_or_else(|| missing(parts, findings, figure, all), |value| words(figure, value, &found)),
    }
}

/// Returns a figure in words, with its interval.
fn words(figure: &str, value: f64, found: &Figure) -> String {
    let one = |v: f64| match figure {
        "capacity" | "rate" => rate(v),
        "errors" => percent(v),
        _ => duration(v),
    };
    let between = match (found.low, found.high) {
        (Some(low), Some(high)) => format!(" (95 % interval {} to {})", one(low), one(high)),
        (Some(low), None) if found.lost.is_none() => {
            format!(" (95 % interval from {}, without an upper end)", one(low))
        }
        _ => String::new(),
    };
    match found.lost {
        _ if found.none_failed => {
            format!(
                "it is at least {}: no load failed, and higher ones were not tried (give a longer --budget)",
                one(value)
            )
        }
        None => format!("it was {}{between}", one(value)),
        Some(lost) if lost > 0.0 => {
            format!("it was at least {}: {} of the requests were never answered", one(value), percent(lost))
        }
        Some(_) => format!("it was at least {}: requests were still without an answer at the end", one(value)),
    }
}

#[cfg(test)]
mod tests {
    use run::{Expectation, Failure};

    use super::*;

    /// The best of several repeats must not hide the others.
    #[test]
    fn an_expectation_applies_to_the_mean_of_repeats() {
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
    fn an_unmet_expectation_is_named_with_its_figure_and_fails_the_run() {
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

    /// A lower bound below the limit decides nothing, and one above it decides both ways.
    #[test]
    fn an_unreached_capacity_meets_limits_below_and_leaves_those_above_open() {
        let mut run = crate::planted::PlantedRun::new(10_000.0, 1000.0).steps(&[1]).rates(&[0.08, 0.15]).run();
        run.plan.expect = ["capacity>=100", "capacity>=500", "capacity<=500", "capacity<=100"].map(expect).into();
        crate::judge(&mut run);
        let found: Vec<(bool, bool)> = run.findings.expected.iter().map(|e| (e.met, e.undecided)).collect();
        assert_eq!(found, [(true, false), (false, true), (false, true), (false, false)], "{:#?}", run.findings);
        assert!(run.findings.expected[1].found.starts_with("it is at least 150/s"), "{:?}", run.findings.expected[1]);
    }

    fn expect(text: &str) -> Expectation {
        Expectation::parse(text, |_, v| v.parse().map_err(|_| String::new())).unwrap()
    }

    /// Makes a window of four answers in 5 ms for every request that timed out after 50 ms.
    fn fifth_timed_out(trial: &run::Trial) -> run::Trial {
        let hist = |ns: u64, n: u64| {
            let mut hist = Hist::new();
            hist.record_many_ns(ns, n);
            hist
        };
        let mut trial = run::Trial { kind: run::TrialKind::Fixed, ..trial.clone() };
        trial.histograms =
            [("response".into(), hist(5_000_000, 800)), ("unanswered".into(), hist(50_000_000, 200))].into();
        trial.latency_us = run::response_summary(&trial.histograms, 0);
        trial.measured.tally.completed = 800;
        trial.measured.tally.errors = run::Errors([(run::ErrorKind::ResponseTimeout, 200)].into());
        trial
    }

    #[test]
    fn with_a_fifth_of_the_requests_timed_out_no_limit_on_the_tail_is_met() {
        let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).rates(&[]).run();
        run.trials = vec![fifth_timed_out(&run.trials[0])];
        run.plan.expect =
            ["p50<10000", "p99<10000", "p99<60000", "p99>40000", "p99.9<1e9", "mean<1e9"].map(expect).into();
        crate::judge(&mut run);
        let met: Vec<bool> = run.findings.expected.iter().map(|e| e.met).collect();
        assert_eq!(met, [true, false, false, true, false, false], "{:#?}", run.findings.expected);
        let found = &run.findings.expected[1].found;
        assert_eq!(found, "it was at least 50.0 ms: 20 % of the requests were never answered");
        run.plan.objective.errors = 0.5;
        crate::judge(&mut run);
        assert!(run.findings.expected[5].met, "the user allows half of them to fail: {:?}", run.findings.expected[5]);
        // One repeat with unanswered requests is enough to make the mean a lower bound.
        let mut good = fifth_timed_out(&run.trials[0]);
        good.histograms.remove("unanswered");
        (good.latency_us, good.measured.tally.errors) =
            (run::response_summary(&good.histograms, 0), run::Errors::default());
        run.trials.push(run::Trial { repeat: 1, ..good });
        crate::judge(&mut run);
        let p99 = &run.findings.expected[2];
        assert!(!p99.met && p99.found.contains("at least"), "{p99:?}");
    }

    /// One of three repeats completed nothing, so the mean of the others does not represent the run.
    #[test]
    fn a_repeat_that_completed_nothing_is_not_left_out() {
        let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).rates(&[]).run();
        let template = run.trials.pop().unwrap();
        run.plan.expect = ["p99<1e12", "rate>0", "capacity>0"].map(expect).into();
        run.trials = (0..3u32)
            .map(|repeat| {
                let mut trial = run::Trial { repeat, kind: run::TrialKind::Fixed, ..template.clone() };
                if repeat == 1 {
                    (trial.rates, trial.latency_us) = (run::Rates::default(), run::Summary::default());
                    (trial.measured.tally.completed, trial.tally.completed) = (0, 0);
                }
                trial
            })
            .collect();
        crate::judge(&mut run);
        for one in &run.findings.expected[..2] {
            assert!(!one.met && one.found.contains("1 of 3 repeats"), "{one:?}");
        }
        let capacity = &run.findings.expected[2];
        assert!(!capacity.met && capacity.found.contains("one fixed load shows no capacity"), "{capacity:?}");
    }

    /// An M/M/1 queue at nine tenths of what it can do, its waits by Lindley's recursion: a window of a thousand services.
    fn queue(random: &mut fastrand::Rng, load: f64, seconds: f64) -> run::Trial {
        let mut trial = crate::planted::PlantedRun::new(1000.0, 1000.0).rates(&[]).run().trials.remove(0);
        let mut ln = || -random.f64().max(1e-12).ln();
        let (mut at_s, mut wait_s, mut hist) = (-20.0, 0.0f64, Hist::new());
        let mut tenths = run::Tenths::default();
        (tenths.answered, tenths.took_us) = (vec![0; (seconds * 10.0) as usize], vec![0; (seconds * 10.0) as usize]);
        while at_s < seconds {
            let (gap_s, work_s) = (ln() / (1000.0 * load), ln() / 1000.0);
            at_s += gap_s;
            wait_s = (wait_s - gap_s).max(0.0) + work_s;
            if let Some(tenth) = Some((at_s * 10.0) as usize).filter(|t| at_s >= 0.0 && *t < tenths.answered.len()) {
                hist.record_ns((wait_s * 1e9) as u64);
                tenths.answered[tenth] += 1;
                tenths.took_us[tenth] += (wait_s * 1e6) as u64;
            }
        }
        trial.kind = run::TrialKind::Fixed;
        trial.latency_us = hist.summary();
        trial.measured.tally.completed = hist.len();
        trial.measured.series_completed = tenths.answered.iter().map(|n| *n as f64 * 10.0).collect();
        trial.histograms.insert("response".into(), hist);
        trial.measured.tenths = tenths;
        trial
    }

    /// Times in a queue follow each other: of an M/M/1 at 0.9 the median is 6.93 services and the mean 10.
    #[test]
    fn intervals_of_a_queue_near_its_limit_hold_its_true_times() {
        let mut random = fastrand::Rng::with_seed(5);
        let (mut median, mut mean) = (0, 0);
        for _ in 0..60 {
            let mut run = Run { trials: vec![queue(&mut random, 0.9, 30.0)], ..Run::default() };
            run.plan.expect = ["p50<1e9", "mean<1e9"].map(expect).into();
            crate::judge(&mut run);
            let covers = |at: usize, us: f64| {
                let e: &ExpectationResult = &run.findings.expected[at];
                usize::from(e.low.is_some_and(|low| low <= us) && e.high.is_some_and(|high| us <= high))
            };
            median += covers(0, 1e3 * 10.0 * 2f64.ln());
            mean += covers(1, 10_000.0);
        }
        println!("M/M/1 at 0.9 in 30 s: {median} and {mean} of 60 intervals cover");
        assert!(median >= 52 && mean >= 52, "{median} {mean}");
    }

    /// The speed of the machine differs by a tenth (one standard deviation) from window to window.
    #[test]
    fn intervals_of_few_windows_of_different_speed_hold_the_true_percentiles() {
        let mut random = fastrand::Rng::with_seed(9);
        let template = crate::planted::PlantedRun::new(1000.0, 1000.0).rates(&[]).run().trials.remove(0);
        let mut window = || {
            let level = (0.1 * stats::normal(&mut random)).exp();
            let (mut hist, mut tenths) = (Hist::new(), run::Tenths::default());
            for _ in 0..10 {
                let took: Vec<f64> = (0..300).map(|_| -random.f64().max(1e-12).ln() * level * 1e6).collect();
                took.iter().for_each(|ns| hist.record_ns(*ns as u64));
                tenths.answered.push(300);
                tenths.took_us.push((took.iter().sum::<f64>() / 1e3) as u64);
            }
            let mut trial = run::Trial { latency_us: hist.summary(), ..template.clone() };
            trial.measured.tenths = tenths;
            trial.histograms.insert("response".into(), hist);
            trial
        };
        for (windows, fewest) in [(2, 80), (3, 85), (5, 90)] {
            let held = [0.5f64, 0.99].map(|quantile| {
                // The median of the levels is 1 ms; their scatter hardly shifts the percentiles of all answers.
                let truth_us = -(1.0 - quantile).ln() * 1000.0 * if quantile > 0.9 { 1.02 } else { 1.0 };
                let figure = if quantile > 0.9 { "p99" } else { "p50" };
                let holds = |_: &u32| {
                    let trials: Vec<run::Trial> = (0..windows).map(|_| window()).collect();
                    let found = Seen(trials.iter().collect()).time(figure, 0.0);
                    found.low.is_none_or(|low| low <= truth_us) && found.high.is_none_or(|high| truth_us <= high)
                };
                (0..100).filter(holds).count()
            });
            println!("{windows} windows of different speed: {held:?} of 100 intervals hold the p50 and the p99");
            assert!(held.iter().all(|held| *held >= fewest), "{windows}: {held:?}");
        }
    }

    /// All windows near the capacity represent it together. The best window was chosen by the limit, so it would always
    /// meet the limit.
    #[test]
    fn expectations_at_the_capacity_use_all_windows_near_it() {
        let mut run = crate::planted::PlantedRun::new(1000.0, 1000.0).rates(&[0.5, 0.88, 0.9, 0.91, 1.2]).run();
        let slow = |offered: f64| {
            if offered > 1000.0 {
                80_000
            } else if offered > 905.0 {
                3_000
            } else if offered > 895.0 {
                30_000
            } else {
                3_000
            }
        };
        for trial in &mut run.trials {
            let (n, mut hist) = (trial.measured.tally.completed.max(100), Hist::new());
            hist.record_many_ns(2_000_000, n - n / 20);
            hist.record_many_ns(slow(trial.rates.offered_rate) * 1000, n / 20);
            trial.latency_us = hist.summary();
            trial.histograms.insert("response".into(), hist);
        }
        run.plan.objective.p99_us = Some(20_000.0);
        run.plan.expect = vec![expect("p99<20000")];
        crate::judge(&mut run);
        let (one, capacity) = (&run.findings.expected[0], run.findings.capacity.as_ref().unwrap());
        assert!(capacity.rate > 850.0, "{capacity:?}");
        assert!(!one.met, "a twentieth of some of them took 30 ms: {one:?}");
    }
}
