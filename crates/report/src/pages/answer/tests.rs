//! Tests of the summary of a search or an experiment in a few lines.

use run::{Bottleneck, Certainty, Estimate, Proof, Trial, Upstream, UpstreamLoad};

use super::*;

fn found() -> Run {
    let mut run = Run { trials: vec![Trial::default()], ..Run::default() };
    run.findings.capacity = Some(Capacity {
        rate: 3288.0,
        low: Some(2590.0),
        high: Some(4260.0),
        held: true,
        objective: "p99 under 20 ms".into(),
        failed_at: Some(3460.0),
        failed_why: Some("p99 was 31 ms".into()),
        ..Capacity::default()
    });
    let bottleneck = &mut run.findings.bottleneck;
    (bottleneck.id, bottleneck.sureness, bottleneck.confidence) = ("server-cpu".into(), Certainty::Likely, 0.8);
    (bottleneck.sentence, bottleneck.advice) = ("the CPUs are full".into(), vec!["use more CPUs".into()]);
    run
}

fn told(run: &Run) -> Vec<String> {
    let lines = lines(run);
    lines.iter().map(|l| format!("{}|{} {}", l.name, l.value, l.detail)).collect()
}

#[test]
fn each_question_has_one_line() {
    let mut run = found();
    run.findings.proof = Some(Proof { outcome: ProofOutcome::Proven, why: "it fell".into(), ..Proof::default() });
    assert_eq!(
        told(&run),
        [
            "Rate|3,300 requests/s (2,600 to 4,300) with p99 under 20 ms",
            "Beyond it| at 3,460/s p99 was 31 ms",
            "Limited by|server-cpu (likely, 80 %): the CPUs are full",
            "Tested|proven: it fell",
            "Try| use more CPUs",
        ]
    );
}

#[test]
fn a_rate_that_no_open_loop_held_says_so() {
    let mut run = found();
    let capacity = run.findings.capacity.as_mut().unwrap();
    (capacity.low, capacity.high) = (None, None);
    capacity.closed_loop = Some(run::ClosedLoopSource::default());
    let told = &told(&run)[0];
    assert!(told.ends_with("with p99 under 20 ms (closed loop: no rate was held in an open loop)"), "{told}");
}

#[test]
fn a_lower_bound_says_on_which_windows_it_rests() {
    let mut run = found();
    let c = run.findings.capacity.as_mut().unwrap();
    (c.rate, c.low, c.high, c.at_least, c.failed_at) = (675.0, None, None, true, None);
    c.bound_windows = Some(run::BoundWindows { held: 1, all: 5 });
    let [rate, beyond] = [told(&run)[0].clone(), told(&run)[1].clone()];
    assert_eq!(rate, "Rate|at least 675 requests/s with p99 under 20 ms (held in only 1 of 5 windows)");
    assert!(beyond.contains("4 open-loop windows failed") && !beyond.contains("no load failed"), "{beyond}");
}

#[test]
fn a_verdict_without_an_experiment_is_not_called_tested() {
    let mut run = found();
    run.findings.proof = Some(Proof::default());
    assert_eq!(told(&run)[3], "Not tested| no experiment was made");
    run.findings.proof = Some(Proof { why: "loadline cannot slow it".into(), ..Proof::default() });
    assert_eq!(told(&run)[3], "Not tested| loadline cannot slow it");
}

#[test]
fn threads_have_no_line_if_the_verdict_says_the_same() {
    let mut run = found();
    run.findings.waits = vec![run::WaitFinding { sentence: "all workers wait".into(), ..Default::default() }];
    let threads = |run: &Run| told(run).iter().filter(|line| line.contains("all workers wait")).count();
    assert_eq!(threads(&run), 1);
    let first = &mut run.findings.waits[0];
    first.cause = run::WaitCause::SerialCpu;
    run.findings.bottleneck.id = "server-single-thread".into();
    assert_eq!(threads(&run), 0, "the verdict names the same thread");
    run.findings.bottleneck.sentence = "all workers wait; the server handles 4 requests at a time".into();
    run.findings.bottleneck.id = "server-concurrency".into();
    assert_eq!(threads(&run), 1);
}

#[test]
fn a_broken_objective_says_why_in_its_own_line() {
    let mut run = found();
    run.findings.capacity.as_mut().unwrap().held = false;
    run.findings.bottleneck = Bottleneck { missing: vec!["a quiet machine".into()], ..Bottleneck::default() };
    let told = told(&run);
    assert_eq!(told[0], "Rate|below 3,300 requests/s with p99 under 20 ms: at 3,460/s p99 was 31 ms");
    assert_eq!(told.last().unwrap(), "Missing| a quiet machine");
}

/// The user interrupted a search of 15 s after 1 s. An earlier version of loadline advised a budget of 367 s.
#[test]
fn an_interrupted_search_gets_no_advice_about_its_budget() {
    let mut run = found();
    let capacity = run.findings.capacity.as_mut().unwrap();
    (capacity.at_least, capacity.failed_at, capacity.needed_s) = (true, None, Some(367.0));
    let has = |run: &Run, line: &str| told(run).iter().any(|told| told.starts_with(line));
    assert!(has(&run, "Beyond it| no load failed: --budget 367s tries higher ones"), "{:?}", told(&run));
    run.interrupted = true;
    assert!(has(&run, "Beyond it| the search was interrupted before it tried more loads"), "{:?}", told(&run));
}

#[test]
fn users_have_their_own_line() {
    let mut run = found();
    let capacity = Some(Estimate { value: 151.0, low: 84.0, high: 250.0 });
    run.findings.users =
        Some(UsersFinding { held: Some(174), failed: Some(182), rate: 749.0, capacity, ..UsersFinding::default() });
    assert!(told(&run)[0].starts_with("Users|174 users, 749 requests/s, who think"), "{:?}", told(&run));
    assert!(told(&run)[0].ends_with("; 182 did not hold it; the limit is about 151 (84 to 250)"), "{:?}", told(&run));
}

/// In a damaged file, services may connect to each other in a circle.
#[test]
fn the_chain_leads_from_the_client_to_the_service_even_in_a_circle() {
    let mut run = found();
    let load = |address: &str, from: &str| UpstreamLoad {
        behind: Upstream { address: address.into(), from: from.into(), ..Upstream::default() },
        ..UpstreamLoad::default()
    };
    run.findings.behind = vec![load("a:1", ""), load("b:2", "a:1")];
    let waits = WaitsFor { address: "b:2".into(), processes: vec!["db:7".into()], ..WaitsFor::default() };
    run.findings.bottleneck.waits_for = Some(waits);
    assert!(told(&run).contains(&"Chain| client -> server -> a:1 -> b:2 (db:7)".to_string()), "{:?}", told(&run));
    run.findings.behind[0].behind.from = "b:2".into();
    assert_eq!(told(&run).iter().filter(|line| line.contains("client -> server -> a:1 -> b:2")).count(), 1);
}

/// The capacity of a server that still starts processes grows with them, so a longer run finds more.
#[test]
fn a_rate_of_a_growing_server_is_a_lower_bound_with_its_reason() {
    let mut run = found();
    let capacity = run.findings.capacity.as_mut().unwrap();
    (capacity.at_least, capacity.low, capacity.high) = (true, None, None);
    capacity.growing = Some(run::GrowingProcesses { program: "php-fpm8.2".into(), first: 3, last: 10 });
    let told = told(&run);
    assert_eq!(told[0], "Rate|at least 3,290 requests/s with p99 under 20 ms");
    let more = "php-fpm8.2 still started processes: a longer --budget measures more of them";
    assert_eq!(told[1], format!("Beyond it| at 3,460/s p99 was 31 ms; {more}"));
}
