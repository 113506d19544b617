//! Tests of levers that are used in turns: trials with and without the lever alternate. These levers add source
//! addresses or change the bytes of a request.

use run::ProofOutcome;

use super::tests::outcome;
use super::*;
use crate::planted::proofs::*;
use crate::thresholds::{SHOWN, SUPPORTED};

/// A rate limit that delays answers looks like a fixed number of workers. The test first plants a limit for each source
/// address, then a limit for all addresses together.
#[test]
fn a_limit_that_delays_the_answers_of_each_address_is_found_with_more_addresses() {
    let found = more_addresses(0.5, 2.0);
    assert_eq!(outcome(&found), (ProofOutcome::Refuted, "server-rate-limit"), "{}", found.0.why);
    assert!(found.0.why.contains("with twice the source addresses") && found.1.confidence >= SUPPORTED, "{found:?}");
    assert!(found.1.sentence.contains("each source address"), "{:?}", found.1);
    let together = more_addresses(0.5, 1.0);
    assert_eq!(outcome(&together), (ProofOutcome::NotTested, "server-concurrency"), "{}", together.0.why);
    assert!(together.0.why.contains("with twice the source addresses") && together.1.confidence > 0.5, "{together:?}");
    assert_eq!(more_addresses(0.3, 1.0).1.confidence, 0.3, "other programs disturbed that run");
    let open = more_addresses(0.5, 1.3);
    assert!(open.1.id == "server-concurrency" && open.1.confidence == 0.5, "{open:?}");
}

#[test]
fn a_limit_by_address_is_proven_by_a_second_address() {
    let (proof, verdict) = in_turns_on(unread(1.5), "server-rate-limit", 2.0);
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-rate-limit"), "{}", proof.why);
    assert!(proof.why.contains("with twice the source addresses") && verdict.confidence >= SHOWN, "{}", proof.why);
}

#[test]
fn a_limit_for_all_addresses_is_no_less_a_limit() {
    let refuses = || crate::planted::planted("server-rate-limit").unwrap();
    let (proof, verdict) = tried_on(refuses(), argued(refuses()), |proof, lever| {
        proof.switched.push(turns(lever, 1.0));
        proof.trials.push(slots("server-cpu", 0.0, 0.0));
    });
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Supported, "server-rate-limit"), "{}", proof.why);
    assert!(proof.why.contains("source addresses") && proof.why.contains("something untested"), "{}", proof.why);
}

/// Two levers act on a full link. The experiment used the lever that has a prediction, which need not be the first
/// lever.
#[test]
fn a_full_link_is_proven_by_whichever_of_its_levers_was_used() {
    let argued = verdict("network-medium", 0.8);
    let mut run = Run::default();
    run.findings.bottleneck = argued.clone();
    for (lever, ratio, outcome) in
        [("request-bytes", 0.75, ProofOutcome::Proven), ("request-bytes", 1.0, ProofOutcome::Refuted)]
    {
        let (mut proof, mut verdict) = (predicted(&run, lever, 0.25), argued.clone());
        proof.switched.push(turns(lever, ratio));
        conclude(&Facts::of(&Run::default()), &mut proof, &mut verdict);
        assert_eq!(proof.outcome, outcome, "{}", proof.why);
        assert!(proof.why.contains("a third larger on the link"), "{}", proof.why);
    }
    let found = in_slots("network-medium", 0.97, 0.01);
    assert_eq!(outcome(&found), (ProofOutcome::Proven, "network-medium"), "{}", found.0.why);
    assert!(found.0.why.contains("of the link cut throughput"), "{}", found.0.why);
}

/// The lever on the TCP window was planned but not used. An earlier version of loadline applied the prediction for the
/// unused lever to the lever on the server's CPU.
#[test]
fn a_prediction_of_an_unused_lever_is_not_applied_to_another_lever() {
    let (proof, verdict) = waits(Run::default(), verdict("tcp-window", 0.9), None);
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::NotTested, "tcp-window"), "{}", proof.why);
    assert!(proof.why.starts_with("the suspected resource could not be slowed"), "{}", proof.why);
    let (proof, _) = tried_on(Run::default(), crate::planted::proofs::verdict("tcp-window", 0.9), |proof, lever| {
        proof.trials.push(slots("server-cpu", 0.01, 0.0));
        proof.untried.push(run::UnusedLever { lever: lever.into(), why: "give a --budget of 48 s".into() });
    });
    assert!(proof.why.starts_with("the lever window was not used: give a --budget of 48 s"), "{}", proof.why);
    assert!(proof.prediction.as_ref().is_some_and(|p| p.lever == "window" && p.ratio < 1.0), "{proof:?}");
}
