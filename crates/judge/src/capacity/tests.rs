//! Tests of the capacity that follows from the search, the sweep and other loads.

use crate::planted::PlantedRun;

fn capacity(planted_run: &PlantedRun) -> run::Capacity {
    let mut run = planted_run.run();
    crate::judge(&mut run);
    run.findings.capacity.unwrap()
}

#[test]
fn the_highest_rate_that_holds_counts_with_the_lowest_that_fails() {
    let c = capacity(&PlantedRun::new(20_000.0, 200.0).rates(&[0.5, 0.93, 1.15]));
    assert!(c.held && (c.rate - 200.0).abs() < 1e-9, "{c:?}");
    assert!(c.method.starts_with("closed loop: in an open loop only 186/s was held"), "{c:?}");
    assert!((c.failed_at.unwrap() - 230.0).abs() < 1e-9);
    assert!(c.failed_why.unwrap().contains("of the offered load completed"));
}

#[test]
fn an_open_loop_that_held_beside_other_programs_counts_as_held() {
    let disturbs = |t: &mut run::Trial, _: &crate::planted::Point| {
        if (180.0..190.0).contains(&t.rates.offered_rate) {
            t.measured.others = vec![0.9; 20];
            t.measured.window = run::Window { begin_s: 0.0, end_s: 2.0 };
        }
    };
    let c = capacity(&PlantedRun::new(20_000.0, 200.0).rates(&[0.5, 0.93, 1.15]).change(disturbs));
    assert!(c.method.starts_with("closed loop: in an open loop only 186/s was held"), "{c:?}");
}

/// Closed-loop clients wait while a server is slow. Independent users do not wait, so the server may not sustain
/// the closed loop's rate for independent users.
#[test]
fn a_capacity_that_no_open_loop_held_says_so() {
    let fails = |t: &mut run::Trial, _: &crate::planted::Point| {
        if t.kind == run::TrialKind::Search {
            t.latency_us.p99 = 1e9;
        }
    };
    let c = capacity(&PlantedRun::new(20_000.0, 200.0).rates(&[1.05, 1.15]).change(fails));
    assert_eq!(c.closed_loop.map(|source| source.open_held), Some(None), "{c:?}");
    assert!(c.method.starts_with("closed loop: no rate was held in an open loop"), "{c:?}");
    let sweep_only = capacity(&PlantedRun::new(20_000.0, 200.0).rates(&[]));
    assert!(sweep_only.closed_loop.is_some(), "{sweep_only:?}");
    let open = capacity(&PlantedRun::new(20_000.0, 200.0).rates(&[0.5, 1.0]).steps(&[1]));
    assert_eq!(open.closed_loop, None, "{open:?}");
}

/// An earlier version of loadline did not say that the capacity came from a closed loop if other programs disturbed the
/// step of this closed loop.
#[test]
fn a_capacity_of_a_disturbed_closed_loop_says_so() {
    let disturbs = |t: &mut run::Trial, p: &crate::planted::Point| {
        t.measured.others = vec![if p.n > 2.0 { 0.9 } else { 0.0 }; 20];
    };
    let c = capacity(&PlantedRun::new(20_000.0, 200.0).steps(&[1, 2, 4]).rates(&[]).change(disturbs));
    assert!((c.rate - 200.0).abs() < 30.0 && c.method.contains("although other programs disturbed"), "{c:?}");
    assert!(c.closed_loop.is_some(), "{c:?}");
}

/// This test repeats a situation that was observed with a Go server that writes its log to a pipe, which `pv -L` reads
/// at 1,430 lines per second. The first step of the sweep ran while the pipe was still empty, and completed 4,300/s. An
/// earlier version of loadline reported a capacity of at least 4,140/s.
#[test]
fn room_in_a_pipe_is_no_capacity() {
    let first = |t: &mut run::Trial, p: &crate::planted::Point| {
        let is_first = t.kind == run::TrialKind::Sweep && p.n <= 1.0;
        t.rates.completed_rate = if is_first { 4300.0 } else { t.rates.completed_rate.min(1430.0) };
    };
    let of = |state| {
        let mut run = PlantedRun::new(233.0, 1430.0).steps(&[1, 2, 4]).rates(&[0.5, 0.8]).change(first).run();
        let profile = crate::waits::tests::process(8.0, &[(state, "pipe to pv:9", 0.84)]);
        let last = run.trials.iter_mut().rfind(|t| t.kind == run::TrialKind::Sweep);
        let side = last.and_then(|t| t.server.as_mut());
        side.into_iter().for_each(|side| side.waits = Some(Box::new(profile.clone())));
        crate::judge(&mut run);
        run.findings.capacity.unwrap()
    };
    let (full, none) = (of(run::ThreadState::FullPipe), of(run::ThreadState::Events));
    assert!((1100.0..1500.0).contains(&full.rate), "{full:?}");
    assert!(none.rate > 4000.0, "without a pipe, more clients may make a server slower: {none:?}");
}

#[test]
fn a_sweep_does_not_outdo_an_open_loop_that_failed_below_it() {
    let fails = |t: &mut run::Trial, p: &crate::planted::Point| {
        if t.kind == run::TrialKind::Search && p.offered > 150.0 {
            t.latency_us.p99 = 1e9;
        }
    };
    let c = capacity(&PlantedRun::new(20_000.0, 200.0).rates(&[0.5, 0.7, 0.8]).change(fails));
    assert!((c.rate - 140.0).abs() < 1e-9 && c.failed_at == Some(160.0), "{c:?}");
}

/// An experiment beyond the capacity reaches its highest throughput at a load that misses the objective.
#[test]
fn of_chosen_loads_the_best_that_held_counts() {
    let mut run = PlantedRun::new(1000.0, 4000.0).rates(&[]).run();
    for (i, t) in run.trials.iter_mut().enumerate() {
        t.kind = run::TrialKind::Experiment;
        t.key.put(run::ValueName::new("delay_ms"), i as f64);
    }
    let best = run.trials.iter().map(|t| t.rates.completed_rate).fold(0.0, f64::max);
    let most = run.trials.iter().map(|t| t.rates.completed_rate * 1.01).fold(0.0, f64::max);
    let last = run.trials.last_mut().unwrap();
    (last.rates.completed_rate, last.latency_us.p99) = (most, 1e9);
    crate::judge(&mut run);
    let c = run.findings.capacity.unwrap();
    assert!(c.held && c.rate <= best && c.rate > best / 2.0 && c.method.contains("the best of"), "{c:?}");
}

/// The test's server has ten workers and needs 10 ms per request, and the search ended at 139 requests/s. Every
/// load met the objective. The last window completed more requests than were offered in it, because some requests
/// were waiting when the window began.
#[test]
fn where_no_load_failed_the_capacity_is_at_least_the_highest_offered_rate() {
    let backlog = |t: &mut run::Trial, p: &crate::planted::Point| {
        if p.offered > 0.0 {
            t.rates.completed_rate = 1.1 * p.offered;
        }
    };
    let planted_run = PlantedRun::new(10_000.0, 1000.0).steps(&[1]).rates(&[0.074, 0.089, 0.139]).change(backlog);
    let c = capacity(&planted_run);
    assert!(c.held && c.at_least && (c.rate - 139.0).abs() < 1e-6 && c.failed_at.is_none(), "{c:?}");
    assert!(!capacity(&PlantedRun::new(10_000.0, 1000.0)).at_least, "it failed at 1,150/s");
    assert!(!capacity(&PlantedRun::new(10_000.0, 1000.0).rates(&[])).at_least, "the sweep stopped growing");
}

/// On a slow server, a search may have time for a single window. An earlier version of loadline then reported the rate of
/// the closed loop without an interval.
#[test]
fn one_window_beside_a_saturated_sweep_has_an_interval() {
    let with_times = |t: &mut run::Trial, _: &crate::planted::Point| {
        if t.kind == run::TrialKind::Search {
            let mut times = run::Hist::new();
            times.record_many_ns((1e3 * t.latency_us.p50) as u64, t.measured.tally.completed.max(1));
            t.histograms.insert("response".into(), times);
        }
    };
    let of = |steps: &[u32]| capacity(&PlantedRun::new(20_000.0, 200.0).steps(steps).rates(&[0.9]).change(with_times));
    let c = of(&[1, 2, 4, 8, 16]);
    let holds_truth = c.low.is_some_and(|low| low <= 200.0) && c.high.is_some_and(|high| high >= 200.0);
    assert!(holds_truth && c.windows == 1 && !c.at_least && c.rate > 180.0, "{c:?}");
    let grew = of(&[1, 2, 4]);
    assert!(grew.at_least && grew.low.is_none(), "the sweep shows no limit: {grew:?}");
}

/// In this test, the search ran out of time after two steps, and the second step was disturbed. An earlier version of
/// loadline took the rate of the second step as the server's limit. That version therefore reported a third of the true
/// capacity, without a warning.
#[test]
fn a_sweep_that_ended_early_after_one_flat_step_gives_a_lower_bound() {
    let of = |steps: &[u32]| {
        let flat = |t: &mut run::Trial, _: &crate::planted::Point| t.rates.completed_rate = 100.0;
        let mut run = PlantedRun::new(10_000.0, 100.0).steps(steps).rates(&[]).change(flat).run();
        run.plan.search.budget_s = 4.0;
        crate::judge(&mut run);
        run.findings.capacity.unwrap()
    };
    let early = of(&[1, 2]);
    assert!(early.held && early.at_least && early.needed_s.is_some_and(|s| s > 10.0 && s < 60.0), "{early:?}");
    let whole = of(&[1, 2, 4]);
    assert!(whole.held && !whole.at_least && whole.needed_s.is_none(), "{whole:?}");
}

/// A proxy without free ports failed at four rates below the estimate of 7,800/s. Only the lowest rate met the
/// objective.
#[test]
fn failures_at_lower_rates_end_the_capacity_below_them() {
    let fails = |t: &mut run::Trial, p: &crate::planted::Point| {
        let share = [(2631.0, 0.108), (3759.0, 0.345), (5370.0, 0.355), (7671.0, 0.167)];
        if let Some((_, share)) = share.iter().find(|(rate, _)| (p.offered - rate).abs() < 1.0) {
            let failed = (t.measured.tally.completed as f64 * share) as u64;
            (t.tally.unexpected_status, t.measured.tally.unexpected_status) = (failed, failed);
        }
    };
    let rates = [0.1842, 0.2631, 0.3759, 0.5370, 0.7671, 1.0959];
    let c = capacity(&PlantedRun::new(130.0, 10_000.0).rates(&rates).change(fails));
    assert!((c.rate - 1842.0).abs() < 1.0 && c.failed_at.is_some_and(|rate| (rate - 2631.0).abs() < 1.0), "{c:?}");
}

/// This test repeats a situation that was observed with a quota of a quarter of a CPU. In half a second, a closed
/// loop completed 65 requests (128/s) by chance, although the server can complete only 123/s.
#[test]
fn a_lower_bound_from_few_requests_of_a_closed_loop_allows_for_chance() {
    let of = |completed| {
        let few = move |t: &mut run::Trial, _: &crate::planted::Point| t.measured.tally.completed = completed;
        capacity(&PlantedRun::new(10_000.0, 1000.0).steps(&[1, 2]).rates(&[]).change(few))
    };
    let (few, many) = (of(100), of(1_000_000));
    assert!(few.at_least && many.at_least && (few.rate / many.rate - 0.8).abs() < 0.01, "{few:?} {many:?}");
}

/// The sweep ended early, at 200 requests/s. An open loop completed 350 requests/s while other programs ran. An earlier
/// version of loadline reported that the capacity is at least a rate below 200 requests/s.
#[test]
fn a_lower_bound_is_not_below_an_open_loop_that_held_beside_other_programs() {
    let disturbs = |t: &mut run::Trial, p: &crate::planted::Point| {
        let is_disturbed = t.kind == run::TrialKind::Search && p.offered > 300.0;
        t.measured.others = vec![if is_disturbed { 0.6 } else { 0.02 }; 20];
    };
    let c = capacity(&PlantedRun::new(10_000.0, 1000.0).steps(&[1, 2]).rates(&[0.1, 0.35]).change(disturbs));
    assert!(c.held && c.at_least && (c.rate - 350.0).abs() < 1e-6, "{c:?}");
    assert!(c.method.contains("other programs disturbed the machine") && c.closed_loop.is_none(), "{c:?}");
}

/// Four of five windows missed the objective, at lower rates than the window that met it. An earlier version of loadline
/// printed the rate of this single window as a lower bound, without any doubt.
#[test]
fn a_lower_bound_states_on_how_many_windows_it_rests() {
    let only_last = |t: &mut run::Trial, p: &crate::planted::Point| {
        t.measured.others = vec![if t.kind == run::TrialKind::Search { 0.6 } else { 0.02 }; 20];
        if t.kind == run::TrialKind::Search && p.offered < 400.0 {
            t.latency_us.p99 = 1e9;
        }
    };
    let rates = [0.2, 0.25, 0.3, 0.35, 0.42];
    let c = capacity(&PlantedRun::new(10_000.0, 1000.0).steps(&[1, 2]).rates(&rates).change(only_last));
    assert!(c.held && c.at_least && (c.rate - 420.0).abs() < 1e-6, "{c:?}");
    assert_eq!(c.bound_windows.map(|windows| (windows.held, windows.all)), Some((1, 5)), "{c:?}");
    let whole = capacity(&PlantedRun::new(10_000.0, 1000.0));
    assert!(!whole.at_least && whole.bound_windows.is_none(), "{whole:?}");
}

#[test]
fn a_capacity_that_no_rate_reached_is_marked() {
    let c = capacity(&PlantedRun::new(20_000.0, 200.0).change(|t, _| t.measured.tally.unanswered = 1000));
    assert!(!c.held, "{c:?}");
}

/// Other programs disturbed the sweep step with one client and the search step at a low rate, and both met the
/// objective nevertheless. The undisturbed steps had too many clients to meet the objective. In the situation of
/// this test, an earlier version of loadline found no rate that met the objective.
#[test]
fn a_disturbed_step_that_met_the_objective_gives_a_lower_bound() {
    let disturb = |t: &mut run::Trial, p: &crate::planted::Point| {
        let is_light = t.kind == run::TrialKind::Sweep && p.n < 2.0;
        let is_disturbed = is_light || t.kind == run::TrialKind::Search && p.offered < 100.0;
        t.measured.others = vec![if is_disturbed { 0.6 } else { 0.02 }; 20];
        if !is_disturbed {
            t.latency_us.p99 = 1e9;
        }
    };
    let c = capacity(&PlantedRun::new(20_000.0, 200.0).rates(&[0.4, 1.15]).change(disturb));
    assert!(c.held && c.at_least && (c.rate - 80.0).abs() < 1e-6, "{c:?}");
    assert!(c.method.contains("other programs disturbed the machine"), "{c:?}");
}
