//! Tests of the outcomes of experiments with made-up time slots and turns (loads with and without a lever). A lever is
//! a temporary change that an experiment makes, such as slowing a CPU.

use run::ProofOutcome;

use super::*;
use crate::planted::proofs::*;
use crate::thresholds::{CLOSE, EXCLUDED, SHOWN, SUPPORTED};

pub(super) fn outcome((proof, verdict): &(Proof, Bottleneck)) -> (ProofOutcome, &str) {
    (proof.outcome, verdict.id.as_str())
}

#[test]
fn a_verdict_whose_prediction_came_true_is_proven() {
    let found = in_slots("server-cpu", 0.95, 0.02);
    assert_eq!(outcome(&found), (ProofOutcome::Proven, "server-cpu"), "{}", found.0.why);
    assert!(found.0.why.contains("of the server's CPU cut throughput by") && found.1.confidence >= SHOWN, "{found:?}");
}

/// An effect without a prediction was called "more than predicted" by an earlier version of loadline.
#[test]
fn an_effect_without_a_prediction_is_not_compared_with_one() {
    let (proof, _) = tried_on(full(), verdict("server-cpu", 0.8), |proof, lever| {
        proof.prediction = None;
        proof.trials.push(slots(lever, 0.95, 0.02));
    });
    assert_eq!(proof.outcome, ProofOutcome::Supported, "{}", proof.why);
    assert!(proof.why.ends_with("; that was not predicted"), "{}", proof.why);
}

/// An earlier version of loadline reported a lack of CPUs for work that only one thread at a time can do. Only one
/// thread at a time can work, for example, under a mutex or in an interpreter with a global lock.
#[test]
fn serial_work_on_the_cpu_is_no_lack_of_cpus() {
    for counted in [None, Some(1.0)] {
        let found = turns_on_the_cpu(verdict("server-cpu", 0.95), counted);
        assert_eq!(outcome(&found), (ProofOutcome::Refuted, "server-concurrency"), "{}", found.0.why);
        let (proof, verdict) = found;
        assert!(verdict.serial && verdict.sentence.contains("take turns on the CPU"), "{verdict:?}");
        assert!(verdict.advice.iter().any(|text| text.contains("more processes of the server")), "{verdict:?}");
        assert!(!verdict.sentence.contains("sleep") && verdict.confidence >= SUPPORTED, "{verdict:?}");
        let count = proof.elasticities.iter().find(|e| e.lever == run::CPU_COUNT_LEVER);
        assert_eq!(count.is_some(), counted.is_some());
        assert!(proof.remainder.unwrap().value.abs() < 0.15, "the number of CPUs is no part: {proof:?}");
    }
    let serial = Bottleneck { serial: true, ..verdict("server-concurrency", 0.8) };
    let found = turns_on_the_cpu(serial.clone(), Some(1.0));
    assert_eq!(outcome(&found), (ProofOutcome::Proven, "server-concurrency"), "{}", found.0.why);
    let by_speed_alone = turns_on_the_cpu(serial, None);
    assert_eq!(outcome(&by_speed_alone), (ProofOutcome::Supported, "server-concurrency"), "{}", by_speed_alone.0.why);
    assert!(by_speed_alone.0.why.contains("one CPU is enough was not tested"), "{by_speed_alone:?}");
    let waits = turns_on_the_cpu(verdict("server-concurrency", 0.8), None);
    assert_eq!(outcome(&waits), (ProofOutcome::Supported, "server-concurrency"), "{}", waits.0.why);
    assert!(waits.1.serial && waits.0.why.contains("not predicted"), "{waits:?}");
}

/// This test repeats a situation that was observed while other programs used 0.9 of 2 CPUs. The CPUs were full, so it
/// was unknown whether the server's threads can compute at the same time.
#[test]
fn cpus_that_others_fill_leave_open_whether_more_of_them_help() {
    for id in ["unknown", "server-cpu"] {
        let (proof, verdict) = beside_others(verdict(id, 0.5));
        assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Inconclusive, "server-cpu"), "{}", proof.why);
        assert!(verdict.confidence <= CLOSE && proof.why.contains("is open"), "{verdict:?} {}", proof.why);
    }
}

#[test]
fn a_server_that_spins_is_told_from_a_full_one() {
    let full = full_with_fewer_cpus(0.5);
    assert_eq!(outcome(&full), (ProofOutcome::Proven, "server-cpu"), "{}", full.0.why);
    let spins = full_with_fewer_cpus(1.0);
    assert_eq!(outcome(&spins), (ProofOutcome::Refuted, "server-concurrency"), "{}", spins.0.why);
    assert!(spins.1.serial && spins.1.sentence.contains("spin"), "{:?}", spins.1);
}

/// An earlier version of loadline called a verdict proven if slowing the other resources had no effect, without any
/// other evidence.
#[test]
fn a_verdict_by_exclusion_is_never_proven() {
    let unseen = waits(Run::default(), verdict("server-concurrency", 0.8), None);
    assert_eq!(outcome(&unseen), (ProofOutcome::NotTested, "server-concurrency"), "{}", unseen.0.why);
    assert_eq!(unseen.1.confidence, 0.8, "nothing raises it");
    let seen = waits(sleeps(), argued(sleeps()), None);
    assert_eq!(outcome(&seen), (ProofOutcome::Supported, "server-concurrency"), "{}", seen.0.why);
    assert!(seen.0.why.contains("seen directly"), "{}", seen.0.why);
    let hardly = waits(unread(1.5), argued(unread(1.5)), None);
    assert!(!hardly.0.why.contains("unread"), "a few bytes are on their way: {}", hardly.0.why);
    let held = waits(sleeps(), argued(sleeps()), Some(1.0));
    assert!(held.0.outcome == ProofOutcome::Supported && held.1.confidence >= SUPPORTED, "{held:?}");
    assert!(held.0.why.contains("with twice the load"), "{}", held.0.why);
}

/// No lever acts on packet losses. An earlier version of loadline called the verdict "packet losses" proven, although a
/// full listen queue showed another cause.
#[test]
fn a_verdict_without_a_lever_is_no_proof_while_another_cause_is_seen() {
    let argued = argued(loses_beside_a_full_queue());
    assert_eq!(argued.id, "network-loss", "{argued:#?}");
    let found = waits(loses_beside_a_full_queue(), argued.clone(), None);
    assert_eq!(outcome(&found), (ProofOutcome::NotTested, "network-loss"), "{}", found.0.why);
    assert!(found.0.why.contains("listen queue") && found.1.confidence == argued.confidence, "{found:?}");
}

#[test]
fn an_upstream_that_the_server_waits_for_is_proven_by_its_own_lever() {
    for (limit, what) in [(None, "the upstream's CPU"), (Some(run::UpstreamLimit::Quota), "the upstream's CPU quota")] {
        let found = upstream(limit, 0.97);
        assert_eq!(outcome(&found), (ProofOutcome::Proven, "server-concurrency"), "{}", found.0.why);
        assert!(found.0.why.contains(&format!("of {what} cut throughput")), "{}", found.0.why);
    }
    let (proof, verdict) = upstream(None, 0.02);
    assert_eq!((proof.outcome, &verdict.waits_for), (ProofOutcome::Refuted, &None), "{}", proof.why);
    assert!(verdict.confidence <= CLOSE, "the remainder raises nothing: {verdict:?}");
}

/// In this test, throughput does not return to its level after the levers are off, so the experiment must not change
/// the confidence. An earlier version of loadline lowered the confidence of a verdict about a quota, although this
/// quota ran out in every period.
#[test]
fn if_throughput_does_not_return_nothing_is_proven() {
    for (confidence, after) in [(0.95, 0.95), (0.8, 0.8)] {
        let (proof, verdict) = slower_from("server-cpu", confidence, 152);
        assert_eq!((proof.outcome, verdict.confidence), (ProofOutcome::Inconclusive, after), "{}", proof.why);
        assert!(proof.why.contains("did not return"), "{}", proof.why);
        assert_eq!(proof.steadiness.unwrap().is_back, Some(false));
    }
    let (proof, verdict) = slower_from("server-cpu-quota", 0.95, 80);
    assert_eq!((proof.outcome, verdict.confidence), (ProofOutcome::Inconclusive, 0.95), "{}", proof.why);
}

#[test]
fn parts_that_together_exceed_one_are_no_proof() {
    let (proof, _) = in_slots("server-cpu", 1.2, 0.5);
    assert_eq!(proof.outcome, ProofOutcome::Inconclusive, "{}", proof.why);
    assert!(proof.why.contains("also slowed the other"), "{}", proof.why);
}

/// A quota of 0.2 CPUs had an elasticity of 1.11 (1.01 to 1.21). An earlier version of loadline did not accept an
/// elasticity above 1 as a proof, because the elasticities added up to more than 1.
#[test]
fn a_single_part_slightly_above_one_is_a_proof() {
    let found = in_slots("server-cpu", 1.1, 0.0);
    assert!(found.0.remainder.unwrap().high < 0.0, "{found:#?}");
    assert_eq!(outcome(&found), (ProofOutcome::Proven, "server-cpu"), "{}", found.0.why);
    let (proof, _) = in_slots("server-cpu", 1.5, 0.0);
    assert_eq!(proof.outcome, ProofOutcome::Inconclusive, "{}", proof.why);
}

#[test]
fn shares_do_not_prove_what_throughput_contradicts() {
    let (proof, _) = astray();
    assert_eq!(proof.outcome, ProofOutcome::Inconclusive, "{}", proof.why);
    assert!(proof.why.contains("so the prediction failed"), "{}", proof.why);
}

#[test]
fn without_an_experiment_the_verdict_stays() {
    let mut verdict = verdict("server-cpu", 0.9);
    let before = verdict.clone();
    conclude(&Facts::of(&Run::default()), &mut Proof::default(), &mut verdict);
    assert_eq!(verdict, before);
}

/// In random queueing networks of one to four queues and a delay, the slowest queue has an elasticity of at least 0.5.
/// Each network has the smallest number of clients (a power of two) that nearly reaches the highest rate.
#[test]
fn a_bottleneck_is_never_excluded() {
    use stats::queueing::{Station, closed, elasticities};
    let mut random = fastrand::Rng::with_seed(9);
    let mut least = f64::INFINITY;
    for _ in 0..300 {
        let others = random.usize(0..4);
        let mut stations = vec![Station::queue(1.0)];
        stations.extend((0..others).map(|_| Station::queue(0.8 * random.f64())));
        stations.push(Station::delay(4.0 * random.f64()));
        let rate = |clients| closed(&stations, clients).throughput;
        let clients = [1, 2, 4, 8, 16, 32].into_iter().find(|n| rate(*n) >= crate::thresholds::REACHED * rate(64));
        least = least.min(elasticities(&stations, clients.unwrap_or(64))[0]);
    }
    assert!(least >= 0.5, "{least}, and a resource below {EXCLUDED} is excluded");
}
