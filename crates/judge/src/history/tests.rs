use run::{
    Capacity, Cost, CostSummary, FigureUnit, History, Intensity, Outcome, Picks, Reading, RunSummary, ServerSummary,
    Summary, ThinkTime, TrialSummary,
};

use super::*;

const LIMITS: HistoryLimits = HistoryLimits { recent: 10, threshold: 0.005 };

/// Makes a run of `find` with a capacity. The CPU time per request is one second divided by the capacity.
fn find(capacity: f64) -> RunSummary {
    let mut run = RunSummary::default();
    run.plan.command = "find".into();
    run.plan.target.url = "http://127.0.0.1:8080/".into();
    let (low, high) = (Some(0.99 * capacity), Some(1.01 * capacity));
    run.findings.capacity = Some(Capacity { rate: capacity, held: true, low, high, ..Capacity::default() });
    let cost = Cost { per_request: Reading::Value(1e6 / capacity), unit: FigureUnit::Micros };
    let server = Some(ServerSummary { costs: CostSummary { process_cpu_us: Some(cost) } });
    let latency_us = Summary { count: 100, p50: 100.0, p99: 300.0, ..Summary::default() };
    run.trials = vec![TrialSummary { server, latency_us, ..TrialSummary::default() }];
    run.findings.picks = Picks { at_capacity: Some(0), unloaded: Some(0), ..Picks::default() };
    run
}

/// Makes a run of `load` with 16 connections.
fn load(rate: f64, failed_share: f64) -> RunSummary {
    let mut run = find(rate);
    run.plan.command = "load".into();
    run.trials[0].intensity = Intensity::Closed { connections: 16, pipeline: 1, think: ThinkTime::default() };
    run.plan.load.intensity = run.trials[0].intensity.clone();
    let (good_rate, failed_share) = (Some(rate), Some(failed_share));
    run.findings.outcomes = vec![Outcome { good_rate, failed_share, ..Outcome::default() }];
    run
}

fn history(runs: impl IntoIterator<Item = RunSummary>) -> History {
    let mut kept = HistoryRuns::default();
    for (at, mut run) in runs.into_iter().enumerate() {
        run.label = Some(format!("commit-{at}"));
        kept.add(format!("runs/{at}"), at as i128, &run);
    }
    kept.history("runs".into(), LIMITS)
}

/// Returns capacities around 1000/s with a noise of 1 %. `factor` returns the true capacity of each run, relative to
/// 1000/s.
fn noisy(seed: u64, runs: usize, factor: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..runs).map(|at| 1000.0 * factor(at) * (0.01 * stats::normal(&mut random)).exp()).collect()
}

/// Judges the history of the capacities after each run, and returns for each whether the history fails.
fn fails_after_each(capacities: Vec<f64>) -> Vec<bool> {
    let mut kept = HistoryRuns::default();
    let mut fails = |(at, capacity): (usize, f64)| {
        kept.add(format!("runs/{at}"), at as i128, &find(capacity));
        kept.clone().history("runs".into(), LIMITS).fails
    };
    capacities.into_iter().enumerate().map(&mut fails).collect()
}

fn of(capacities: Vec<f64>) -> History {
    history(capacities.into_iter().map(find))
}

fn changed<'a>(history: &'a History, figure: &str) -> Vec<&'a run::HistoryChange> {
    history.changes.iter().filter(|change| change.figure == figure).collect()
}

/// loadline claims that its intervals contain the true change in 95 of 100 series.
#[test]
fn the_interval_of_a_change_holds_the_true_change() {
    let holds = |seed: u64| {
        let history = of(noisy(seed, 40, |at| if at < 34 { 1.0 } else { 0.95 }));
        let found = changed(&history, "capacity");
        found.first().is_none_or(|change| change.low < -0.05 && change.high > -0.05)
    };
    let held = (0..60).filter(|seed| holds(*seed)).count();
    assert!(held >= 53, "{held} of 60");
}

#[test]
fn a_new_loss_of_capacity_fails_and_names_its_run() {
    let history = of(noisy(1, 40, |at| if at < 34 { 1.0 } else { 0.95 }));
    let [change] = changed(&history, "capacity")[..] else { panic!("{history:#?}") };
    assert!(history.fails && change.fails && change.new && change.worse && !change.undone, "{change:#?}");
    assert_eq!((change.at, change.label.as_str(), change.run.as_str()), (34, "commit-34", "runs/34"));
    assert!((change.change + 0.05).abs() < 0.015, "{change:#?}");
    assert!((change.before / 1000.0 - 1.0).abs() < 0.01 && (change.after / 950.0 - 1.0).abs() < 0.01, "{change:#?}");
    // In the runs of this test, CPU time per request rises when the capacity falls.
    assert!(changed(&history, "server CPU per request").iter().all(|change| change.worse && change.change > 0.03));
    assert_eq!(history.series[0].figures.len(), 4, "{:?}", history.series[0].figures);
}

#[test]
fn an_old_change_a_gain_and_a_change_that_was_taken_back_do_not_fail() {
    for (name, runs, factor) in [
        ("old", 40, (|at| if at < 20 { 1.0 } else { 0.9 }) as fn(usize) -> f64),
        ("gain", 40, |at| if at < 34 { 1.0 } else { 1.1 }),
        ("undone", 60, |at| if (48..54).contains(&at) { 0.9 } else { 1.0 }),
    ] {
        let history = of(noisy(2, runs, factor));
        let changes = changed(&history, "capacity");
        assert!(!history.fails && !changes.is_empty(), "{name}: {history:#?}");
        assert_eq!(changes[0].new, name != "old", "{name}");
        assert_eq!(changes[0].undone, name == "undone", "{name}");
    }
}

/// A small change is found only many runs after its beginning. When the change is first found, the change must count as
/// new.
#[test]
fn a_change_that_shows_late_is_new_when_it_shows() {
    let begin = 30;
    let runs = noisy(6, 80, |at| if at < begin { 1.0 } else { 0.985 });
    let fails = fails_after_each(runs);
    let first = fails.iter().position(|fails| *fails).unwrap();
    assert!(first >= begin + 3 && first < 69, "{first}");
    assert!(!fails[79], "the change was new for {} evaluations", fails.iter().filter(|fails| **fails).count());
}

/// In the last runs, an open loop met the objective again, so their capacity is lower than the earlier capacity of a
/// closed loop. The server is the same.
#[test]
fn a_capacity_of_a_closed_loop_and_one_of_an_open_loop_are_not_compared() {
    let run = |at: usize| {
        let mut run = find(if at < 24 { 1000.0 } else { 930.0 } * (1.0 + 0.002 * (at % 3) as f64));
        let source = (at < 24).then_some(run::ClosedLoopSource { open_held: Some(900.0) });
        run.findings.capacity.iter_mut().for_each(|capacity| capacity.closed_loop = source);
        run.trials[0].server = None;
        run
    };
    let history = history((0..32).map(run));
    assert!(!history.fails && history.changes.is_empty(), "{:#?}", history.changes);
}

#[test]
fn a_step_below_the_resolution_is_no_change() {
    let step = |size: f64| of((0..30).map(|at| if at < 20 { 1000.0 } else { 1000.0 * size }).collect());
    assert!(step(1.0005).changes.is_empty());
    assert!(changed(&step(0.99), "capacity").len() == 1);
}

/// The median response time drifts, and in addition becomes longer at the eleventh run because the server works longer.
/// Only the test for a step in a drifting series finds the change at the eleventh run. The last case adds a second step
/// in the same direction. After this second step, the first step must still make the history fail, and must not count
/// as undone.
#[test]
fn a_step_beside_a_drift_fails_and_its_interval_excludes_no_change() {
    let drift = [361.0, 343.0, 348.0, 340.0, 333.0, 338.0, 329.0, 343.0, 363.0, 387.0];
    let after = [580.0, 563.0, 568.0, 572.0, 578.0, 593.0, 634.0];
    let us = || drift.into_iter().chain(after);
    let history = of(us().map(|us| 1e5 / us).collect());
    let [change] = changed(&history, "capacity")[..] else { panic!("{history:#?}") };
    assert!(history.fails && change.fails && !change.undone && change.at == 10, "{change:#?}");
    // The means of the three runs on each side differ by the factor exp(-0.4493). The logarithm of this factor has the
    // standard error 0.0531, with 15 degrees of freedom.
    assert!((change.low + 0.430).abs() < 0.005 && (change.high + 0.285).abs() < 0.005, "{change:#?}");
    let twice = us().chain([1200.0, 1210.0, 1190.0, 1205.0]);
    let history = of(twice.map(|us| 1e5 / us).collect());
    let changes = changed(&history, "capacity");
    assert!(changes.iter().any(|change| change.at == 10 && !change.undone && change.fails), "{changes:#?}");
}

#[test]
fn failures_are_compared_by_their_difference() {
    let runs = |share: f64| history((0..30).map(|at| load(1000.0, if at < 24 { 0.0 } else { share })));
    assert!(changed(&runs(0.0005), "failed share").is_empty());
    let history = runs(0.02);
    let [change] = changed(&history, "failed share")[..] else { panic!("{history:#?}") };
    assert!(history.fails && change.worse && (change.change - 0.02).abs() < 1e-9, "{change:#?}");
}

#[test]
fn an_open_loop_has_no_rate_of_its_own_and_repeats_have_an_interval() {
    let mut run = load(1000.0, 0.0);
    let names = |run: &RunSummary| -> Vec<&str> {
        FIGURES.iter().filter(|figure| (figure.of)(run).is_some()).map(|figure| figure.name).collect()
    };
    assert_eq!(names(&run), ["server CPU per request", "completed rate", "p50", "p99", "failed share"]);
    run.trials = vec![run.trials[0].clone(); 3];
    run.trials[1].latency_us.p50 = 110.0;
    let p50 = FIGURES.iter().find(|figure| figure.name == "p50").and_then(|figure| (figure.of)(&run)).unwrap();
    assert!(p50.low.unwrap() < 100.0 && p50.high.unwrap() > 105.0 && (p50.value - 103.2).abs() < 0.1, "{p50:?}");
    run.trials.truncate(1);
    run.trials[0].intensity =
        Intensity::Open { rate: 1000.0, arrival: run::Arrival::default(), max_connections: 10, pipeline: 1 };
    assert!(!names(&run).contains(&"completed rate"));
}

#[test]
fn runs_of_another_plan_or_machine_are_another_series_and_a_process_is_not() {
    let with = |change: fn(&mut RunSummary)| {
        let mut run = find(1000.0);
        change(&mut run);
        let runs = (0..8).map(|_| find(1000.0)).chain((0..7).map(|_| run.clone()));
        history(runs).series.iter().map(|series| series.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(with(|run| run.plan.target.server_pid = Some(7)), ["find http://127.0.0.1:8080/"]);
    assert_eq!(with(|run| run.plan.load.seed = 9), ["find http://127.0.0.1:8080/"]);
    assert_eq!(
        with(|run| run.plan.target.url = "http://127.0.0.1:9/".into()),
        ["find http://127.0.0.1:8080/", "find http://127.0.0.1:9/"]
    );
    let names = with(|run| run.plan.search.budget_s = 77.0);
    assert!(names.iter().any(|name| name.ends_with("(search.budget_s 77.0)")), "{names:?}");
    let names =
        with(|run| run.hosts = vec![run::HostInfo { role: "server".into(), cpus: 64, ..run::HostInfo::default() }]);
    assert!(names.iter().any(|name| name.contains("machine of the server 64 CPUs")), "{names:?}");
}

#[test]
fn runs_without_figures_copies_and_small_series_take_no_part_and_are_named() {
    let mut kept = HistoryRuns::default();
    for at in 0..6 {
        kept.add(format!("runs/{at}"), at, &find(1000.0));
    }
    kept.add("baselines/main".into(), 3, &find(1000.0));
    let bad = |change: fn(&mut RunSummary)| {
        let mut run = find(1000.0);
        change(&mut run);
        run
    };
    kept.add("runs/lab".into(), 10, &bad(|run| run.plan.command = "lab users".into()));
    kept.add("runs/cut".into(), 11, &bad(|run| run.interrupted = true));
    kept.add("runs/died".into(), 12, &bad(|run| run.findings.failure = Some(Failure::Died)));
    kept.add(
        "runs/empty".into(),
        13,
        &bad(|run| (run.findings, run.trials) = (run::FindingsSummary::default(), vec![])),
    );
    kept.add("runs/other".into(), 14, &bad(|run| run.plan.target.url = "http://127.0.0.1:9/".into()));
    let history = kept.history("runs".into(), LIMITS);
    assert_eq!((history.series.len(), history.series[0].runs.len(), history.small.len()), (1, 6, 1), "{history:#?}");
    let reasons: Vec<&str> = history.skipped.iter().map(|skipped| skipped.reason.as_str()).collect();
    assert_eq!(reasons.len(), 5, "{reasons:?}");
    for words in ["lab users", "ended early", "during the run", "no figure", "a copy of"] {
        assert!(reasons.iter().any(|reason| reason.contains(words)), "{words}: {reasons:?}");
    }
}

#[test]
fn a_new_version_of_loadline_is_said() {
    let runs = (0..8).map(|at| RunSummary { version: if at < 5 { "1.0" } else { "1.1" }.into(), ..find(1000.0) });
    let notes = history(runs).notes;
    assert!(notes.len() == 1 && notes[0].contains("loadline 1.1") && notes[0].contains("before by 1.0"), "{notes:?}");
}

/// The exit status should be 0 if nothing changed. The test evaluates each series after each of its last 40 runs, and
/// counts the false alarms.
#[test]
fn equal_runs_fail_rarely() {
    let mut failed = 0;
    for seed in 0..100 {
        let fails = fails_after_each(noisy(900 + seed, 60, |_| 1.0));
        failed += fails[20..].iter().filter(|fails| **fails).count();
    }
    println!("{failed} of 4000 histories of equal runs fail");
    assert!(failed <= 80, "{failed} of 4000");
}
