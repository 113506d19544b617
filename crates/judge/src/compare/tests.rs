//! Tests of the word and the outcome of a comparison, and of runs that cannot be compared.

use run::{ComparisonOutcome, ComparisonResult, Protocol, Run, Trial, TrialKind};

use fastrand::Rng;

use super::Pairing::{InTurns, Kept};
use super::compare;
use stats::normal;

/// Makes a run with `n` windows of one load. The CPU time per request and the rate vary as little as on a machine
/// without other programs.
pub(super) fn windows(random: &mut Rng, n: usize, cpu_us: f64) -> Run {
    let mut run = crate::planted::PlantedRun::new(1000.0, 4000.0).rates(&[]).run();
    let template = run.trials.pop().unwrap();
    run.trials = (0..n).map(|_| window(random, &template, cpu_us)).collect();
    run
}

fn window(random: &mut Rng, template: &Trial, cpu_us: f64) -> Trial {
    let mut trial = template.clone();
    trial.kind = TrialKind::Fixed;
    let cpu = cpu_us * (1.0 + 0.01 * normal(random));
    trial.rates.completed_rate = 1e6 / cpu * (1.0 + 0.02 * normal(random));
    let p50 = 1e3 * (1.0 + 0.02 * normal(random));
    trial.latency_us.p50 = p50;
    trial.latency_us.p99 = 3.0 * p50 * (1.0 + 0.1 * normal(random));
    trial.latency_us.p99_9 = 9.0 * p50 * (1.0 + 0.3 * normal(random)).max(0.1);
    trial.histograms.clear();
    let server = trial.server.get_or_insert_default();
    let cost = |us: f64| run::Cost { per_request: run::Reading::Value(us), unit: run::FigureUnit::Micros };
    server.costs.insert("process_cpu_us".into(), cost(cpu));
    trial
}

pub(super) fn word(old: f64, new: f64, seed: u64) -> run::Comparison {
    let mut random = Rng::with_seed(seed);
    let (a, b) = (windows(&mut random, 20, old), windows(&mut random, 20, new));
    compare(("a", &[a]), ("b", &[b]), 0.03, InTurns).unwrap()
}

/// Makes all figures of a window slower by a factor.
pub(super) fn slow(trial: &mut Trial, factor: f64) {
    let cost = trial.server.as_mut().and_then(|server| server.costs.get_mut("process_cpu_us")).unwrap();
    cost.per_request = run::Reading::Value(cost.per_request.value().unwrap() * factor);
    trial.rates.completed_rate /= factor;
    for us in [&mut trial.latency_us.p50, &mut trial.latency_us.p99, &mut trial.latency_us.p99_9] {
        *us *= factor;
    }
}

/// The result word of each figure follows from the printed interval alone.
#[test]
fn each_word_follows_from_the_printed_interval() {
    for seed in 0..60 {
        let c = word(400.0, 400.0 + f64::from(seed % 4) * 6.0, 9000 + seed as u64);
        for one in c.comparisons.iter().filter(|one| one.difference.is_none()) {
            let Some((low, high)) = one.low.zip(one.high) else {
                assert_eq!(one.word, ComparisonResult::NotEnough, "{one:?}");
                continue;
            };
            let apart = matches!(one.word, ComparisonResult::Faster | ComparisonResult::Slower);
            assert_eq!(apart, low > 1.0 || high < 1.0, "{one:?}");
            assert!(apart == one.p.is_some_and(|p| p < 0.05), "{one:?}");
            let within = low >= 1.0 / 1.03 && high <= 1.03;
            assert_eq!(one.word == ComparisonResult::Same, within && !apart, "{one:?}");
        }
    }
}

#[test]
fn runs_that_cannot_be_compared_get_a_sentence() {
    let good = crate::planted::PlantedRun::new(1000.0, 4000.0).run();
    let none = Run::default();
    let mut other = good.clone();
    other.plan.load.protocol = Protocol::Echo { message_bytes: 1 };
    let say = |a: &Run, b: &Run| {
        compare(("a", std::slice::from_ref(a)), ("b", std::slice::from_ref(b)), 0.03, InTurns).unwrap_err()
    };
    assert!(say(&none, &good).contains("has no trial"));
    assert!(say(&good, &other).contains("protocols"));
    let mut silent = good.clone();
    silent.trials.iter_mut().for_each(|t| t.measured.tally.completed = 0);
    assert!(say(&silent, &good).contains("completed no request"));
}

/// A new server that died is a regression, even if no figure shows the death. The death of an old server says nothing
/// about the new server.
#[test]
fn a_new_server_that_died_is_a_regression_whatever_its_figures_are() {
    let mut random = Rng::with_seed(11);
    let (a, b) = (windows(&mut random, 20, 400.0), windows(&mut random, 20, 300.0));
    let died = |run: &Run, kind: run::IncidentKind| {
        let mut run = run.clone();
        let text = "the server ended at 0.9 s".to_owned();
        run.trials[19].incidents.push(run::Incident { kind, begin_s: 0.9, end_s: None, text });
        run
    };
    let both = |a: &Run, b: &Run| {
        compare(("a", std::slice::from_ref(a)), ("b", std::slice::from_ref(b)), 0.03, InTurns).unwrap()
    };
    let (ended, unreachable) = (run::IncidentKind::ServerEnded, run::IncidentKind::ServerUnreachable);
    for kind in [ended, unreachable, run::IncidentKind::ServerStopped] {
        let c = both(&a, &died(&b, kind));
        assert!(c.outcome == ComparisonOutcome::Regressed && c.regression && c.deaths.len() == 1, "{c:?}");
        assert!(c.verdict == ComparisonResult::Slower && c.decided_by.is_none(), "{c:?}");
        assert_eq!(c.deaths[0].text, "the server ended at 0.9 s (load 20 of 20)");
    }
    let old = both(&died(&a, ended), &a);
    assert!(old.outcome != ComparisonOutcome::Regressed && !old.deaths[0].new, "{old:?}");
    // If the generator ended but the server did not, the comparison counts no death of the server.
    assert!(both(&a, &died(&b, run::IncidentKind::GeneratorEnded)).deaths.is_empty());
    let mut silent = b.clone();
    silent.trials.iter_mut().for_each(|t| (t.measured.tally.completed, t.tally.sent) = (0, 4));
    let c = both(&a, &silent);
    assert!(c.outcome == ComparisonOutcome::Regressed && c.deaths[0].text.contains("answered nothing"), "{c:?}");
}

/// A required figure may be worse, so the comparison is undecided, although another figure certainly did not change.
#[test]
fn a_figure_that_may_be_worse_leaves_the_comparison_open() {
    let mut random = Rng::with_seed(12);
    let mut side = || {
        let mut run = windows(&mut random, 20, 400.0);
        run.trials.iter_mut().for_each(|t| t.rates.completed_rate *= 1.0 + 0.3 * normal(&mut random));
        run
    };
    let c = compare(("a", &[side()]), ("b", &[side()]), 0.03, InTurns).unwrap();
    assert!(c.outcome == ComparisonOutcome::Undecided && c.verdict == ComparisonResult::NotEnough, "{c:?}");
    assert!(c.open.iter().any(|figure| figure == "completed rate"), "{c:?}");
    let passed = word(400.0, 400.0, 3);
    assert!(passed.outcome == ComparisonOutcome::Passed && passed.verdict == ComparisonResult::Same, "{passed:?}");
}

#[test]
fn a_run_that_was_ended_early_and_another_machine_are_told() {
    let good = crate::planted::PlantedRun::new(1000.0, 4000.0).run();
    let mut cut = good.clone();
    cut.interrupted = true;
    cut.version = "0.0.1".into();
    let c = compare(("a", &[good]), ("b", &[cut]), 0.03, Kept).unwrap();
    assert!(c.differences[0].contains("ended early"), "the terminal shows only the first ones: {:?}", c.differences);
    assert!(c.differences.iter().any(|d| d.contains("version")), "{:?}", c.differences);
}

/// A generator of the new run was killed. An earlier version of loadline did not mention it.
#[test]
fn a_run_that_lost_a_generator_is_told() {
    let good = crate::planted::PlantedRun::new(1000.0, 4000.0).run();
    let mut broken = good.clone();
    broken.interrupted = true;
    let last = broken.trials.last_mut().unwrap();
    let (begin_s, text) = (last.measured.window.begin_s, "the generator 1 ended at 0.2 s".to_owned());
    last.incidents = vec![run::Incident { kind: run::IncidentKind::GeneratorEnded, begin_s, end_s: None, text }];
    let c = compare(("a", &[good]), ("b", &[broken]), 0.03, Kept).unwrap();
    let told = "a run of the new side was ended early (the generator 1 ended at 0.2 s)";
    assert!(c.deaths.is_empty() && c.differences[0].starts_with(told), "{:?}", c.differences);
}

/// The user interrupted the load of the new run 4 ms after its window had begun. An earlier version of loadline took
/// this window for a rate of 0, or for a server that answers nothing.
#[test]
fn a_window_of_some_milliseconds_is_not_compared() {
    let good = crate::planted::PlantedRun::new(1000.0, 4000.0).run();
    let cut = |completed| {
        let mut run = good.clone();
        (run.interrupted, run.trials) = (true, vec![good.trials[0].clone()]);
        run.trials[0].rates = run::Rates::default();
        (run.trials[0].measured.length_s, run.trials[0].measured.tally.completed) = (0.004, completed);
        run
    };
    for completed in [0, 2] {
        let why = compare(("a", std::slice::from_ref(&good)), ("b", &[cut(completed)]), 0.03, Kept).unwrap_err();
        assert!(why.starts_with("b was interrupted before it had measured a tenth of a second"), "{why}");
    }
    let mut both = good.clone();
    both.interrupted = true;
    both.trials.insert(0, cut(2).trials.remove(0));
    let c = compare(("a", std::slice::from_ref(&good)), ("b", &[both]), 0.03, Kept).unwrap();
    assert!(c.notes.iter().all(|note| !note.contains("completed nothing")), "{:?}", c.notes);
}

#[test]
fn the_cost_of_tls_is_reported_whichever_side_uses_tls() {
    let mut random = Rng::with_seed(7);
    let (mut plain, tls) = (windows(&mut random, 20, 300.0), windows(&mut random, 20, 400.0));
    let both = |a: &Run, b: &Run| {
        compare(("a", std::slice::from_ref(a)), ("b", std::slice::from_ref(b)), 0.03, InTurns).unwrap()
    };
    assert!(both(&plain, &tls).tls.is_none());
    let tls = Run { plan: run::Plan { load: with_tls(&tls), ..tls.plan.clone() }, ..tls };
    for told in [both(&plain, &tls), both(&tls, &plain)] {
        assert!(told.differences.iter().any(|d| d.starts_with("TLS:")), "{:?}", told.differences);
        let share = told.tls.unwrap();
        let (low, high) = (share.low.unwrap(), share.high.unwrap());
        assert!((share.share - 0.25).abs() < 0.02 && (share.us - 100.0).abs() < 6.0, "{share:?}");
        assert!(low < share.share && share.share < high && share.sentence.contains("TLS takes"));
    }
    plain.plan.load = with_tls(&plain);
    assert!(both(&plain, &tls).tls.is_none());
}

fn with_tls(run: &Run) -> run::LoadPlan {
    run::LoadPlan { tls: Some(run::TlsPlan::default()), ..run.plan.load.clone() }
}

/// The labels of the two sides' windows differ. In spite of the different labels, the windows are compared, because
/// their requested loads are equal.
#[test]
fn windows_are_paired_by_what_was_asked_and_not_by_their_labels() {
    let mut random = Rng::with_seed(3);
    let (a, mut b) = (windows(&mut random, 6, 400.0), windows(&mut random, 9, 400.0));
    b.trials.iter_mut().enumerate().for_each(|(i, t)| t.label = format!("{}, repeat {i}", t.label));
    let c = compare(("a", &[a]), ("b", &[b]), 0.03, InTurns).unwrap();
    assert!(c.comparisons.iter().all(|c| c.windows == (6, 9)), "{:?}", c.comparisons);
}

/// Changes of figures that do not measure speed are listed, but are no regression.
#[test]
fn figures_that_are_not_about_speed_are_listed_and_decide_nothing() {
    let mut random = Rng::with_seed(4);
    let [mut a, mut b] = [400.0, 400.0].map(|us| windows(&mut random, 20, us));
    for (run, more) in [(&mut a, 1.0), (&mut b, 1.2)] {
        for (i, trial) in run.trials.iter_mut().enumerate() {
            let server = trial.server.get_or_insert_default();
            for id in ["voluntary_switches", "page_faults"] {
                let per_request = run::Reading::Value(more * (1.0 + 0.001 * i as f64));
                server.costs.insert(id.into(), run::Cost { per_request, unit: run::FigureUnit::Plain });
            }
        }
    }
    let c = compare(("a", &[a]), ("b", &[b]), 0.03, InTurns).unwrap();
    let of = |name: &str| c.comparisons.iter().find(|c| c.figure == name).unwrap();
    for name in ["voluntary switches", "page_faults"] {
        assert!(of(name).word == ComparisonResult::Slower && (of(name).ratio - 1.2).abs() < 0.01, "{:?}", of(name));
    }
    assert!(of("page_faults").beside && !of("voluntary switches").beside);
    assert!(!c.regression && c.verdict != ComparisonResult::Slower, "{:?} by {:?}", c.verdict, c.decided_by);
}

/// Two windows per side give no interval. The stated factor tells how much more data would give an interval.
#[test]
fn too_few_windows_say_how_many_more() {
    let mut random = Rng::with_seed(6);
    let (a, b) = (windows(&mut random, 2, 400.0), windows(&mut random, 2, 440.0));
    let c = compare(("a", &[a]), ("b", &[b]), 0.03, InTurns).unwrap();
    let cpu = &c.comparisons[0];
    assert!(cpu.word == ComparisonResult::NotEnough && cpu.more == Some(2.0), "{cpu:?}");
    assert_eq!(c.outcome, ComparisonOutcome::Undecided);
}
