//! Tests of experiments on loads that saturate nothing. While nothing is full, throughput of a closed loop still
//! depends on the speed of the CPUs. The reason is that each request computes for a share of its response time.

use run::{LOAD_LEVER, ProofOutcome, Run};

use super::tests::outcome;
use crate::planted::Who::Server;
use crate::planted::proofs::{argued, count, few_clients, sleeps, slots, tried_on, turns, verdict, waits};
use crate::planted::{PlantedRun, Point};
use crate::prove::conclude;
use crate::thresholds::{SHOWN, SUPPORTED};

/// Makes an experiment on the verdict `id`. `own` is the elasticity of throughput for the speed of the server's CPU.
/// `load` is the factor by which twice the load changes throughput.
fn tried(run: Run, id: &str, own: f64, load: Option<f64>) -> (ProofOutcome, String, f64, String) {
    let before = if id == "not-saturated" { 0.8 } else { 0.34 };
    let (proof, found) = tried_on(run, verdict(id, before), |proof, _| {
        proof.trials.push(slots("server-cpu", own, 0.03));
        proof.trials.push(count(0.5, 1.0));
        proof.switched.extend(load.map(|ratio| turns(LOAD_LEVER, ratio)));
    });
    (proof.outcome, found.id, found.confidence, proof.why)
}

/// Each of eight connections had a thread of its own, and half of the CPUs were idle. An earlier version of loadline
/// nevertheless called one thread full, with a confidence of 95 %.
#[test]
fn a_thread_of_each_connection_is_full_only_if_a_larger_load_changes_nothing() {
    for id in ["server-single-thread", "server-cpu", "unknown", "server-concurrency"] {
        let (outcome, found, confidence, why) = tried(few_clients(0.91), id, 0.91, None);
        assert_eq!((outcome, found.as_str(), confidence), (ProofOutcome::Inconclusive, id, 0.34), "{why}");
        assert!(why.contains("neither a plateau nor a queue") && why.contains("load was not tested"), "{why}");
        let (outcome, found, _, why) = tried(few_clients(0.91), id, 0.91, Some(1.9));
        let said = if id == "unknown" { ProofOutcome::Supported } else { ProofOutcome::Refuted };
        assert_eq!((outcome, found.as_str()), (said, "not-saturated"), "{why}");
        assert!(why.contains("with twice the load"), "{why}");
    }
    let (outcome, _, confidence, why) = tried(few_clients(0.91), "server-single-thread", 0.91, Some(1.0));
    assert!(outcome == ProofOutcome::Proven && confidence >= SHOWN, "a load that changes nothing shows it: {why}");
    let (outcome, found, confidence, why) = tried(few_clients(0.91), "client-cpu", 0.91, None);
    assert!(outcome == ProofOutcome::Refuted && found != "client-cpu" && confidence < SUPPORTED, "{found}: {why}");
}

/// An earlier version of loadline refuted the verdict `not-saturated`, because throughput follows the CPU of a server
/// whose requests compute most of the time.
#[test]
fn only_a_larger_load_refutes_that_nothing_is_saturated() {
    for (load, said, found) in [
        (None, ProofOutcome::NotTested, "not-saturated"),
        (Some(1.9), ProofOutcome::Supported, "not-saturated"),
        (Some(1.0), ProofOutcome::Refuted, "server-concurrency"),
    ] {
        let (outcome, id, confidence, why) = tried(few_clients(0.85), "not-saturated", 0.85, load);
        assert_eq!((outcome, id.as_str()), (said, found), "{why}");
        assert!(load.is_some() || confidence == 0.8 && why.starts_with("twice the load was not tested"), "{why}");
    }
}

/// The run is judged after each part of an experiment. In an experiment without time slots, an earlier version of
/// loadline recorded the elasticity for the load once for each judgement.
#[test]
fn an_experiment_that_is_judged_twice_has_one_elasticity_for_the_load() {
    let mut run = few_clients(0.85);
    crate::judge(&mut run);
    let (mut proof, mut found) = tried_on(few_clients(0.85), verdict("not-saturated", 0.8), |proof, _| {
        proof.switched.push(turns(LOAD_LEVER, 1.9));
    });
    conclude(&crate::Facts::of(&run), &mut proof, &mut found);
    let of_load = proof.elasticities.iter().filter(|elasticity| elasticity.lever == LOAD_LEVER);
    assert_eq!(of_load.count(), 1, "{:?}", proof.elasticities);
}

/// Makes a server with `threads` equally busy threads on four CPUs, under one and eight clients. At `x_max` requests
/// per second, each thread runs for the share `busy` of the time.
fn server(threads: u32, busy: f64, x_max: f64) -> PlantedRun {
    let each = move |p: &Point| p.x / p.capacity * busy * 1e6;
    let all = move |p: &Point| f64::from(threads) * each(p);
    let planted = PlantedRun::new(1000.0, x_max)
        .steps(&[1, 8])
        .rates(&[])
        .per_s(Server, "process.cpu", "srv:100", all)
        .per_s(Server, "cpu.user", "total", all)
        .per_s(Server, "cpu.system", "total", |_| 0.0)
        .per_s(Server, "cpu.idle", "total", move |p| 4e6 - all(p));
    (0..8).fold(planted, |planted, at| {
        let thread = format!("srv:100/{}", 101 + at);
        planted.per_s(Server, "thread.cpu", &thread, move |p| if at < threads { each(p) } else { 0.0 })
    })
}

/// Returns the confidence of an experiment that proves the verdict `id` without a larger load.
fn proven(run: Run, id: &str, counted: f64) -> f64 {
    let (proof, found) = tried_on(run, verdict(id, 0.6), |proof, lever| {
        proof.trials.push(slots(lever, 0.95, 0.03));
        proof.trials.push(count(0.5, counted));
    });
    assert_eq!((proof.outcome, found.id.as_str()), (ProofOutcome::Proven, id), "{}", proof.why);
    found.confidence
}

/// `loadline prove --connections 8` has one step with one client, and one with eight.
#[test]
fn a_full_server_is_proven_by_a_queue_or_by_its_utilization() {
    for steps in [&[1, 8][..], &[8]] {
        let one = server(1, 0.99, 1000.0).steps(steps).run();
        assert!(proven(one, "server-single-thread", 1.0) >= SHOWN, "{steps:?}");
    }
    let unread = server(2, 0.97, 2000.0).level(Server, "connection.receive_queue", "", 60.0).run();
    assert!(proven(unread, "server-single-thread", 1.0) >= SHOWN);
    assert!(proven(server(4, 0.99, 4000.0).run(), "server-cpu", 0.5) >= SHOWN);
    let delayed = |planted: PlantedRun, thread: u32| {
        let thread = format!("srv:100/{thread}");
        planted.per_s(Server, "thread.run_delay", &thread, |p| if p.n > 4.0 { 0.5e6 } else { 0.0 })
    };
    let waits = (101..109).fold(server(8, 0.46, 4000.0), delayed);
    assert!(proven(waits.run(), "server-cpu", 0.5) >= SHOWN, "each connection has a thread, which waits for a CPU");
}

/// A verdict that an experiment proved must not be called "less sure" for a reason that the experiment removed.
#[test]
fn a_proven_verdict_names_no_reason_to_be_less_sure() {
    let told = |load: Option<f64>| {
        let mut run = few_clients(0.91);
        crate::judge(&mut run);
        let mut proof = crate::prove::predicted(&run, "server-cpu", 0.25);
        proof.trials.extend([slots("server-cpu", 0.91, 0.03), count(0.5, 1.0)]);
        proof.switched.extend(load.map(|ratio| turns(LOAD_LEVER, ratio)));
        run.findings.proof = Some(proof);
        crate::judge(&mut run);
        run.findings.bottleneck
    };
    let (open, proven) = (told(None), told(Some(1.0)));
    assert!(open.id == "server-single-thread" && open.sentence.contains("less sure because this load"), "{open:#?}");
    assert!(
        proven.id == open.id && proven.confidence >= SHOWN && !proven.sentence.contains("less sure"),
        "{proven:#?}"
    );
}

/// An earlier version of loadline called a server saturated although the limit was the network distance, rare slow
/// answers, or too few connections.
#[test]
fn throughput_that_grows_with_the_load_is_not_saturated() {
    for (id, said) in [("server-concurrency", ProofOutcome::Refuted), ("unknown", ProofOutcome::Supported)] {
        let found = waits(sleeps(), verdict(id, 0.8), Some(1.9));
        assert_eq!(outcome(&found), (said, "not-saturated"), "{}", found.0.why);
        assert!(found.1.sentence.contains("the load itself"), "{:?}", found.1);
        let load = found.0.elasticities.iter().find(|e| e.lever == LOAD_LEVER).unwrap();
        assert!((load.estimate.value - 0.926).abs() < 0.03 && !load.is_part(), "{load:?}");
    }
    let found = waits(Run::default(), verdict("not-saturated", 0.6), Some(1.9));
    assert_eq!(outcome(&found), (ProofOutcome::Supported, "not-saturated"), "{}", found.0.why);
    let none = waits(sleeps(), verdict("not-saturated", 0.6), Some(1.0));
    assert_eq!(outcome(&none), (ProofOutcome::Refuted, "server-concurrency"), "{}", none.0.why);
    let wide = tried_on(sleeps(), verdict("unknown", 0.0), |proof, _| {
        let mut load = turns(LOAD_LEVER, 1.0);
        load.on.iter_mut().zip([2.0, 30.0, 4.0, 12.0, 5.0]).for_each(|(on, by)| *on *= by);
        proof.switched.push(load);
    });
    assert_ne!(wide.1.id, "not-saturated", "more than twice is noise: {}", wide.0.why);
    // Other programs ended the sweep after one client, but the open loop completed far more than twice the rate of the
    // sweep.
    let mut early = sleeps();
    early.trials.retain(|t| t.kind != run::TrialKind::Sweep || t.intensity.in_flight().is_some_and(|n| n <= 1.0));
    let known = waits(early, verdict("unknown", 0.0), Some(1.9));
    assert_ne!(known.1.id, "not-saturated", "that more load completes more was known: {}", known.0.why);
    // This test repeats a situation that was observed with PostgreSQL, whose transactions all update one row. More
    // clients did not raise throughput in the sweep, but twice the load raised it by the factor 1.29 in three
    // comparisons.
    let open = waits(sleeps(), argued(sleeps()), Some(1.24));
    assert_eq!(open.1.id, "server-concurrency", "the sweep says otherwise: {}", open.0.why);
    assert_ne!(open.0.outcome, ProofOutcome::Refuted, "{}", open.0.why);
}
