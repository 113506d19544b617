//! Tests of the verdict that replaces a refuted or unknown one, and of the next bottleneck.

use run::{NextBottleneck, ProofOutcome};

use super::tests::outcome;
use super::*;
use crate::planted::proofs::*;
use crate::prove::suspects_of;
use crate::thresholds::{SHOWN, SUPPORTED, UNDECIDED};

#[test]
fn a_wrong_verdict_is_refuted_and_both_causes_are_named() {
    let (proof, verdict) = tried_on(full(), verdict("client-cpu", 0.95), |proof, _| {
        proof.trials.push(slots("server-cpu", 0.9, 0.05));
    });
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Refuted, "server-cpu"));
    assert!(proof.why.contains("client-cpu") && proof.why.contains("the server's CPU explains"), "{}", proof.why);
    assert!(verdict.sentence.contains("CPU is full") && verdict.confidence == SUPPORTED, "{verdict:?}");
}

/// If an experiment refuted a verdict, an earlier version of loadline gave every new verdict the confidence of a proof
/// (0.95). The new verdict got this confidence even without a prediction of the effect, and without counters that show
/// the new cause.
#[test]
fn a_new_verdict_is_as_sure_as_what_was_shown() {
    let refuted = |run: Run, predicted: Option<f64>| {
        tried_on(run, verdict("client-cpu", 0.8), |proof, _| {
            let of_next = |ratio| run::Effect {
                lever: "server-cpu".into(),
                dose: 0.25,
                ratio,
                low: ratio,
                high: ratio,
                at: String::new(),
            };
            proof.runner_up = predicted.map(|ratio| run::RunnerUp {
                bottleneck: "server-cpu".into(),
                prediction: of_next(ratio),
                measured: None,
            });
            proof.trials.push(slots("server-cpu", 0.95, 0.05));
        })
    };
    for (predicted, confidence) in [(None, SUPPORTED), (Some(0.76), SHOWN), (Some(1.0), SUPPORTED)] {
        let (proof, found) = refuted(full(), predicted);
        assert_eq!(outcome(&(proof.clone(), found.clone())), (ProofOutcome::Refuted, "server-cpu"), "{}", proof.why);
        assert_eq!(found.confidence, confidence, "{predicted:?}: {}", proof.why);
    }
    let (proof, unseen) = refuted(sleeps(), Some(0.76));
    assert!(unseen.confidence <= SUPPORTED, "its rule found nothing: {unseen:?} {}", proof.why);
}

/// The generator could complete 1.1 times the server's rate. With three quarters of its CPU, the generator completes
/// only 0.825 times the server's rate.
#[test]
fn the_runner_up_gets_a_prediction_that_is_compared_with_its_effect() {
    let next = |id: &str| Some(NextBottleneck { id: id.into(), rate: Some(1100.0), why: String::new() });
    let mut run = Run::default();
    run.trials.push(run::Trial::default());
    (run.trials[0].rates.completed_rate, run.findings.picks.decisive) = (1000.0, Some(0));
    run.findings.bottleneck = Bottleneck { id: "server-cpu".into(), next: next("client-cpu"), ..Bottleneck::default() };
    let second = runner_up(&run, "client-cpu", 0.25).unwrap();
    assert!((second.prediction.ratio - 0.825).abs() < 1e-9, "{second:?}");
    assert_eq!(runner_up(&run, "server-cpu", 0.25), None, "that is the verdict's own");
    let mut proof = predicted(&run, "server-cpu", 0.25);
    proof.runner_up = Some(second);
    proof.trials.push(slots("server-cpu", 0.9, 0.05));
    conclude(&Facts::of(&Run::default()), &mut proof, &mut run.findings.bottleneck.clone());
    let measured = proof.runner_up.unwrap().measured.unwrap();
    assert!(measured.lever == "client-cpu" && measured.ratio > 0.95, "{measured:?}");
    run.findings.bottleneck.next = next("tcp-backlog");
    assert_eq!(runner_up(&run, "client-cpu", 0.25), None);
}

#[test]
fn a_bottleneck_that_its_own_lever_refutes_is_not_the_verdict() {
    let (proof, verdict) = in_turns("client-ports", 1.0);
    assert_eq!(proof.outcome, ProofOutcome::Refuted, "{}", proof.why);
    assert!(
        verdict.id != "client-ports" && verdict.ruled_out.iter().any(|out| out.id == "client-ports"),
        "{verdict:?}"
    );
}

/// The verdict is replaced by the next verdict from the counters. The new verdict keeps its confidence from the
/// counters, although the experiment excluded other resources.
#[test]
fn a_refuted_verdict_is_followed_by_what_the_counters_say_without_it() {
    let (proof, verdict) = waits(sleeps(), verdict("server-cpu", 0.95), None);
    let before = argued(sleeps());
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Refuted, "server-concurrency"), "{}", proof.why);
    assert_eq!(verdict.confidence, before.confidence);
    assert!(verdict.ruled_out.iter().any(|out| out.id == "server-cpu" && out.why.contains("slowing")), "{verdict:?}");
    let (_, verdict) = waits(full(), crate::planted::proofs::verdict("server-cpu", 0.95), None);
    assert!(verdict.id == "unknown" && verdict.sentence.contains("polls"), "{verdict:?}");
}

#[test]
fn a_near_tie_of_unsure_counters_is_never_sure() {
    let (proof, verdict) = tried_on(full(), verdict("server-cpu", 0.8), |proof, lever| {
        proof.trials.push(slots(lever, 0.45, 0.42));
    });
    assert_eq!(proof.outcome, ProofOutcome::Inconclusive, "{}", proof.why);
    assert!(verdict.confidence <= UNDECIDED, "{verdict:?}");
    assert_eq!(verdict.next.unwrap().id, "client-cpu");
}

#[test]
fn the_next_bottleneck_is_a_bottleneck_for_every_second_lever() {
    let medium = verdict("network-medium", 0.9);
    // The levers that test the verdict itself come first in an experiment, so only the order of the other levers is
    // checked.
    let own: Vec<&str> = suspects_of(&medium).map(|suspect| suspect.lever).collect();
    let all = SUSPECTS.iter().map(|suspect| suspect.lever).chain(["worker"]);
    for lever in all.filter(|lever| !own.contains(lever)) {
        let (mut trial, mut verdict) = (slots(lever, 0.45, 0.42), medium.clone());
        trial.levers[1].lever = lever.into();
        let mut proof = Proof { trials: vec![trial], ..Proof::default() };
        conclude(&Facts::of(&Run::default()), &mut proof, &mut verdict);
        let next = verdict.next.as_ref().map(|next| next.id.as_str());
        assert!(next.is_some_and(|id| run::bottleneck(id).is_some()), "{lever}: {next:?}, {}", proof.why);
    }
}

#[test]
fn unknown_says_what_an_experiment_that_could_not_tell_lacks() {
    let (proof, verdict) = in_slots("unknown", 0.45, 0.4);
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Inconclusive, "unknown"), "{}", proof.why);
    assert!(verdict.missing.iter().any(|m| m.contains("a longer experiment")), "{verdict:?}");
}

#[test]
fn an_unknown_verdict_is_tested_by_experiment_first() {
    let found = in_slots("unknown", 0.9, 0.03);
    assert_eq!(outcome(&found), (ProofOutcome::Supported, "server-cpu"), "{}", found.0.why);
    assert_eq!(found.1.confidence, SUPPORTED);
}
