//! Results of each class of a request mix. Each class of a request mix is judged as if it were the only class. This
//! module also finds the class that misses the objective at the lowest load.

use run::{
    Breach, ClassFinding, ClassPart, ErrorKind, Hist, Intensity, Limits, Measured, Picks, Rates, SummaryFigure, Tally,
    TimeLimits, Trial,
};

use crate::Facts;
use crate::context::single::failed_share;
use crate::estimate::objective::breach;
use crate::number::{finite, positive, ratio, total};
use crate::thresholds::FEWEST_REQUESTS;

/// Returns the findings of each class of requests, in the order of the mix. Returns an empty list if there is only one
/// class.
pub(crate) fn classes(facts: &Facts<'_>, picks: &Picks) -> Vec<ClassFinding> {
    let trials = &facts.run.trials;
    let Some(shown) = picks.loaded.and_then(|at| trials.get(at)) else { return Vec::new() };
    let each = shown.classes.iter().enumerate().map(|(at, class)| {
        let failing = failing(facts, at);
        let place = |trial: &Trial| trials.iter().position(|t| std::ptr::eq(t, trial));
        ClassFinding {
            failing: failing.and_then(|(trial, _)| place(trial)),
            breach: failing.map(|(_, breach)| breach),
            ..figures(shown, class)
        }
    });
    let mut all: Vec<ClassFinding> = each.collect();
    if let Some(first) = first_to_fail(trials, &all) {
        all[first].first_to_fail = true;
    }
    all
}

/// Returns the class that misses the objective at the lowest load. If several classes miss the objective at this load,
/// returns the class that exceeds its limit by the largest factor.
fn first_to_fail(trials: &[Trial], all: &[ClassFinding]) -> Option<usize> {
    let order = |class: &ClassFinding| {
        let rates = &trials.get(class.failing?)?.rates;
        let load = if rates.offered_rate > 0.0 { rates.offered_rate } else { rates.concurrency };
        let beyond = class.breach.and_then(|breach| ratio(breach.value?, breach.limit?));
        Some((load, -beyond.unwrap_or(f64::MAX)))
    };
    let failing = all.iter().enumerate().filter_map(|(at, class)| Some((at, order(class)?)));
    failing.min_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))).map(|(at, _)| at)
}

/// Returns the results of a class in one trial.
fn figures(trial: &Trial, class: &ClassPart) -> ClassFinding {
    let (measured, alone) = (&class.measured, alone(trial, class));
    let sent = total(trial.classes.iter().map(|class| class.measured.sent()));
    let seen = class.summary();
    let time = |figure| seen.figure(figure).lowest().and_then(finite);
    ClassFinding {
        name: class.name.clone(),
        share: ratio(measured.sent() as f64, sent as f64),
        rate: finite(alone.rates.completed_rate),
        failed_share: failed_share(&alone),
        bytes: ratio(measured.bytes as f64, measured.completed as f64).and_then(positive),
        p50_us: time(SummaryFigure::P50),
        p90_us: time(SummaryFigure::P90),
        p99_us: time(SummaryFigure::P99),
        p99_9_us: time(SummaryFigure::P999),
        at_least: seen.at_least,
        failing: None,
        breach: None,
        first_to_fail: false,
        server_cpu: None,
        server_cpu_share: None,
    }
}

/// Finds the lowest load at and above which every trial missed the objective of a class. Also returns the limit that
/// the class exceeded at the lowest failing load. Trials of equal loads are judged together, whatever their order.
/// Leaves out trials with too few requests of the class, which show nothing.
fn failing<'a>(facts: &Facts<'a>, at: usize) -> Option<(&'a Trial, Breach)> {
    let fixed: Vec<&Trial> = facts.run.trials.iter().collect();
    let by_load = [&facts.search, &facts.sweep, &fixed].into_iter().find(|trials| !trials.is_empty())?;
    // The times of events are not known for each request class, so no class can miss a limit on these times.
    let limits = Limits { first_event: TimeLimits::default(), gap: TimeLimits::default(), ..facts.limits.clone() };
    let judged = |trial: &&'a Trial| {
        let class = trial.classes.get(at).filter(|class| class.measured.begun >= FEWEST_REQUESTS)?;
        Some((*trial, breach(&alone(trial, class), &limits)))
    };
    let judged: Vec<(&Trial, Option<Breach>)> = by_load.iter().filter_map(judged).collect();
    let held: Vec<&Intensity> =
        judged.iter().filter(|(_, broke)| broke.is_none()).map(|(trial, _)| &trial.intensity).collect();
    let missed = judged.iter().rev().take_while(|(trial, _)| !held.contains(&&trial.intensity));
    missed.last().and_then(|(trial, broke)| Some((*trial, (*broke)?)))
}

/// Makes a trial that contains only the requests and times of one class.
fn alone(trial: &Trial, class: &ClassPart) -> Trial {
    let measured = &class.measured;
    let mut tally = Tally {
        sent: measured.begun,
        completed: measured.completed,
        unexpected_status: measured.unexpected_status,
        ..Tally::default()
    };
    if measured.failed > 0 {
        tally.errors.0.insert(ErrorKind::Other, measured.failed);
    }
    let mut under_way = Hist::new();
    class.unanswered.under_way.iter().for_each(|(ns, n)| under_way.record_many_ns(*ns, *n));
    let rate = finite(class.completed_rate(trial.measured.length_s)).unwrap_or_default();
    Trial {
        // The offered rate of a single class is unknown, so its completed rate is used instead. A backlog of a class
        // therefore shows in long response times, and not in a completed rate below the offered rate.
        intensity: Intensity::default(),
        rates: Rates { completed_rate: rate, offered_rate: rate, sent_rate: rate, ..Rates::default() },
        measured: Measured { length_s: trial.measured.length_s, tally, ..Measured::default() },
        latency_us: class.summary(),
        histograms: [("response", class.response.clone()), ("under_way", under_way)]
            .into_iter()
            .filter(|(_, hist)| !hist.is_empty())
            .map(|(name, hist)| (name.to_owned(), hist))
            .collect(),
        ..Trial::default()
    }
}

#[cfg(test)]
mod tests {
    use run::{BreachKind, ClassTally, Run, TrialKind};

    use super::*;

    /// Makes a class with 1,000 answers that took `took_us` microseconds each. The class also has `failed` failed
    /// requests.
    fn class(name: &str, took_us: u64, failed: u64) -> ClassPart {
        let mut response = Hist::new();
        (0..1000).for_each(|_| response.record_ns(took_us * 1000));
        let measured =
            ClassTally { begun: 1000 + failed, completed: 1000, failed, bytes: 5000, ..ClassTally::default() };
        ClassPart { name: name.into(), total: measured, measured, response, ..ClassPart::default() }
    }

    fn trial(rate: f64, classes: Vec<ClassPart>) -> Trial {
        let intensity = Intensity::Open { rate, arrival: run::Arrival::Poisson, max_connections: 10, pipeline: 1 };
        let completed = classes.iter().map(|class| class.measured.completed).sum();
        let mut response = Hist::new();
        classes.iter().for_each(|class| response.merge(&class.response));
        Trial {
            kind: TrialKind::Search,
            intensity,
            rates: Rates { offered_rate: rate, sent_rate: rate, completed_rate: rate, goodput: rate, concurrency: 1.0 },
            measured: Measured {
                length_s: 1.0,
                tally: Tally { sent: completed, completed, ..Tally::default() },
                ..Measured::default()
            },
            latency_us: run::Summary::of(&response),
            histograms: [("response".to_owned(), response)].into(),
            classes,
            ..Trial::default()
        }
    }

    #[test]
    fn the_class_that_breaks_the_objective_first_is_named_with_its_load() {
        let mut run = Run::default();
        run.plan.objective.p99_us = Some(10_000.0);
        for (rate, slow, quick) in [(100.0, 5_000, 100), (200.0, 20_000, 100), (300.0, 40_000, 15_000)] {
            run.trials.push(trial(rate, vec![class("slow", slow, 0), class("quick", quick, 0)]));
        }
        crate::judge(&mut run);
        let found = &run.findings.classes;
        assert_eq!(
            found.iter().map(|c| (c.name.as_str(), c.failing)).collect::<Vec<_>>(),
            [("slow", Some(1)), ("quick", Some(2))]
        );
        assert_eq!(found[0].breach.map(|b| b.kind), Some(BreachKind::P99));
        assert_eq!((found[0].share, found[0].bytes), (Some(0.5), Some(5.0)));
        assert_eq!((found[0].first_to_fail, found[1].first_to_fail), (true, false));
    }

    /// The objective limits the gaps between events. The gaps of each class are not known, so no class fails.
    #[test]
    fn a_limit_on_events_judges_no_class() {
        let mut run = Run::default();
        run.plan.objective.gap = TimeLimits { p99_us: Some(80_000.0), ..TimeLimits::default() };
        run.trials.push(trial(100.0, vec![class("a", 100, 0), class("b", 100, 0)]));
        crate::judge(&mut run);
        let found: Vec<_> = run.findings.classes.iter().map(|class| class.failing).collect();
        assert_eq!(found, [None, None]);
    }

    /// Of three repeats of one load, at least one meets the objective.
    #[test]
    fn the_order_of_repeats_does_not_decide_which_class_fails() {
        for took in [[100, 100, 20_000], [20_000, 20_000, 100]] {
            let mut run = Run::default();
            run.plan.objective.p99_us = Some(10_000.0);
            for (repeat, us) in (0..).zip(took) {
                let one = trial(100.0, vec![class("a", us, 0), class("b", 100, 0)]);
                run.trials.push(Trial { repeat, kind: TrialKind::Fixed, ..one });
            }
            crate::judge(&mut run);
            assert_eq!(run.findings.classes[0].failing, None, "{took:?}");
        }
    }

    /// All requests of one class fail. The other class has half of the requests.
    #[test]
    fn failed_requests_count_in_the_share_of_their_class() {
        let mut run = Run::default();
        let cut = ClassTally { begun: 1000, failed: 1000, ..ClassTally::default() };
        let cut = ClassPart { name: "cut".into(), total: cut, measured: cut, ..ClassPart::default() };
        run.trials.push(trial(100.0, vec![class("good", 100, 0), cut]));
        crate::judge(&mut run);
        let shares: Vec<Option<f64>> = run.findings.classes.iter().map(|class| class.share).collect();
        assert_eq!(shares, [Some(0.5), Some(0.5)]);
    }

    /// Some requests of one class were sent in the middle of the window, and are still unanswered when the window ends.
    #[test]
    fn a_class_that_stalls_at_the_end_of_the_window_breaks_the_objective() {
        let mut run = Run::default();
        run.plan.objective.p99_us = Some(10_000.0);
        let mut stalled = class("stalled", 100, 0);
        stalled.unanswered.under_way.insert(500_000_000, 30);
        run.trials.push(trial(100.0, vec![stalled, class("quick", 100, 0)]));
        crate::judge(&mut run);
        let found = &run.findings.classes;
        assert_eq!((found[0].failing, found[1].failing), (Some(0), None));
        assert!(found[0].at_least.contains(SummaryFigure::P99) && found[0].p99_us.is_some_and(|us| us > 499_000.0));
        assert!(found[0].p50_us.is_some_and(|us| us < 101.0) && found[1].at_least.is_empty());
    }

    /// In this test, both classes miss the objective at 200/s: the second class by a factor of twenty, the first by a
    /// factor of two.
    #[test]
    fn of_classes_that_fail_at_one_load_the_one_furthest_beyond_its_limit_is_first() {
        let mut run = Run::default();
        run.plan.objective.p99_us = Some(10_000.0);
        for (rate, took_us) in [(100.0, (100, 100)), (200.0, (20_000, 200_000))] {
            run.trials.push(trial(rate, vec![class("near", took_us.0, 0), class("far", took_us.1, 0)]));
        }
        crate::judge(&mut run);
        let found: Vec<_> = run.findings.classes.iter().map(|c| (c.failing, c.first_to_fail)).collect();
        assert_eq!(found, [(Some(1), false), (Some(1), true)]);
    }

    #[test]
    fn a_class_with_errors_fails_and_one_that_held_at_the_highest_load_does_not() {
        let mut run = Run::default();
        run.plan.objective.p99_us = Some(10_000.0);
        run.trials.push(trial(100.0, vec![class("bad", 100, 50), class("good", 20_000, 0)]));
        run.trials.push(trial(200.0, vec![class("bad", 100, 50), class("good", 100, 0)]));
        crate::judge(&mut run);
        let found = &run.findings.classes;
        assert_eq!((found[0].failing, found[0].breach.map(|b| b.kind)), (Some(0), Some(BreachKind::Errors)));
        assert_eq!(found[1].failing, None, "what a higher load held was a disturbance");
    }
}
