//! Tests of the figures that decide a regression (costs, capacities and curves), and of runs that can hardly be
//! compared.

use fastrand::Rng;
use run::{ComparedFigure, Comparison, ComparisonResult, Reading, Run, Trial, TrialKind};

use super::Pairing::{InTurns, Kept};
use super::compare;
use super::tests::windows;
use crate::planted::PlantedRun;
use stats::normal;

pub(super) fn both(a: &Run, b: &Run) -> Comparison {
    compare(("a", std::slice::from_ref(a)), ("b", std::slice::from_ref(b)), 0.03, InTurns).unwrap()
}

pub(super) fn of<'a>(c: &'a Comparison, figure: &str) -> &'a ComparedFigure {
    c.comparisons.iter().find(|c| c.figure == figure).unwrap_or_else(|| panic!("no {figure}: {c:#?}"))
}

fn cost(trial: &mut Trial, id: &str, us: f64) {
    let cost = run::Cost { per_request: Reading::Value(us), unit: run::FigureUnit::Micros };
    trial.server.get_or_insert_default().costs.insert(id.into(), cost);
}

/// CPU time per request changes from 300 µs (user mode) and 100 µs (kernel) to 250 µs and 130 µs. The sum of both CPU
/// times falls by 5 %.
#[test]
fn a_part_that_costs_more_does_not_outweigh_a_total_that_costs_less() {
    let mut random = Rng::with_seed(1);
    let mut side = |user: f64, system: f64| {
        let mut run = windows(&mut random, 20, user + system);
        for trial in &mut run.trials {
            let off = 1.0 + 0.005 * normal(&mut random);
            cost(trial, "process_user_us", user * off);
            cost(trial, "process_system_us", system * off);
        }
        run
    };
    let c = both(&side(300.0, 100.0), &side(250.0, 130.0));
    assert_eq!(of(&c, "server CPU, kernel").word, ComparisonResult::Slower, "it is shown anyway");
    assert!(!c.regression && c.verdict == ComparisonResult::Faster, "{:?} by {:?}", c.verdict, c.decided_by);
    assert_eq!(c.decided_by.as_deref(), Some("server CPU per request"));
}

fn searched(capacity: f64, holds: bool) -> Run {
    let planted = PlantedRun::new(20_000.0, capacity).rates(&[0.5, 0.7, 0.9, 0.93, 1.15, 1.3]);
    let planted = planted.change(move |t, _| {
        if !holds {
            t.measured.tally.unanswered = 1000
        }
    });
    let mut run = planted.run();
    run.plan.objective.p99_us = Some(200_000.0);
    crate::judge(&mut run);
    run
}

#[test]
fn a_lost_capacity_is_a_regression_and_a_new_one_is_none() {
    let (held, gone) = (searched(200.0, true), searched(200.0, false));
    let kept = |a: &[Run], b: &[Run]| compare(("a", a), ("b", b), 0.03, Kept).unwrap();
    let c = kept(std::slice::from_ref(&held), std::slice::from_ref(&gone));
    let capacity = of(&c, "capacity");
    assert!(capacity.word == ComparisonResult::Slower && c.regression, "{capacity:?}");
    assert!(capacity.said.as_deref().is_some_and(|s| s.contains("at no tried rate")), "{capacity:?}");
    let back = kept(std::slice::from_ref(&gone), std::slice::from_ref(&held));
    assert!(of(&back, "capacity").word == ComparisonResult::Faster && !back.regression, "{:?}", of(&back, "capacity"));
    // One of three runs found no rate within the limits, so the capacity is uncertain although the other two runs found
    // such a rate.
    let some = kept(&[held.clone(), held.clone(), held.clone()], &[held.clone(), gone.clone(), held.clone()]);
    let some = of(&some, "capacity");
    assert!(some.word == ComparisonResult::NotEnough && some.low.is_none(), "{some:?}");
    assert!(some.said.as_deref().is_some_and(|s| s.contains("2 of 3")), "{some:?}");
    assert!(
        kept(std::slice::from_ref(&gone), std::slice::from_ref(&gone))
            .comparisons
            .iter()
            .all(|c| c.figure != "capacity")
    );
}

/// The capacities of both sides are computed by one rule. The ratio of a run's capacity to itself is therefore 1, even
/// if each side was judged by another objective before.
#[test]
fn the_capacity_of_both_sides_is_made_by_one_rule() {
    let a = searched(200.0, true);
    let mut b = a.clone();
    b.plan.objective.p99_us = Some(150_000.0);
    crate::judge(&mut b);
    let c = compare(("a", std::slice::from_ref(&a)), ("b", &[b]), 0.03, Kept).unwrap();
    assert!((of(&c, "capacity").ratio - 1.0).abs() < 1e-9, "{:?}", of(&c, "capacity"));
}

/// In this test, all response times of one side are in one histogram bucket, and those of the other side are in the
/// next. The uncertainty includes the width of the buckets, so the comparison must not report a difference of the
/// percentiles.
#[test]
fn percentiles_in_neighbouring_buckets_are_not_apart_for_sure() {
    let mut random = Rng::with_seed(5);
    let mut side = |ns: u64| {
        let mut run = windows(&mut random, 8, 400.0);
        for trial in &mut run.trials {
            let mut hist = run::Hist::new();
            (0..500).for_each(|_| hist.record_ns(ns));
            trial.latency_us = run::Summary::of(&hist);
            trial.histograms.insert("response".into(), hist);
        }
        run
    };
    let c = both(&side(1_000_000), &side(1_000_600));
    let p50 = of(&c, "p50");
    assert!(p50.ratio > 1.0 && p50.ratio < 1.002, "{p50:?}");
    assert!(p50.word == ComparisonResult::Same && p50.p.is_some_and(|p| p > 0.01), "{p50:?}");
}

/// Two conditions have the same number of clients. The curve must show the mean of the rates of two conditions with
/// equal numbers of clients.
#[test]
fn a_curve_contains_all_conditions_with_a_number_of_clients() {
    let sweep = |rates: [f64; 4]| {
        let mut run = PlantedRun::new(1000.0, 4000.0).steps(&[1, 1, 8, 8]).rates(&[]).run();
        for (at, (trial, rate)) in run.trials.iter_mut().zip(rates).enumerate() {
            trial.kind = TrialKind::Sweep;
            trial.key.put(run::ValueName::new("delay_ms"), at as f64);
            trial.rates.completed_rate = rate;
        }
        run
    };
    let c =
        compare(("a", &[sweep([1.0, 3.0, 10.0, 30.0])]), ("b", &[sweep([2.0, 6.0, 20.0, 60.0])]), 0.03, Kept).unwrap();
    let points: Vec<_> = c.curves.rates.iter().map(|p| (p.at, p.old, p.new)).collect();
    assert_eq!(points, [(1.0, 2.0, 4.0), (8.0, 20.0, 40.0)]);
}

/// Some experiments time function calls and send no request. The times of two trials are compared if the settings of
/// the trials are equal.
#[test]
fn runs_that_only_timed_calls_compare() {
    let timed = |us: f64| {
        let trial = |at: usize| {
            let mut trial = Trial { kind: TrialKind::Experiment, ..Trial::default() };
            trial.key.put(run::ValueName::new("array_max"), at as u32 % 4);
            trial.results.put(run::ValueName::new("trimmed_us"), us * (1.0 + 0.001 * at as f64));
            trial
        };
        let compared = vec![run::ComparedTime { name: "time of a call".into(), values: vec!["trimmed_us".into()] }];
        let mut run = Run { trials: (0..40).map(trial).collect(), ..Run::default() };
        run.findings.experiment = Some(run::ExperimentReport { compared, ..run::ExperimentReport::default() });
        run
    };
    let c = compare(("a", &[timed(10.0)]), ("b", &[timed(11.0)]), 0.03, Kept).unwrap();
    let call = of(&c, "time of a call");
    assert!((call.ratio - 1.1).abs() < 0.01 && call.word == ComparisonResult::Slower && c.regression, "{call:?}");
    assert!(
        c.comparisons.iter().all(|c| c.figure != "completed rate" && c.figure != "failed share") && c.notes.is_empty()
    );
}

#[test]
fn runs_of_nothing_that_others_have_get_a_sentence_that_says_what_to_do() {
    let good = PlantedRun::new(1000.0, 4000.0).rates(&[0.5]).run();
    let of_kind = |kind: TrialKind| {
        let mut run = good.clone();
        run.trials.iter_mut().for_each(|t| t.kind = kind);
        run
    };
    let say = |run: &Run| {
        compare(("a", std::slice::from_ref(&good)), ("b", std::slice::from_ref(run)), 0.03, Kept).unwrap_err()
    };
    assert!(say(&of_kind(TrialKind::Proof)).contains("only windows of a search or an experiment"));
    assert!(say(&of_kind(TrialKind::Watched)).contains("loadline load"));
}

/// Memory use is one observation per server process, so one run per side gives no interval. More windows per run add no
/// observation of the memory use, but more runs do.
#[test]
fn an_open_comparison_says_what_more_to_measure() {
    let mut random = Rng::with_seed(6);
    let mut side = |us: f64, bytes: f64| {
        let mut run = windows(&mut random, 20, us);
        let value = Reading::Value(bytes);
        run.trials.iter_mut().for_each(|t| {
            t.server.get_or_insert_default().counters.insert(run::CounterId("process.rss".into()), value.clone());
        });
        run
    };
    let (a, b) = (side(400.0, 1e6), side(404.0, 2e6));
    let live = both(&a, &b);
    assert_eq!(of(&live, "memory").more_of, None, "two live servers have no further runs: {:?}", of(&live, "memory"));
    // Two runs of one server may differ by 1 %. A difference of 1 % between two single runs is therefore never certain,
    // however many windows the runs have.
    let kept = compare(("a", std::slice::from_ref(&a)), ("b", &[b]), 0.005, Kept).unwrap();
    let cpu = of(&kept, "server CPU per request");
    assert!(cpu.word == ComparisonResult::NotEnough && cpu.more_of == Some(run::NeededData::Runs), "{cpu:?}");
    assert!(cpu.more.is_some_and(|more| more >= 3.0), "{cpu:?}");
}
