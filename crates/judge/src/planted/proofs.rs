//! Planted experiments on a verdict, one for each outcome.

use run::{Bottleneck, LeverSlots, Proof, ProofTrial, Run, SwitchTrial, WaitsFor};

use super::sentence::Sentence;
use crate::prove::{conclude, predicted, suspects_of};

/// Slots of each planted experiment.
const SLOTS: usize = 160;

/// Throughput that follows the speeds of the server's and the generator's CPU by these elasticities.
fn slots(first: &str, server: f64, client: f64) -> ProofTrial {
    let mut random = fastrand::Rng::with_seed(3);
    let mut on = || (0..SLOTS).map(|_| random.bool()).collect::<Vec<bool>>();
    let (a, b) = (on(), on());
    let speed = |on: &[bool]| on.iter().map(|on| if *on { 0.75 } else { 1.0 }).collect::<Vec<f64>>();
    let (sa, sb) = (speed(&a), speed(&b));
    let noise = |t: usize| 1.0 + 0.02 * ((t * 7919 % 13) as f64 / 13.0 - 0.5);
    let rate = |(t, (a, b)): (usize, (&f64, &f64))| 1000.0 * a.powf(server) * b.powf(client) * noise(t);
    let completed_rate = sa.iter().zip(&sb).enumerate().map(rate).collect();
    let lever_of =
        |name: &str, on, speed| LeverSlots { lever: name.into(), host: "h".into(), on, speed, ..LeverSlots::default() };
    let levers = vec![lever_of(first, a, sa), lever_of("client-cpu", b, sb)];
    ProofTrial { completed_rate, levers, slot_s: 0.02, ..ProofTrial::default() }
}

/// Turns with and without a lever.
fn turns(lever: &str, ratio: f64) -> SwitchTrial {
    let off = vec![100.0, 103.0, 98.0, 101.0, 99.0];
    let on = off.iter().zip([1.01, 0.99, 1.0, 0.98, 1.02]).map(|(off, noise)| off * ratio * noise).collect();
    SwitchTrial { lever: lever.into(), dose: -1.0, off, on, ..SwitchTrial::default() }
}

/// Returns the experiment on a verdict, as its first lever is pulled, and the verdict after it.
fn tried(mut verdict: Bottleneck, experiment: impl Fn(&mut Proof, &str)) -> (Proof, Bottleneck) {
    let run = Run { findings: run::Findings { bottleneck: verdict.clone(), ..Default::default() }, ..Run::default() };
    let lever = suspects_of(&verdict).next().map_or("server-cpu", |suspect| suspect.lever);
    let mut proof = predicted(&run, lever, 0.25);
    experiment(&mut proof, lever);
    let run = run::Run::default();
    conclude(&crate::Facts::of(&run), &mut proof, &mut verdict);
    (proof, verdict)
}

fn verdict(id: &str) -> Bottleneck {
    Bottleneck { id: id.into(), confidence: 0.9, ..Bottleneck::default() }
}

/// Slots in which throughput follows the verdict's own lever and the generator's CPU by these elasticities.
fn in_slots(id: &str, own: f64, client: f64) -> (Proof, Bottleneck) {
    tried(verdict(id), |proof, lever| proof.trials.push(slots(lever, own, client)))
}

/// Turns with and without the verdict's own lever, after which throughput has this ratio.
fn in_turns(id: &str, ratio: f64) -> (Proof, Bottleneck) {
    tried(verdict(id), |proof, lever| proof.switched.push(turns(lever, ratio)))
}

fn upstream(own: f64) -> (Proof, Bottleneck) {
    let waits_for = Some(WaitsFor { address: "127.0.0.1:8001".into(), ..WaitsFor::default() });
    tried(Bottleneck { waits_for, ..verdict("server-concurrency") }, |proof, lever| {
        proof.trials.push(slots(lever, own, 0.01));
    })
}

/// Throughput that changes for good while the levers are pulled.
fn slower_from(slot: usize) -> (Proof, Bottleneck) {
    tried(verdict("server-cpu"), |proof, lever| {
        let mut trial = slots(lever, 0.95, 0.02);
        for t in slot..SLOTS {
            trial.completed_rate[t] *= 0.6;
        }
        for t in SLOTS - 8..SLOTS {
            trial.levers.iter_mut().for_each(|l| (l.on[t], l.speed[t]) = (false, 1.0));
        }
        proof.trials.push(trial);
    })
}

/// A server of which most of the CPU was taken while throughput, which hardly depends on it, fell by a third.
fn astray() -> (Proof, Bottleneck) {
    tried(verdict("server-concurrency"), |proof, _| {
        let mut trial = slots("server-cpu", 0.13, 0.0);
        for t in 0..SLOTS {
            if trial.levers[0].on[t] {
                trial.completed_rate[t] *= (0.059 / 0.75_f64).powf(0.13);
                trial.levers[0].speed[t] = 0.059;
            }
        }
        proof.trials.push(trial);
    })
}

/// The planted experiments.
const PROOFS: &[fn() -> (Proof, Bottleneck)] = &[
    || in_slots("server-cpu", 0.95, 0.02),
    || in_slots("server-concurrency", 0.0, 0.0),
    || in_slots("client-cpu", 0.9, 0.05),
    || in_slots("server-cpu", 0.02, 0.01),
    || in_slots("server-cpu", 0.02, 0.95),
    || in_slots("server-cpu", 0.45, 0.42),
    || in_slots("unknown", 0.45, 0.4),
    || in_slots("unknown", 0.9, 0.03),
    || in_slots("server-cpu", 1.2, 0.5),
    || in_slots("server-disk", 1.8, 0.0),
    || tried(verdict("tcp-window"), |proof, _| proof.trials.push(slots("server-cpu", 0.0, 0.0))),
    || upstream(0.97),
    || upstream(0.02),
    || slower_from(SLOTS - 8),
    || slower_from(SLOTS / 2),
    astray,
    || in_turns("server-rate-limit", 2.0),
    || in_turns("server-rate-limit", 1.0),
    || in_turns("client-ports", 1.0),
    || in_turns("tcp-delayed-ack", 40.0),
    || in_turns("accept-queue", 1.0),
    || in_turns("tcp-window", 0.5),
    || in_turns("server-fds", 2.0),
];

/// Returns what each planted experiment says, by its outcome, and what it makes of the verdict.
pub(super) fn sentences() -> Vec<Sentence> {
    let of = |make: &fn() -> (Proof, Bottleneck)| {
        let (proof, verdict) = make();
        let mut all = vec![Sentence::new("experiment", outcome(&proof), &proof.why)];
        if !verdict.sentence.is_empty() {
            all.push(Sentence::new("verdict", &verdict.id, &verdict.sentence));
        }
        all.extend(verdict.evidence.iter().map(|e| Sentence::new("evidence", &verdict.id, &e.text)));
        all.extend(verdict.next.iter().map(|next| Sentence::new("next", &next.id, &next.why)));
        all.extend(verdict.missing.iter().map(|text| Sentence::new("not known", "", text)));
        all
    };
    PROOFS.iter().flat_map(of).collect()
}

fn outcome(proof: &Proof) -> &'static str {
    match proof.outcome {
        run::ProofOutcome::Proven => "proven",
        run::ProofOutcome::Refuted => "refuted",
        run::ProofOutcome::Supported => "supported",
        run::ProofOutcome::Inconclusive => "inconclusive",
        run::ProofOutcome::NotTested => "not tested",
    }
}
