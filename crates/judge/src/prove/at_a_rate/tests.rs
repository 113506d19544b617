//! Tests of experiments with an open loop, at a fixed rate.

use run::{Certainty, ProofTrial, Rates, Summary, TrialKind};

use super::super::arrivals::OpenNetwork;
use super::*;
use crate::planted::{PlantedRun, Who};

/// Simulates and evaluates an experiment on two queues and a delay. `predicted` is a lever, with its predicted
/// share of the growth of the response time.
fn tried(demands: [f64; 2], delay_s: f64, predicted: Option<(&str, f64)>) -> (Proof, Bottleneck) {
    tried_on(&Run::default(), demands, delay_s, predicted)
}

/// Evaluates an experiment like that of [`tried`], with the counters of `run`.
fn tried_on(run: &Run, demands: [f64; 2], delay_s: f64, predicted: Option<(&str, f64)>) -> (Proof, Bottleneck) {
    let trial = OpenNetwork { demands: demands.to_vec(), delay_s, dose: 0.1 }.trial(1);
    let mut levers = trial.levers.clone();
    (levers[0].lever, levers[1].lever) = ("server-cpu".into(), "client-cpu".into());
    let effect = |lever: &str| Effect { lever: lever.into(), dose: 0.1, ratio: 1.4, ..Effect::default() };
    let mut proof = Proof {
        of: ProofMetric::Mean,
        prediction: predicted.map(|(lever, _)| effect(lever)),
        predicted_share: predicted.map(|(_, share)| share),
        trials: vec![ProofTrial { levers, ..trial }],
        ..Proof::default()
    };
    let mut verdict = Bottleneck { id: "not-saturated".into(), confidence: 0.9, ..Bottleneck::default() };
    conclude(&Facts::of(run), &mut proof, &mut verdict);
    (proof, verdict)
}

#[test]
fn the_predicted_largest_part_of_the_response_time_is_proven() {
    let (proof, verdict) = tried([0.7, 0.1], 0.0, Some(("server-cpu", 0.9)));
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "not-saturated"), "{}", proof.why);
    assert!(proof.why.contains("of the server's CPU raised mean response time by"), "{}", proof.why);
    assert!(proof.why.contains("(predicted: 40.0 %)"), "{}", proof.why);
    assert_eq!((verdict.confidence, verdict.sureness), (0.9, Certainty::default()));
    assert!(proof.effects.iter().any(|e| e.lever == RATE && e.ratio > 1.0), "{proof:?}");
}

/// A growth by 15 % was predicted, and a growth by 86 % was measured. An earlier version of loadline called this effect
/// proven. The model assumed four parallel servers of one queue, but a lock let only one of them work at a time.
#[test]
fn an_effect_of_another_size_than_predicted_is_no_proof() {
    let of = |predicted: f64| {
        let (mut proof, mut verdict) = tried([0.7, 0.1], 0.0, Some(("server-cpu", 0.9)));
        proof.prediction.iter_mut().for_each(|p| p.ratio = predicted);
        weighed(&Facts::of(&Run::default()), &mut proof, &mut verdict, "server-cpu");
        (proof.outcome, proof.why)
    };
    for (predicted, said) in [(1.1, "more than predicted: fewer requests"), (3.0, "less than predicted")] {
        let (outcome, why) = of(predicted);
        assert!(outcome == ProofOutcome::Supported && why.contains(said), "{predicted}: {why}");
    }
    assert_eq!(of(1.45).0, ProofOutcome::Proven, "{}", of(1.45).1);
}

#[test]
fn a_larger_part_than_the_predicted_one_refutes_and_shares_are_reported() {
    let (proof, _) = tried([0.7, 0.1], 0.0, Some(("client-cpu", 0.8)));
    assert_eq!(proof.outcome, ProofOutcome::Refuted, "{}", proof.why);
    assert!(
        proof.why.contains("against the prediction") && proof.why.contains("the server's CPU explains"),
        "{}",
        proof.why
    );
    let (proof, _) = tried([0.2, 0.1], 9.0, Some(("server-cpu", 0.2)));
    assert_eq!(proof.outcome, ProofOutcome::Supported, "a delay was predicted: {}", proof.why);
    let (proof, _) = tried([0.6, 0.6], 0.0, Some(("server-cpu", 0.5)));
    assert_eq!(proof.outcome, ProofOutcome::Inconclusive, "{}", proof.why);
}

/// Makes a run of an application that uses one CPU, in front of a database that uses `cpus` CPUs. `own` and `other`
/// are the CPU masks of the application and of the database.
fn before_a_database(cpus: f64, [own, other]: [f64; 2]) -> Run {
    let (app, database) = ("srv:100", "postgres:200");
    let mut run = PlantedRun::new(4000.0, 1000.0)
        .per_s(Who::Server, "process.cpu", app, |p| p.x * 1e3)
        .level(Who::Server, "process.cpu_mask", app, own)
        .per_s(Who::Server, "process.cpu", database, move |p| p.x * cpus * 1e3)
        .level(Who::Server, "process.cpu_mask", database, other)
        .change(move |trial, _| {
            let processes = vec![database.to_string()];
            let upstream = run::Upstream { depth: 1, processes, ..run::Upstream::default() };
            trial.server.iter_mut().for_each(|side| side.behind = vec![upstream.clone()]);
        })
        .run();
    crate::judge(&mut run);
    run
}

/// The queueing network of the prediction does not include upstreams. An earlier version of loadline refuted its
/// prediction, because the lever on the application's CPUs slowed the database.
#[test]
fn a_lever_that_also_slows_an_upstream_refutes_and_proves_nothing() {
    let outcome = |cpus, masks, predicted| {
        let (proof, _) = tried_on(&before_a_database(cpus, masks), [0.7, 0.1], 0.0, Some(predicted));
        (proof.outcome, proof.why)
    };
    let (other, own) = (("client-cpu", 0.8), ("server-cpu", 0.9));
    for predicted in [other, own] {
        let (found, why) = outcome(2.0, [3.0, 3.0], predicted);
        assert_eq!(found, ProofOutcome::Inconclusive, "{why}");
        assert!(why.contains("also slowed an upstream on the same CPUs"), "{why}");
    }
    assert_eq!(outcome(2.0, [3.0, 12.0], other).0, ProofOutcome::Refuted, "CPUs of its own");
    assert_eq!(outcome(2.0, [3.0, 12.0], own).0, ProofOutcome::Proven, "CPUs of its own");
}

#[test]
fn an_upstream_that_hardly_works_leaves_the_largest_part_to_the_server() {
    let part =
        Elasticity { lever: "server-cpu".into(), estimate: Estimate::around(0.9, 0.15), ..Elasticity::default() };
    let remainder = Some(Estimate::around(0.1, 0.15));
    let proof = Proof { elasticities: vec![part], remainder, ..Proof::default() };
    let doubted = |cpus| {
        let run = before_a_database(cpus, [3.0, 3.0]);
        let facts = Facts::of(&run);
        (slows_more(&facts, &proof, "server-cpu"), own_share(&facts, "server-cpu"))
    };
    let ((is_little, share), (is_much, _)) = (doubted(0.1), doubted(2.0));
    assert!(!is_little && is_much && (share - 1.0 / 1.1).abs() < 1e-6, "{is_little} {is_much} {share}");
}

fn trial(intensity: Intensity, kind: TrialKind, mean: f64, completed: f64) -> Trial {
    let latency_us = Summary { count: 100, mean, p50: 0.7 * mean, ..Summary::default() };
    let rates = Rates { offered_rate: 100.0, completed_rate: completed, ..Rates::default() };
    Trial { intensity, kind, latency_us, rates, ..Trial::default() }
}

#[test]
fn the_response_time_shows_the_utilization_at_a_rate() {
    let one = Intensity::default();
    let open = Intensity::Open { rate: 100.0, arrival: run::Arrival::default(), max_connections: 10, pipeline: 1 };
    let alone = trial(one, TrialKind::Proof, 1000.0, 900.0);
    let run = |completed| Run {
        trials: vec![alone.clone(), trial(open.clone(), TrialKind::Fixed, 4000.0, completed)],
        ..Run::default()
    };
    let at = at_rate(&run(99.0)).unwrap();
    assert!((at.busy - 0.75).abs() < 1e-9 && (at.kept - 0.99).abs() < 1e-9, "{at:?}");
    assert_eq!(at_rate(&Run::default()), None);
    assert_eq!(predicted_at_rate(&Run::default(), ProofMetric::P50, 0.1).prediction, None);
}

#[test]
fn the_highest_percentile_that_is_named_answers() {
    let of = |p50_us, mean_us, p99_us| answer_of(&Objective { p50_us, mean_us, p99_us, ..Objective::default() });
    assert_eq!(of(None, None, None), ProofMetric::P50);
    assert_eq!((of(None, Some(1.0), None), of(Some(1.0), None, Some(2.0))), (ProofMetric::Mean, ProofMetric::P99));
}
