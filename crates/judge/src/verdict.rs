//! The verdict. Every rule is asked; the first that binds in causal order wins, and the others say why they do not.

use run::{Bottleneck, RuledOut};

use crate::Facts;
use crate::demand::next;
use crate::number::figure;
use crate::rules::{RULES, Rule, Verdict, none_good};
use crate::thresholds::{DISTURBED, SURE};

/// Facts that no counter of a server shows.
const NOT_WATCHED: [&str; 2] = [
    "requests, response times and errors: they are counted where the load is made (loadline load, loadline find)",
    "the generator's side: whether it, the network or the server was the limit (loadline find)",
];

/// Returns why each other rule is not the verdict, and what is missing for those that cannot say.
fn others(winner: &Rule, confidence: f64, answers: &[(&Rule, Verdict)]) -> (Vec<RuledOut>, Vec<String>) {
    let (mut ruled_out, mut missing) = (Vec::new(), Vec::new());
    for (rule, answer) in answers.iter().filter(|(r, _)| r.id != winner.id && r.id != "unknown") {
        let mut out = |why| ruled_out.push(RuledOut { id: rule.id.into(), why });
        match answer {
            Verdict::RuledOut(why) => out(why.clone()),
            // Missing counters that matter only behind a sure verdict are not listed.
            Verdict::CannotSay(what) if winner.id == "unknown" || confidence < SURE => {
                missing.extend(what.iter().map(|w| format!("{}: {w}", rule.id)));
            }
            Verdict::CannotSay(_) => {}
            Verdict::Binds { sentence: also, .. } => {
                out(format!("its signs are there too ({also}), but {} comes before it and explains them", winner.id));
            }
        }
    }
    (ruled_out, missing)
}

/// Asks all rules.
pub(crate) fn verdict(facts: &Facts<'_>) -> Bottleneck {
    // No rule reads the counters of a trial in which the server or the generator died.
    let broken = facts.decisive.is_some_and(|t| t.broken().is_some());
    // No rule reads a run without a good answer either: a server that refuses everything shows no limit.
    let mute = broken || none_good(facts.run).is_some();
    let asked = RULES.iter().filter(|r| !mute || r.id == "unknown");
    let answers: Vec<(&Rule, Verdict)> = asked.map(|r| (r, (r.judge)(facts))).collect();
    let bound = answers.iter().position(|(_, v)| matches!(v, Verdict::Binds { .. }));
    let Some((winner, Verdict::Binds { confidence, sentence, evidence })) = bound.and_then(|i| answers.get(i)) else {
        return Bottleneck::default();
    };
    let is_unknown = winner.id == "unknown";
    let (ruled_out, mut missing) = others(winner, *confidence, &answers);
    if facts.run.only_watched() {
        missing = NOT_WATCHED.map(str::to_string).into();
    }
    let (confidence, sentence) = weakened(facts, *confidence, sentence);
    let waits_for = if winner.waits { crate::upstreams::waits_for(&facts.upstreams) } else { None };
    let of_rule = winner.advice.iter().map(|a| (*a).to_string());
    Bottleneck {
        id: winner.id.into(),
        confidence,
        sureness: run::Certainty::from_confidence(confidence),
        sentence,
        evidence: evidence.clone(),
        ruled_out,
        next: if is_unknown { None } else { next(facts, winner.id) },
        missing,
        advice: waits_for.iter().map(crate::upstreams::advice).chain(of_rule).collect(),
        waits_for,
    }
}

/// Lowers the confidence for CPU use of other programs and for incidents of the server, and adds both to the sentence.
fn weakened(facts: &Facts<'_>, confidence: f64, sentence: &str) -> (f64, String) {
    let mut confidence = if confidence.is_finite() { confidence.clamp(0.0, 1.0) } else { 0.0 };
    let mut sentence = sentence.to_string();
    let died = facts.run.ended_by().map(|(_, incident)| incident);
    // Where nothing was completed, the incident is all there is to say.
    let happened = || match facts.decisive {
        Some(trial) => trial.incidents.first(),
        None => facts.run.trials.iter().find_map(|t| t.incidents.first()),
    };
    if let Some(incident) = died.or_else(happened) {
        confidence = confidence.min(DISTURBED);
        sentence += &format!(" (but {})", incident.text);
    }
    if let Some((taken, online)) = facts.other_processes_cpu() {
        confidence = confidence.min((SURE - taken / online).max(DISTURBED));
        sentence += &format!("; other programs used {} of {} CPUs meanwhile", figure(taken), figure(online));
    }
    (confidence, sentence)
}
