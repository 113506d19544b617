//! The verdict. Every rule is asked; the first that binds in causal order wins, and the others say why they do not.

use run::{Bottleneck, RuledOut};

use crate::Facts;
use crate::demand::next;
use crate::rules::{RULES, Rule, Verdict, none_good};
use crate::sweep::Plateau;
use crate::thresholds::{DISTURBED, SURE};

/// Facts that no counter of a server shows.
const NOT_WATCHED: [&str; 2] = [
    "requests, response times and errors: only the load generator counts them (run `loadline load` or `loadline find`)",
    "the generator's side: it shows if the generator or the network was the limit (run `loadline find`)",
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
                missing.extend(what.iter().map(|w| (rule.id, w.as_str())));
            }
            Verdict::CannotSay(_) => {}
            Verdict::Binds { sentence: also, .. } => {
                out(format!("explained by {}, though its signs are there: {also}", winner.id));
            }
        }
    }
    (ruled_out, merged(&missing))
}

/// Merges the rules that miss one and the same thing into one line.
fn merged(missing: &[(&str, &str)]) -> Vec<String> {
    let first = |at: usize| !missing[..at].iter().any(|(_, what)| *what == missing[at].1);
    let line = |at: usize| {
        let (id, what) = missing[at];
        match missing.iter().filter(|(_, w)| *w == what).count() {
            1 => format!("{id}: {what}"),
            all => format!("{id} and {} more: {what}", all - 1),
        }
    };
    (0..missing.len()).filter(|at| first(*at)).map(line).collect()
}

/// Asks all rules for the verdict.
pub(crate) fn verdict(facts: &Facts<'_>) -> Bottleneck {
    without(facts, &[])
}

/// Asks all rules but those of bottlenecks that an experiment excluded.
pub(crate) fn without(facts: &Facts<'_>, excluded: &[&str]) -> Bottleneck {
    // No rule reads the counters of a trial in which the server or the generator died.
    let broken = facts.decisive.is_some_and(|t| t.broken().is_some());
    // No rule reads a run without a good answer either: a server that refuses everything shows no limit.
    let mute = broken || none_good(facts.run).is_some();
    let asked = RULES.iter().filter(|r| (!mute || r.id == "unknown") && !excluded.contains(&r.id));
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
    let of_rule = match is_unknown {
        true => advice_without_a_cause(facts, &missing),
        false => winner.advice.iter().map(|a| (*a).to_string()).collect(),
    };
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
        ..Bottleneck::default()
    }
}

/// Returns the next steps where no cause was found: each names something that is in fact missing.
fn advice_without_a_cause(facts: &Facts<'_>, missing: &[String]) -> Vec<String> {
    if facts.run.only_watched() || !facts.run.sent_requests() || facts.client().is_none() {
        return Vec::new();
    }
    let unread = facts.server().is_none();
    let refused = |side: &run::Side| side.recording.absent.iter().any(|a| a.reason.starts_with("no permission"));
    let forbidden = !missing.is_empty() && facts.server().is_some_and(|view| refused(view.side));
    let one_load = facts.plateau == Plateau::NoResult && facts.search.is_empty();
    [
        (unread, "Run loadline on the server's host, or name its process: --server-pid PID."),
        (one_load, "Try several load levels: run `loadline find URL`."),
        (forbidden, "Run loadline as root: it may not read some of the counters that are missing."),
    ]
    .into_iter()
    .filter(|(is_missing, _)| *is_missing)
    .map(|(_, text)| text.to_string())
    .collect()
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
        sentence += if confidence > 0.0 { "; less sure because of other programs" } else { "" };
    }
    (confidence, sentence)
}
