//! What an experiment comes to, by what its slots and turns show.

use super::*;
use crate::prove::suspects_of;
use run::{LeverSlots, NextBottleneck, ProofTrial};

/// Slots in which throughput follows the two speeds by these elasticities.
fn slots(server: f64, client: f64) -> ProofTrial {
    let mut random = fastrand::Rng::with_seed(3);
    let mut on = || (0..160).map(|_| random.bool()).collect::<Vec<bool>>();
    let (a, b) = (on(), on());
    let speed = |on: &[bool]| on.iter().map(|on| if *on { 0.75 } else { 1.0 }).collect::<Vec<f64>>();
    let (sa, sb) = (speed(&a), speed(&b));
    let rate = |t: usize| {
        1000.0 * sa[t].powf(server) * sb[t].powf(client) * (1.0 + 0.02 * ((t * 7919 % 13) as f64 / 13.0 - 0.5))
    };
    let completed_rate = (0..160).map(rate).collect();
    let lever = |name: &str, on: Vec<bool>, speed| LeverSlots {
        lever: name.into(),
        host: "h".into(),
        on,
        speed,
        ..LeverSlots::default()
    };
    let levers = vec![lever("server-cpu", a, sa), lever("client-cpu", b, sb)];
    ProofTrial { completed_rate, levers, ..ProofTrial::default() }
}

fn tried(id: &str, server: f64, client: f64) -> (Proof, Bottleneck) {
    let mut verdict = Bottleneck { id: id.into(), confidence: 0.95, ..Bottleneck::default() };
    let mut run = Run::default();
    run.findings.bottleneck = verdict.clone();
    let mut proof = predicted(&run, lever_of(&Proof::default(), &verdict).unwrap_or("server-cpu"), 0.25);
    proof.trials.push(slots(server, client));
    concluded(&mut proof, &mut verdict);
    (proof, verdict)
}

#[test]
fn what_was_predicted_is_proven() {
    let (proof, verdict) = tried("server-cpu", 0.95, 0.02);
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-cpu"), "{}", proof.why);
    assert!(proof.why.contains("of the server's CPU cut throughput by"), "{}", proof.why);
    let (proof, verdict) = tried("server-concurrency", 0.0, 0.0);
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-concurrency"), "{}", proof.why);
    assert!(proof.why.contains("did not change throughput") && proof.remainder.unwrap().low > 0.9, "{proof:?}");
}

#[test]
fn what_the_server_waits_for_is_proven_by_its_own_lever() {
    let tried = |elasticity: f64, limit, lever: &str| {
        let waits_for = Some(run::WaitsFor { address: "127.0.0.1:8001".into(), limit, ..Default::default() });
        let id = "server-concurrency".to_string();
        let mut verdict = Bottleneck { id, confidence: 0.8, waits_for, ..Bottleneck::default() };
        let mut run = Run::default();
        run.findings.bottleneck = verdict.clone();
        let mut proof = predicted(&run, lever_of(&Proof::default(), &verdict).unwrap(), 0.25);
        let mut slots = slots(elasticity, 0.01);
        slots.levers[0].lever = lever.into();
        proof.trials.push(slots);
        concluded(&mut proof, &mut verdict);
        (proof, verdict)
    };
    let (proof, verdict) = tried(0.97, None, "behind-cpu");
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-concurrency"), "{}", proof.why);
    assert!(proof.why.contains("of the upstream's CPU cut throughput"), "{}", proof.why);
    let (proof, _) = tried(0.97, Some(run::UpstreamLimit::Quota), "behind-quota");
    assert_eq!(proof.outcome, ProofOutcome::Proven, "{}", proof.why);
    assert!(proof.why.contains("of the upstream's CPU quota cut throughput"), "{}", proof.why);
    let (proof, verdict) = tried(0.02, None, "behind-cpu");
    assert_eq!((proof.outcome, &verdict.waits_for), (ProofOutcome::Refuted, &None), "{}", proof.why);
}

/// The lever that was pulled is the one of which something was predicted: of two, not always the first.
#[test]
fn a_full_link_is_proven_by_whichever_of_its_levers_was_pulled() {
    let verdict = Bottleneck { id: "network-medium".into(), confidence: 0.8, ..Bottleneck::default() };
    let mut run = Run::default();
    run.findings.bottleneck = verdict.clone();
    for (lever, ratio, outcome) in
        [("request-bytes", 0.75, ProofOutcome::Proven), ("request-bytes", 1.0, ProofOutcome::Refuted)]
    {
        let (mut proof, mut verdict) = (predicted(&run, lever, 0.25), verdict.clone());
        proof.switched.push(turns(lever, ratio));
        concluded(&mut proof, &mut verdict);
        assert_eq!(proof.outcome, outcome, "{}", proof.why);
        assert!(proof.why.contains("a third larger on the link"), "{}", proof.why);
    }
    let (mut proof, mut verdict) = (predicted(&run, "link", 0.25), verdict);
    let mut slots = slots(0.97, 0.01);
    slots.levers[0].lever = "link".into();
    proof.trials.push(slots);
    concluded(&mut proof, &mut verdict);
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "network-medium"), "{}", proof.why);
    assert!(proof.why.contains("of the link cut throughput"), "{}", proof.why);
}

#[test]
fn a_wrong_argument_is_refuted_and_both_are_told() {
    let (proof, verdict) = tried("client-cpu", 0.9, 0.05);
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Refuted, "server-cpu"));
    assert!(proof.why.contains("client-cpu") && proof.why.contains("the server's CPU explains"), "{}", proof.why);
    assert!(verdict.sentence.contains("the server's CPU"), "{}", verdict.sentence);
}

/// A generator that is full at 1.1 times the rate lets 0.825 of it through with three quarters of its CPU.
#[test]
fn what_the_runner_up_will_do_is_said_before_and_held_beside_what_it_did() {
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
    proof.trials.push(slots(0.9, 0.05));
    concluded(&mut proof, &mut run.findings.bottleneck.clone());
    let measured = proof.runner_up.unwrap().measured.unwrap();
    assert!(measured.lever == "client-cpu" && measured.ratio > 0.95, "{measured:?}");
    run.findings.bottleneck.next = next("tcp-backlog");
    assert_eq!(runner_up(&run, "client-cpu", 0.25), None);
}

/// Throughput of a server that gave way under the levers and stays so.
#[test]
fn where_throughput_does_not_come_back_nothing_is_proven() {
    let mut verdict = Bottleneck { id: "server-cpu".into(), confidence: 0.95, ..Bottleneck::default() };
    let mut run = Run::default();
    run.findings.bottleneck = verdict.clone();
    let mut proof = predicted(&run, "server-cpu", 0.25);
    let mut trial = slots(0.95, 0.02);
    for t in 152..160 {
        trial.completed_rate[t] = 600.0;
        trial.levers.iter_mut().for_each(|l| (l.on[t], l.speed[t]) = (false, 1.0));
    }
    proof.trials.push(trial);
    concluded(&mut proof, &mut verdict);
    assert_eq!((proof.outcome, verdict.confidence), (ProofOutcome::Inconclusive, CLOSE), "{}", proof.why);
    assert!(proof.why.contains("did not return"), "{}", proof.why);
    assert_eq!(proof.steadiness.unwrap().is_back, Some(false));
}

fn turns(lever: &str, ratio: f64) -> run::SwitchTrial {
    let off = vec![100.0, 103.0, 98.0, 101.0, 99.0];
    let on = off.iter().zip([1.01, 0.99, 1.0, 0.98, 1.02]).map(|(off, noise)| off * ratio * noise).collect();
    run::SwitchTrial { lever: lever.into(), dose: -1.0, off, on, ..run::SwitchTrial::default() }
}

fn turned(id: &str, ratio: f64, slots_too: bool) -> (Proof, Bottleneck) {
    let mut verdict = Bottleneck { id: id.into(), confidence: 0.9, ..Bottleneck::default() };
    let mut run = Run::default();
    run.findings.bottleneck = verdict.clone();
    let lever = lever_of(&Proof::default(), &verdict).unwrap();
    let mut proof = predicted(&run, lever, -1.0);
    proof.switched.push(turns(lever, ratio));
    if slots_too {
        proof.trials.push(slots(0.0, 0.0));
    }
    concluded(&mut proof, &mut verdict);
    (proof, verdict)
}

#[test]
fn a_limit_by_address_is_proven_by_a_second_address() {
    let (proof, verdict) = turned("server-rate-limit", 2.0, false);
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-rate-limit"), "{}", proof.why);
    assert!(proof.why.contains("with twice the source addresses") && verdict.confidence >= SHOWN, "{}", proof.why);
}

#[test]
fn a_limit_for_all_addresses_is_no_less_a_limit() {
    let (proof, verdict) = turned("server-rate-limit", 1.0, false);
    assert_eq!((proof.outcome, verdict.confidence), (ProofOutcome::Inconclusive, CLOSE), "{}", proof.why);
    let (proof, verdict) = turned("server-rate-limit", 1.0, true);
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-rate-limit"), "{}", proof.why);
    assert!(proof.why.contains("source addresses") && proof.why.contains("something untested"), "{}", proof.why);
}

/// Half of the window was to be taken and could not be; a thief on a CPU was said to have been predicted to cost its dose.
#[test]
fn what_was_predicted_of_a_lever_that_was_not_pulled_is_not_said_of_another() {
    let (proof, verdict) = tried("tcp-window", 0.0, 0.0);
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Inconclusive, "tcp-window"), "{}", proof.why);
    assert!(proof.why.starts_with("the suspect itself could not be slowed"), "{}", proof.why);
    assert!(proof.prediction.as_ref().is_some_and(|p| p.lever == "window" && p.ratio < 1.0), "{proof:?}");
    assert!(proof.why.ends_with("did not change throughput (predicted: no change)"), "{}", proof.why);
}

#[test]
fn what_its_own_lever_refutes_is_not_the_verdict() {
    let (proof, verdict) = turned("client-ports", 1.0, false);
    assert!(proof.outcome == ProofOutcome::Refuted && verdict.confidence <= REFUTED, "{}", proof.why);
    let (proof, verdict) = turned("client-ports", 1.0, true);
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Refuted, "server-concurrency"), "{}", proof.why);
}

#[test]
fn a_near_tie_is_never_sure() {
    let (proof, verdict) = tried("server-cpu", 0.45, 0.42);
    assert_eq!((proof.outcome, verdict.confidence), (ProofOutcome::Inconclusive, CLOSE), "{}", proof.why);
    assert_eq!(verdict.next.unwrap().id, "client-cpu");
}

#[test]
fn whatever_lever_comes_second_the_next_bottleneck_is_one() {
    let medium = Bottleneck { id: "network-medium".into(), confidence: 0.9, ..Bottleneck::default() };
    // What tries the verdict itself comes second to nothing.
    let own: Vec<&str> = suspects_of(&medium).map(|suspect| suspect.lever).collect();
    let all = SUSPECTS.iter().map(|suspect| suspect.lever).chain(["worker"]);
    for lever in all.filter(|lever| !own.contains(lever)) {
        let (mut trial, mut verdict) = (slots(0.45, 0.42), medium.clone());
        trial.levers[0].lever = lever.into();
        trial.levers[1].lever = lever.into();
        let mut proof = Proof { trials: vec![trial], ..Proof::default() };
        concluded(&mut proof, &mut verdict);
        let next = verdict.next.as_ref().map(|next| next.id.as_str());
        assert!(next.is_some_and(|id| run::bottleneck(id).is_some()), "{lever}: {next:?}, {}", proof.why);
    }
}

#[test]
fn parts_of_more_than_one_are_no_proof() {
    let (proof, verdict) = tried("server-cpu", 1.2, 0.5);
    assert!(proof.outcome == ProofOutcome::Inconclusive && verdict.confidence <= CLOSE, "{}", proof.why);
    assert!(proof.why.contains("also slowed the other"), "{}", proof.why);
}

/// A quota of a fifth of a CPU at 1.11 (1.01 to 1.21) was called no proof, since all parts made more than 1.
#[test]
fn one_part_of_a_little_more_than_one_is_a_proof() {
    let (proof, verdict) = tried("server-cpu", 1.1, 0.0);
    assert!(proof.remainder.unwrap().high < 0.0, "{proof:#?}");
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-cpu"), "{}", proof.why);
    let (proof, _) = tried("server-cpu", 1.5, 0.0);
    assert_eq!(proof.outcome, ProofOutcome::Inconclusive, "{}", proof.why);
}

#[test]
fn unknown_says_what_an_experiment_that_could_not_tell_lacks() {
    let (proof, verdict) = tried("unknown", 0.45, 0.4);
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Inconclusive, "unknown"), "{}", proof.why);
    assert!(verdict.missing.iter().any(|m| m.contains("a surer experiment")), "{verdict:?}");
}

#[test]
fn unknown_is_tried_before_it_is_said() {
    let (proof, verdict) = tried("unknown", 0.9, 0.03);
    assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-cpu"));
}

/// Behind a proxy, beside other programs: 94.1 % of the server's CPU was taken, and throughput fell by 30.9 %.
#[test]
fn shares_do_not_prove_what_throughput_contradicts() {
    let tried = |dose: f64| {
        let mut verdict = Bottleneck { id: "server-concurrency".into(), confidence: 0.8, ..Bottleneck::default() };
        let mut run = Run::default();
        run.findings.bottleneck = verdict.clone();
        let mut proof = predicted(&run, "server-cpu", dose);
        let mut trial = slots(0.13, 0.0);
        let on = trial.levers[0].on.clone();
        for t in (0..on.len()).filter(|t| on[*t]) {
            trial.completed_rate[t] *= ((1.0 - dose) / 0.75_f64).powf(0.13);
            trial.levers[0].speed[t] = 1.0 - dose;
        }
        proof.trials.push(trial);
        concluded(&mut proof, &mut verdict);
        (proof, verdict)
    };
    let (proof, verdict) = tried(0.941);
    assert_eq!((proof.outcome, verdict.confidence), (ProofOutcome::Inconclusive, CLOSE), "{}", proof.why);
    assert!(proof.why.contains("no change), so the prediction failed"), "{}", proof.why);
    assert_eq!(tried(0.3).0.outcome, ProofOutcome::Proven);
}

#[test]
fn without_an_experiment_the_verdict_stays() {
    let mut verdict = Bottleneck { id: "server-cpu".into(), confidence: 0.9, ..Bottleneck::default() };
    let before = verdict.clone();
    concluded(&mut Proof::default(), &mut verdict);
    assert_eq!(verdict, before);
}

/// Concludes for a run of which nothing but the experiment is known.
fn concluded(proof: &mut Proof, verdict: &mut Bottleneck) {
    conclude(&Facts::of(&Run::default()), proof, verdict);
}
