//! Collects every kind of sentence about made-up runs, so that all kinds can be read together.

use std::collections::BTreeSet;

use run::{Findings, Run};

use super::sentence::Sentence;
use super::warned::WARNED;
use super::{PLANTED, proofs, waits, without};
use crate::{RULES, judge};

/// Returns one sentence of each kind. Sentences that differ only in their figures are of the same kind.
pub fn sentences() -> Vec<Sentence> {
    let mut seen = BTreeSet::new();
    let mut all: Vec<Sentence> =
        rules().into_iter().chain(judged()).chain(proofs::sentences()).chain(waits::sentences()).collect();
    all.retain(|s| seen.insert((s.kind, s.id.clone(), kind_of(s))));
    all.sort_by(|a, b| (place(a.kind), a.kind, order(&a.id)).cmp(&(place(b.kind), b.kind, order(&b.id))));
    all
}

/// Kinds of sentences, in the order in which a report prints them.
const KINDS: [&str; 13] = [
    "verdict",
    "evidence",
    "advice",
    "next",
    "ruled out",
    "not known",
    "explain",
    "experiment",
    "warning",
    "held",
    "argument",
    "waits",
    "advice on waits",
];

fn place(kind: &str) -> usize {
    KINDS.iter().position(|k| *k == kind).unwrap_or(KINDS.len())
}

fn order(id: &str) -> usize {
    RULES.iter().position(|rule| rule.id == id).unwrap_or(RULES.len())
}

/// Returns the text that identifies the kind of a sentence: its words without figures. For sentences of the kinds
/// `argument` and `ruled out`, returns only the first letters of this text.
fn kind_of(s: &Sentence) -> String {
    let shape = shape(&s.text);
    match s.kind {
        "argument" => shape.chars().take(12).collect(),
        "ruled out" => shape.chars().take(24).collect(),
        _ => shape,
    }
}

/// Returns a sentence without its figures and units, and without spaces.
fn shape(text: &str) -> String {
    let word =
        |word: &str| if word.contains(|c: char| c.is_ascii_digit()) { "#".to_string() } else { word.to_string() };
    let units = ["µs", "ms", "s", "%", "one", "B"];
    text.split_whitespace()
        .map(word)
        .filter(|w| !units.contains(&w.trim_end_matches([',', '.', ';', ')', ':'])))
        .collect()
}

fn rules() -> Vec<Sentence> {
    let of = |rule: &crate::Rule| {
        let advice = rule.advice.iter().map(|text| Sentence::new("advice", rule.id, text));
        advice.chain([Sentence::new("explain", rule.id, rule.explain)]).collect::<Vec<_>>()
    };
    RULES.iter().flat_map(of).collect()
}

/// Returns the sentences about each made-up run, first with all counters, then without each counter that its rule
/// needs. The result also contains the sentences about runs with warnings.
fn judged() -> Vec<Sentence> {
    let planted = PLANTED.iter().flat_map(|planted| {
        let needs = RULES.iter().find(|rule| rule.id == planted.id).map_or(&[][..], |rule| rule.needs);
        let less = needs.iter().map(|need| without(planted.run(), &[*need]));
        std::iter::once(planted.run()).chain(less).collect::<Vec<Run>>()
    });
    let warned = WARNED.iter().map(|(_, run)| run());
    planted.chain(warned).flat_map(said).collect()
}

fn said(mut run: Run) -> Vec<Sentence> {
    judge(&mut run);
    let f: &Findings = &run.findings;
    let b = &f.bottleneck;
    let each = |kind, texts: &[String]| texts.iter().map(|t| Sentence::new(kind, "", t)).collect::<Vec<_>>();
    let mut all = vec![Sentence::new("verdict", &b.id, &b.sentence)];
    all.extend(b.evidence.iter().map(|e| Sentence::new("evidence", &b.id, &e.text)));
    all.extend(b.advice.iter().map(|text| Sentence::new("advice", &b.id, text)));
    all.extend(b.next.iter().map(|next| Sentence::new("next", &next.id, &next.why)));
    all.extend(b.ruled_out.iter().map(|out| Sentence::new("ruled out", &out.id, &out.why)));
    all.extend(b.missing.iter().map(|text| match text.split_once(": ") {
        Some((id, rest)) if RULES.iter().any(|rule| rule.id == id) => Sentence::new("not known", id, rest),
        _ => Sentence::new("not known", "", text),
    }));
    all.extend(each("warning", &f.trust.warnings));
    all.extend(each("held", &f.trust.held));
    all.extend(each("argument", &f.argument));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_and_every_kind_has_a_sentence() {
        let all = sentences();
        for rule in RULES {
            for kind in ["verdict", "advice", "explain"] {
                assert!(all.iter().any(|s| s.kind == kind && s.id == rule.id), "{kind} of {}", rule.id);
            }
        }
        for kind in KINDS {
            assert!(all.iter().any(|s| s.kind == kind), "{kind}");
        }
    }
}
