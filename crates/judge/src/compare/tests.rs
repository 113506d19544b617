use run::{ComparedWord, Protocol, Run, Trial, TrialKind};

use fastrand::Rng;

use super::compare;

/// A run of windows of one load, in which the CPU time of a request and the rate scatter as they do on a quiet machine.
fn windows(random: &mut Rng, n: usize, cpu_us: f64) -> Run {
    let mut run = crate::planted::PlantedRun::new(1000.0, 4000.0).rates(&[]).run();
    let template = run.trials.pop().unwrap();
    run.trials = (0..n).map(|_| window(random, &template, cpu_us)).collect();
    run
}

fn normal(random: &mut Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
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
    let cost = |us: f64| run::Cost { per_request: run::Reading::Value(us), unit: "us".into() };
    server.costs.insert("process_cpu_us".into(), cost(cpu));
    trial
}

fn word(old: f64, new: f64, seed: u64) -> run::Comparison {
    let mut random = Rng::with_seed(seed);
    let (a, b) = (windows(&mut random, 20, old), windows(&mut random, 20, new));
    compare(("a", &[a]), ("b", &[b]), 0.03).unwrap()
}

#[test]
fn a_server_against_itself_is_called_different_in_at_most_five_of_a_hundred() {
    let told =
        (1..=100).filter(|s| matches!(word(400.0, 400.0, *s).verdict, ComparedWord::Faster | ComparedWord::Slower));
    let told = told.count();
    println!("A/A: {told} of 100 told apart");
    assert!(told <= 5, "{told}");
}

#[test]
fn planted_five_and_two_percent_are_found() {
    let found = |new: f64| {
        let slower = |s: &u64| {
            let c = word(400.0, new, 1000 + s);
            c.comparisons.iter().any(|c| c.figure == "server CPU per request" && c.word == ComparedWord::Slower)
        };
        (1..=50).filter(slower).count()
    };
    let (five, two) = (found(420.0), found(408.0));
    println!("planted 5 %: {five} of 50; 2 %: {two} of 50");
    assert!(five >= 49 && two >= 40, "{five} {two}");
    let c = word(400.0, 420.0, 7);
    assert!(c.regression && c.decided_by.is_some() && c.verdict == ComparedWord::Slower, "{c:?}");
    assert!(!word(420.0, 400.0, 7).regression);
}

#[test]
fn what_cannot_be_compared_gets_a_sentence() {
    let good = crate::planted::PlantedRun::new(1000.0, 4000.0).run();
    let none = Run::default();
    let mut other = good.clone();
    other.plan.load.protocol = Protocol::Echo { message_bytes: 1 };
    let say =
        |a: &Run, b: &Run| compare(("a", std::slice::from_ref(a)), ("b", std::slice::from_ref(b)), 0.03).unwrap_err();
    assert!(say(&none, &good).contains("has no trial"));
    assert!(say(&good, &other).contains("protocols"));
    let mut silent = good.clone();
    silent.trials.iter_mut().for_each(|t| t.measured.tally.completed = 0);
    assert!(say(&good, &silent).contains("completed no request"));
}

#[test]
fn a_run_that_was_ended_early_and_another_machine_are_told() {
    let good = crate::planted::PlantedRun::new(1000.0, 4000.0).run();
    let mut cut = good.clone();
    cut.interrupted = true;
    cut.version = "0.0.1".into();
    let c = compare(("a", &[good]), ("b", &[cut]), 0.03).unwrap();
    assert!(c.differences.iter().any(|d| d.contains("ended early")), "{:?}", c.differences);
    assert!(c.differences.iter().any(|d| d.contains("version")), "{:?}", c.differences);
}

#[test]
fn what_tls_takes_of_a_request_is_told_whichever_of_both_speaks_it() {
    let mut random = Rng::with_seed(7);
    let (mut plain, tls) = (windows(&mut random, 20, 300.0), windows(&mut random, 20, 400.0));
    let both =
        |a: &Run, b: &Run| compare(("a", std::slice::from_ref(a)), ("b", std::slice::from_ref(b)), 0.03).unwrap();
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
