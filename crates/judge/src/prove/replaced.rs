//! Verdict that replaces a refuted verdict. A lever is a temporary change that an experiment makes, such as slowing a
//! CPU.

use run::{BOTTLENECKS, Bottleneck, Proof, RuledOut};

use super::cpu_limit::{CpuLimit, CpuSigns, polls};
use super::suspects::{SUSPECTS, acts_on, bottleneck_of};
use super::words::{evidence, in_words, load_evidence, sources_evidence};
use crate::conclude::verdict::without;
use crate::in_flight::delayed::delayed_answers;
use crate::in_flight::upstreams;
use crate::network::ack_timer::distance_us;
use crate::number::{counted, duration, rate};
use crate::rules::RULES;
use crate::thresholds::{CLOSE, LIKELY, SHOWN, SUPPORTED, UNDECIDED};
use crate::{Facts, conclude::confidence};

/// Returns the verdict of the rules, without the bottlenecks that the experiment excluded. The confidence of this
/// verdict comes from the counters.
pub(super) fn rest(facts: &Facts<'_>, verdict: &Bottleneck, proof: &Proof, excluded: &[&'static str]) -> Bottleneck {
    // The experiment showed that the upstream of the old verdict is not the limit, so the rules judge without this
    // upstream. The next full upstream, if any, may then be the limit.
    let without_refuted = verdict.waits_for.as_ref().map(|refuted| upstreams::without(facts, refuted));
    let facts = without_refuted.as_ref().unwrap_or(facts);
    let mut found = without(facts, excluded);
    if verdict.waits_for.is_some() && found.waits_for.is_none() && found.id == verdict.id {
        confidence::limit(&mut found, CLOSE);
        found.sentence = "the server waits, but not for the upstream that looked full".into();
    }
    let full = facts.full_server().filter(|view| excluded.contains(&"server-cpu") && polls(view));
    if found.id == "unknown" && full.is_some() {
        found.sentence = "the server keeps its CPUs busy, but slowing them hardly changes throughput: it polls".into();
    }
    ruled_out(&mut found, excluded);
    found.evidence.extend(evidence(proof));
    found
}

/// Returns a verdict whose bottleneck is the resource that `lever` slowed. `most` is the greatest confidence that the
/// experiment gives to this verdict.
pub(super) fn of_lever(
    facts: &Facts<'_>,
    argued: &Bottleneck,
    proof: &Proof,
    (lever, most): (&str, f64),
) -> Bottleneck {
    if lever == "server-cpu" {
        return match CpuSigns::of(facts, proof) {
            Some(signs) => of_cpu(facts, argued, proof, (&signs, most)),
            None => named(facts, argued, proof, ("server-cpu", most)),
        };
    }
    let mut found = named(facts, argued, proof, (bottleneck_of(lever), most));
    match upstreams::full(facts).filter(|upstream| acts_on(lever, upstream.limit)) {
        Some(_) => {
            found.sentence = upstreams::sentence(facts).unwrap_or_default();
            found.waits_for = upstreams::waits_for(facts);
            found.advice = upstreams::advice(facts).into_iter().collect();
        }
        None if lever == "worker" => {
            found.sentence = "throughput depends on the number of running workers".into();
        }
        None => {}
    }
    found
}

/// Returns the verdict that names a limit of the server's CPU. The kind of CPU limit determines the bottleneck and the
/// confidence. `most` is the greatest confidence that the experiment gives to this verdict.
pub(super) fn of_cpu(
    facts: &Facts<'_>,
    argued: &Bottleneck,
    proof: &Proof,
    (signs, most): (&CpuSigns, f64),
) -> Bottleneck {
    let limit = signs.limit();
    let (id, serial) = limit.bottleneck().unwrap_or(("server-cpu", false));
    let of_kind = match limit {
        CpuLimit::Open => CLOSE,
        CpuLimit::Workers => UNDECIDED,
        // Only the counters show that one CPU is enough. The experiment did not test fewer CPUs.
        CpuLimit::Serial { .. } if signs.lacks_count() => SUPPORTED,
        _ => SHOWN,
    };
    let mut found = named(facts, argued, proof, (id, most));
    found.confidence = found.confidence.min(of_kind);
    let use_sentence = signs.sentence();
    match limit {
        CpuLimit::Serial { spins } => {
            found.sentence = format!("{}; {use_sentence}", crate::in_flight::serial_words::SENTENCE);
            if spins {
                found.sentence += "; threads that wait for their turn spin";
            }
            found.advice = crate::in_flight::serial_words::ADVICE.map(str::to_string).into();
        }
        CpuLimit::Workers => {
            found.sentence = format!("some requests at a time use the CPU, and CPUs idle; {use_sentence}");
        }
        CpuLimit::Open => {
            found.sentence = format!(
                "throughput follows the speed of the server's CPU; whether more CPUs help is open: {use_sentence}"
            );
        }
        CpuLimit::AllCpus | CpuLimit::OneThread => {}
    }
    found.serial = serial;
    found
}

/// Returns the verdict that nothing is saturated, because a larger load raised throughput.
pub(super) fn of_load(facts: &Facts<'_>, argued: &Bottleneck, proof: &Proof) -> Bottleneck {
    let mut found = named(facts, argued, proof, ("not-saturated", SUPPORTED));
    let time_us = facts.decisive.map(|trial| trial.latency_us.mean).filter(|us| *us > 0.0);
    let connections = facts.decisive.and_then(|trial| trial.intensity.in_flight());
    // TCP's smoothed round-trip time is not used, because it often includes the server's work: the answer carries the
    // acknowledgement of its request.
    let trip_us = facts.decisive.and_then(distance_us);
    let load = connections.zip(time_us).map_or(String::new(), |(n, us)| {
        let distance = trip_us.map_or(String::new(), |trip| format!(", of which {} are the network", duration(trip)));
        format!(" of {} in flight, each answered after {}{distance}", counted(n.round(), "request"), duration(us))
    });
    found.sentence = format!("nothing is saturated: the limit is the load itself{load}");
    found.evidence.extend(load_evidence(proof));
    found
}

/// Returns the verdict that each source address has its own limit, because more addresses raised throughput. The server
/// may limit each address on purpose. Alternatively, a server with several backends or processes may choose one of them
/// by the source address (session affinity). The experiment cannot distinguish a deliberate limit from session
/// affinity.
pub(super) fn of_sources(facts: &Facts<'_>, argued: &Bottleneck, proof: &Proof) -> Bottleneck {
    let is_limit = delayed_answers(facts).is_some() || is_one_process(facts);
    let confidence = if is_limit { SUPPORTED } else { LIKELY };
    let mut found = named(facts, argued, proof, ("server-rate-limit", confidence));
    let most = facts.x_max().map(rate);
    found.sentence = if is_limit {
        let most = most.map_or(String::new(), |most| format!(": each may send {most}"));
        format!("the server limits the rate of each source address on purpose{most}")
    } else {
        let most = most.map_or(String::new(), |most| format!(" ({most} each)"));
        format!(
            "each source address has a limit of its own{most}: a rate limit, or session affinity, which sends all requests \
             of an address to one of several backends or processes"
        )
    };
    if !is_limit {
        found.advice = AFFINITY_ADVICE.map(str::to_string).into();
    }
    found.evidence.extend(sources_evidence(proof));
    found
}

/// Advice if either a rate limit or session affinity limits each source address.
const AFFINITY_ADVICE: [&str; 2] = [
    "Look for session affinity by address (ip_hash, `balance source`, `sessionAffinity: ClientIP`), and for a rate limit.",
    "Send from more addresses (--source), or choose the backend by connection instead, to load all backends.",
];

/// Returns true if the observed server is a single process without upstreams. All requests then go to the same process,
/// so the server cannot distribute them by source address.
fn is_one_process(facts: &Facts<'_>) -> bool {
    facts.server().is_some_and(|view| view.side.processes.len() == 1 && view.side.behind.is_empty())
}

/// Returns the verdict of a single rule, with the given confidence. If the rule does not find its signs, only the
/// experiment supports the verdict, so the confidence is at most `SUPPORTED`.
fn named(facts: &Facts<'_>, argued: &Bottleneck, proof: &Proof, (id, confidence): (&'static str, f64)) -> Bottleneck {
    let others: Vec<&str> = BOTTLENECKS.iter().map(|b| b.id).filter(|other| *other != id).collect();
    let seen = Some(without(facts, &others)).filter(|found| found.id == id);
    let fabricated = || Bottleneck {
        id: id.into(),
        sentence: format!("throughput depends on {}", in_words(lever_of(id))),
        advice: RULES.iter().find(|rule| rule.id == id).map(|rule| rule.advice_on(facts)).unwrap_or_default(),
        ..Bottleneck::default()
    };
    let confidence = if seen.is_some() { confidence } else { confidence.min(SUPPORTED) };
    let mut found = Bottleneck { confidence, ..seen.unwrap_or_else(fabricated) };
    found.ruled_out = argued.ruled_out.iter().filter(|out| out.id != id).cloned().collect();
    found.evidence.extend(evidence(proof));
    found
}

/// Adds the bottlenecks that the experiment excluded to the list of those that are ruled out.
fn ruled_out(verdict: &mut Bottleneck, excluded: &[&'static str]) {
    verdict.ruled_out.retain(|out| !excluded.contains(&out.id.as_str()));
    let of = |id: &&'static str| RuledOut {
        id: (*id).into(),
        why: format!("slowing {} hardly changed throughput", in_words(lever_of(id))),
    };
    verdict.ruled_out.extend(excluded.iter().filter(|id| **id != verdict.id).map(of));
}

/// Returns the ID of the first lever that tests this bottleneck; empty if there is none.
fn lever_of(id: &str) -> &'static str {
    SUSPECTS.iter().find(|suspect| suspect.bottleneck == id).map_or("", |suspect| suspect.lever)
}

#[cfg(test)]
mod tests {
    use run::ProofOutcome;

    use crate::planted::proofs::{slots, tried_on, turns, unread, verdict};
    use crate::thresholds::SUPPORTED;

    /// HAProxy with `balance source`, nginx with `ip_hash` and Kubernetes with `sessionAffinity: ClientIP` send all
    /// requests of one address to one backend. A second address reaches a second backend. An earlier version of
    /// loadline reported session affinity as a deliberate rate limit, with a confidence of 90 %.
    #[test]
    fn a_second_address_may_reach_a_second_backend() {
        let with = |change: fn(&mut run::Side)| {
            let mut run = unread(1.5);
            run.trials.iter_mut().filter_map(|trial| trial.server.as_mut()).for_each(change);
            tried_on(run, verdict("server-concurrency", 0.5), |proof, _| {
                proof.trials.push(slots("server-cpu", 0.01, 0.0));
                proof.switched.push(turns(run::SOURCES_LEVER, 2.0));
            })
        };
        let affinity: [fn(&mut run::Side); 2] = [
            |side| side.behind.push(run::Upstream { address: "10.0.0.8:8000".into(), depth: 1, ..Default::default() }),
            |side| side.processes.push("srv:101".into()),
        ];
        for change in affinity {
            let found = with(change);
            assert_eq!(
                (found.0.outcome, found.1.id.as_str()),
                (ProofOutcome::Refuted, "server-rate-limit"),
                "{}",
                found.0.why
            );
            assert!(found.1.confidence <= 0.5 && found.1.sentence.contains("several backends"), "{:?}", found.1);
            assert!(found.1.advice[0].contains("session affinity"), "{:?}", found.1.advice);
        }
        assert!(with(|_| ()).1.confidence >= SUPPORTED, "one process without upstreams");
    }
}
