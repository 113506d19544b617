//! The list of all made-up experiments, and the sentences about them.

use run::{Bottleneck, Proof, Run};

use super::*;
use crate::planted::sentence::Sentence;

/// Functions that make all made-up experiments.
const PROOFS: &[fn() -> (Proof, Bottleneck)] = &[
    || in_slots("server-cpu", 0.95, 0.02),
    || in_slots("client-cpu", 0.9, 0.05),
    || in_slots("server-cpu", 0.02, 0.01),
    || in_slots("server-cpu", 0.02, 0.95),
    || in_slots("server-cpu", 0.45, 0.42),
    || in_slots("unknown", 0.45, 0.4),
    || in_slots("unknown", 0.9, 0.03),
    || in_slots("server-cpu", 1.2, 0.5),
    || in_slots("server-disk", 1.8, 0.0),
    || waits(sleeps(), argued(sleeps()), None),
    || waits(sleeps(), argued(sleeps()), Some(1.0)),
    || waits(Run::default(), verdict("server-concurrency", 0.8), Some(1.9)),
    || waits(Run::default(), verdict("tcp-window", 0.8), None),
    || waits(loses_beside_a_full_queue(), argued(loses_beside_a_full_queue()), None),
    || turns_on_the_cpu(verdict("server-cpu", 0.95), None),
    || turns_on_the_cpu(Bottleneck { serial: true, ..verdict("server-concurrency", 0.8) }, Some(1.0)),
    || full_with_fewer_cpus(0.5),
    || beside_others(verdict("unknown", 0.0)),
    || waits(Run::default(), verdict("not-saturated", 0.6), Some(1.9)),
    || waits(sleeps(), verdict("not-saturated", 0.6), Some(1.0)),
    || more_addresses(0.5, 2.0),
    || more_addresses(0.5, 1.0),
    hidden_by_a_quota,
    || full_with_fewer_cpus(1.0),
    bounded,
    || starved_thief("client-cpu"),
    || starved_thief("server-concurrency"),
    || upstream(None, 0.97),
    || upstream(None, 0.02),
    || slower_from("server-cpu", 0.9, SLOTS - 8),
    || slower_from("server-cpu", 0.9, SLOTS / 2),
    astray,
    || in_turns("server-rate-limit", 2.0),
    || in_turns("server-rate-limit", 1.0),
    || in_turns("client-ports", 1.0),
    || in_turns("tcp-delayed-ack", 40.0),
    || in_turns("accept-queue", 1.0),
    || in_turns("tcp-window", 1.0),
    || in_turns("server-fds", 2.0),
    || of_few_clients("server-single-thread", None),
    || of_few_clients("server-single-thread", Some(1.9)),
    || of_few_clients("not-saturated", None),
    || upstream_in_use(0.93, 0.75 / 0.93),
    || link_in_use(0.87, 0.86),
    watches_too_few,
];

/// Returns the sentences about each made-up experiment and about the verdict after the experiment.
pub(crate) fn sentences() -> Vec<Sentence> {
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
