//! Tests of the outcomes of experiments with made-up time slots and turns (loads with and without a lever). A lever is
//! a temporary change that an experiment makes, such as slowing a CPU.

use run::{LOAD_LEVER, NextBottleneck, ProofOutcome};

use super::*;
use crate::planted::proofs::*;
use crate::prove::suspects_of;
use crate::thresholds::{CLOSE, EXCLUDED, SHOWN, SUPPORTED, UNDECIDED};

pub(super) fn outcome((proof, verdict): &(Proof, Bottleneck)) -> (ProofOutcome, &str) {
    (proof.outcome, verdict.id.as_str())
}

#[test]
fn a_verdict_whose_prediction_came_true_is_proven() {
    let found = in_slots("server-cpu", 0.95, 0.02);
    assert_eq!(outcome(&found), (ProofOutcome::Proven, "server-cpu"), "{}", found.0.why);
    assert!(found.0.why.contains("of the server's CPU cut throughput by") && found.1.confidence >= SHOWN, "{found:?}");
}

/// An earlier version of loadline called an effect that nobody had predicted "more than predicted".
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

/// An earlier version of loadline called a verdict proven only because slowing the other resources had no effect.
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

/// No lever acts on packet losses. An earlier version of loadline called a verdict of packet losses proven although a
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
/// (0.95). It did so even without a prediction of the effect, and without counters that show the new cause.
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
