//! Only the crate `judge` decides about results; reports must not decide anything themselves. The tests check that
//! every trial, rate and share in the main sections of a report comes from the findings.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use common::any::{figure, trial};
use loadline_report::{Block, Doc, Style, Unit, document, number, quantity, render};
use proptest::prelude::*;
use run::{Failure, Findings, Run, TlsPlan, TrialKind};

/// Generates a run with findings of the crate `judge`. The names of the generated run's trials do not occur in any
/// other text of the run.
fn judged() -> impl Strategy<Value = Run> {
    let kinds = [None, Some(TrialKind::Watched), Some(TrialKind::Sweep), Some(TrialKind::Search)];
    let kind = prop::sample::select(kinds.to_vec());
    let parts = (prop::collection::vec(trial(), 1..6), any::<bool>(), kind, prop::option::of(figure()), any::<bool>());
    parts.prop_map(|(trials, experiment, kind, ceiling, tls)| {
        let mut run = Run { trials, ..Run::default() };
        for (i, trial) in run.trials.iter_mut().enumerate() {
            trial.label = format!("trial-{i}-of-it");
            trial.kind = kind.unwrap_or(trial.kind);
        }
        run.plan.command = if experiment { "lab none".into() } else { "find".into() };
        run.plan.load.tls = tls.then(TlsPlan::default);
        run.findings.trust.generator_ceiling = ceiling;
        judge::judge(&mut run);
        run
    })
}

/// Returns the titles and blocks of the sections with these IDs, as text.
fn said(doc: &Doc, ids: &[&str]) -> String {
    let sections = doc.sections.iter().filter(|s| ids.contains(&s.id.as_str()));
    sections.map(|s| format!("{} {:?} ", s.title, s.blocks)).collect()
}

fn named(text: &str, trials: usize) -> Vec<usize> {
    (0..trials).filter(|i| text.contains(&format!("trial-{i}-of-it"))).collect()
}

/// Returns the figures of a text that end with one of `ends`, exactly as written: rates (`/s`) or shares (`%`).
fn figures(text: &str, ends: &[&str]) -> BTreeSet<String> {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || "\"\\();:~".contains(c)).collect();
    let figure = |i: usize| {
        let word = words[i].trim_end_matches([',', '.']);
        let end = ends.iter().find_map(|end| word.strip_suffix(end))?;
        let prefix = matches!(end, "" | "k" | "M" | "G" | "T" | "P" | "requests");
        let figure = if prefix { words.get(i.checked_sub(1)?)?.to_string() + end } else { end.into() };
        let figure = figure.trim_end_matches("requests").to_string();
        figure.starts_with(|c: char| c.is_ascii_digit()).then_some(figure)
    };
    (0..words.len()).filter_map(figure).collect()
}

/// Returns the figures in all sentences of the findings, in the form in which [`figures`] returns them.
fn in_words(found: &Findings, ends: &[&str]) -> BTreeSet<String> {
    fn strings(value: &serde_json::Value, all: &mut String) {
        match value {
            serde_json::Value::String(text) => *all += &format!("{text} "),
            serde_json::Value::Array(each) => each.iter().for_each(|v| strings(v, all)),
            serde_json::Value::Object(each) => each.values().for_each(|v| strings(v, all)),
            _ => {}
        }
    }
    let mut all = String::new();
    strings(&serde_json::to_value(found).unwrap(), &mut all);
    figures(&all, ends)
}

const RATES: &[&str] = &["/s"];
const SHARES: &[&str] = &["%"];

/// Returns the rates in the findings, formatted as a page formats them.
fn rates(run: &Run) -> BTreeSet<String> {
    let found = &run.findings;
    let capacity = found.capacity.iter().flat_map(|c| [Some(c.rate), c.low, c.high, c.failed_at]);
    let evidence = found.bottleneck.evidence.iter().flat_map(|e| [e.value, e.limit]);
    let offered = [run.picked(|p| p.open_held), run.picked(|p| p.overload)].into_iter().flatten();
    let offered = offered.flat_map(|t| [Some(t.rates.offered_rate), Some(t.rates.completed_rate)]);
    let good = found.outcomes.iter().map(|outcome| outcome.good_rate);
    let more = [
        found.knee.as_ref().map(|k| k.x_max),
        found.picks.beyond.and_then(|at| found.outcomes[at].good_rate),
        found.bottleneck.next.as_ref().and_then(|next| next.rate),
        found.users.as_ref().map(|users| users.rate),
        found.trust.generator_ceiling,
    ];
    let all = capacity.chain(evidence).chain(offered).chain(good).chain(more).flatten();
    // If the interval of a capacity is wide, the pages write the capacity with two digits.
    let two_digits = |rate: f64| format!("{rate:.1e}").parse().unwrap_or(rate);
    let written = all.flat_map(|rate| {
        [rate, two_digits(rate)].map(|rate| format!("{}/s {}", number(rate), quantity(rate, Unit::PerSecond)))
    });
    let mut known = in_words(found, RATES);
    known.extend(figures(&written.collect::<Vec<_>>().join(" "), RATES));
    known
}

/// Returns the shares in the findings, formatted as a page formats them.
fn shares(run: &Run) -> BTreeSet<String> {
    let found = &run.findings;
    let trust = &found.trust;
    let precision = found.capacity.as_ref().and_then(run::Capacity::precision);
    let all =
        [Some(found.bottleneck.confidence), precision, trust.ceiling_used, trust.measured_share, trust.probe_share];
    let written: Vec<String> = all.into_iter().flatten().map(|share| quantity(share, Unit::Share)).collect();
    let mut known = in_words(found, SHARES);
    known.extend(figures(&written.join(" "), SHARES));
    // Pages contain the words "95 % interval" even if no share in the findings is 95 %.
    known.insert("95".into());
    known
}

/// Returns true if, in some tenth of a second, almost all requests failed, or if a trial's measured window has no
/// successful request.
fn has_failed_stretch(run: &Run) -> bool {
    run.trials.iter().any(|trial| {
        let measured = &trial.measured;
        let answers =
            measured.series_completed.iter().zip(measured.series_refused.iter().chain(std::iter::repeat(&0.0)));
        let mut failed = answers.zip(&measured.series_failed);
        failed.any(|((all, refused), failed)| *failed > 0.0 && all - refused <= 0.01 * failed)
            || measured.tally.completed <= measured.tally.unexpected_status
    })
}

/// Returns the reason why a run fails, derived only from the run's trials and its capacity.
fn failure(run: &Run) -> Option<Failure> {
    let nothing = run.trials.iter().all(|t| t.measured.tally.completed == 0);
    let broken = run.findings.capacity.as_ref().is_some_and(|c| !c.held);
    match run.only_watched() {
        false if nothing => Some(Failure::NothingCompleted),
        _ => broken.then_some(Failure::Objective),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn pages_name_the_trials_that_judge_selected(run in judged()) {
        let (doc, picks) = (document(&run), run.findings.picks);
        let failing = run.findings.classes.iter().filter_map(|class| class.failing);
        let allowed: [(&[&str], Vec<usize>); 5] = [
            (&["utilisation", "counters", "series"], picks.shown.into_iter().collect()),
            (&["cpu", "costs", "all-costs"], [picks.decisive, picks.unloaded].into_iter().flatten().collect()),
            (&["latency"], [picks.unloaded, picks.loaded, picks.overload].into_iter().flatten().collect()),
            (&["hosts"], picks.several_hosts.into_iter().collect()),
            (&["classes"], picks.loaded.into_iter().chain(failing).collect()),
        ];
        for (ids, allowed) in allowed {
            for i in named(&said(&doc, ids), run.trials.len()) {
                prop_assert!(allowed.contains(&i), "{:?} speak of trial {}, judge of {:?}", ids, i, allowed);
            }
        }
        let held = picks.at_capacity.is_none_or(|at| run.findings.outcomes[at].held);
        prop_assert!(held, "the capacity is of a trial that did not hold");
    }

    #[test]
    fn pages_print_the_rates_and_shares_that_judge_counted(run in judged()) {
        let doc = document(&run);
        let headline = if run.findings.capacity.is_some() { doc.title.as_str() } else { "" };
        let ids: &[&str] = match run.trials.iter().any(|trial| trial.kind == TrialKind::Fixed) {
            // For a load that the user chose, the test does not check the answer section. The answer section of a load
            // that the user chose shows figures that are not in the findings.
            true => &["verdict", "counters-say", "trust", "capacity"],
            false => &["answer", "verdict", "counters-say", "trust", "capacity"],
        };
        let printed = figures(&format!("{headline} {}", said(&doc, ids)), RATES);
        let known = rates(&run);
        prop_assert!(printed.is_subset(&known), "rates {:?} of {:?}", printed.difference(&known), known);
        let printed = figures(&said(&doc, &["verdict", "counters-say", "trust"]), SHARES);
        let known = shares(&run);
        prop_assert!(printed.is_subset(&known), "shares {:?} of {:?}", printed.difference(&known), known);
    }

    #[test]
    fn every_form_prints_the_share_of_failures_that_judge_counted(run in judged()) {
        let told = |share: Option<f64>| share.map_or_else(|| "–".into(), |s| quantity(s, Unit::Share));
        let shares: Vec<String> = run.findings.outcomes.iter().map(|o| told(o.failed_share)).collect();
        let doc = document(&run);
        if let Some(Block::Table(table)) = doc.sections.iter().find(|s| s.id == "trials").and_then(|s| s.blocks.first()) {
            let at = table.columns.iter().position(|c| c.name == "errors").unwrap();
            let printed: Vec<&str> = table.rows.iter().map(|r| r[at].text.as_str()).collect();
            prop_assert_eq!(printed, shares.iter().map(String::as_str).collect::<Vec<_>>());
        }
        // The table of trials is missing if loadline only watched the server in all trials.
        let has_table = doc.sections.iter().any(|section| section.id == "trials");
        prop_assert!(has_table || run.trials.iter().all(|trial| trial.kind == TrialKind::Watched));
        let wide = Style { width: 400, color: false, ascii: false };
        let rows = [("text", "trial-0-of-it"), ("markdown", "| trial-0-of-it"), ("html", "trial-0-of-it</td>")];
        for (form, row) in rows.into_iter().filter(|_| has_table) {
            let text = render(form, &run, &wide).unwrap();
            let line = text.lines().find(|l| l.contains(row) && l.contains(shares[0].as_str()));
            prop_assert!(line.is_some(), "{}: no line of {} with {}\n{}", form, row, shares[0], text);
        }
    }

    #[test]
    fn the_exit_status_follows_from_the_trials(run in judged()) {
        match run.findings.failure {
            Some(Failure::FailedStretch) => prop_assert!(has_failed_stretch(&run)),
            other => prop_assert_eq!(other, failure(&run)),
        }
    }
}
