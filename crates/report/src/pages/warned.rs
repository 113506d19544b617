//! Facts that readers must know before they trust the figures. The section contains the results of the user's
//! expectations, an interruption of the run, a certificate that was not verified, and warnings.

use run::Run;
use run::number::quantity;

use super::answered;
use crate::words::capital;
use crate::{Block, Note, Section, Tone, Unit, Warnings, Weight};

/// Maximum number of warnings in the summary. Further warnings are in the section about trust.
pub(super) const FIRST_WARNINGS: usize = 2;

/// Returns the section with the alerts and warnings. If the run has a summary, returns no section, because the summary
/// contains the alerts and warnings.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let blocks: Vec<Block> = alerts(run).into_iter().chain(warnings(run)).collect();
    if blocks.is_empty() || answered::has_answer(run) {
        return Vec::new();
    }
    vec![Section::new("warnings", "", Weight::First, blocks)]
}

/// Returns the results of the user's expectations. The returned blocks also contain notes about an incomplete run and
/// about a certificate that was not verified.
pub(super) fn alerts(run: &Run) -> Vec<Block> {
    let mut blocks = Vec::new();
    if run.trials.is_empty() {
        blocks.push(Note::block(Tone::Bad, "No trial was finished, so there is nothing to judge."));
    }
    if run.interrupted {
        // If a failure ended the run, the title already names this failure.
        let text = match (run.ended_by(), &run.trials[..]) {
            (Some(_), _) => "Ended early: nothing was measured after that.".to_owned(),
            (None, [one]) if one.measured.length_s > 0.0 => {
                let window = quantity(one.measured.length_s * 1e6, Unit::Micros);
                format!("Interrupted: only {window} were measured.")
            }
            (None, _) => "Interrupted: only a part was measured.".to_owned(),
        };
        blocks.push(Note::block(Tone::Warn, text));
    }
    if run.plan.load.tls.as_ref().is_some_and(|tls| tls.insecure) {
        blocks.push(Note::block(Tone::Plain, "The server's certificate was not verified (--insecure)."));
    }
    for e in &run.findings.expected {
        let (tone, word) = match (e.met, e.undecided) {
            (true, false) => (Tone::Good, "Met"),
            (true, true) => (Tone::Warn, "Not sure, counted as met"),
            (false, true) => (Tone::Bad, "Not sure, counted as not met"),
            (false, false) => (Tone::Bad, "Not met"),
        };
        blocks.push(Note::block(tone, format!("{word}: {}; {}", e.text, e.found)));
    }
    blocks
}

/// Returns all warnings: first facts about the target, then reasons to trust the figures less, the most serious first.
/// Leaves out warnings whose text is already in the verdict's sentence.
pub(super) fn all(run: &Run) -> Vec<&String> {
    let verdict = &run.findings.bottleneck.sentence;
    let is_stated = |text: &str| verdict.contains(text) || !verdict.is_empty() && text.contains(verdict.as_str());
    let of_target = run.notes.iter().filter(|note| note.is_warning).map(|note| &note.text);
    of_target.chain(&run.findings.trust.warnings).filter(|text| !is_stated(text)).collect()
}

/// Returns the block with the most serious warnings and the number of other warnings; `None` if there are no warnings.
pub(super) fn warnings(run: &Run) -> Option<Block> {
    let warned = all(run);
    let shown = warned.iter().take(FIRST_WARNINGS).map(|text| capital(text)).collect();
    let more = warned.len().saturating_sub(FIRST_WARNINGS);
    (!warned.is_empty()).then(|| Block::Warnings(Warnings { shown, more, to: "trust", ..Warnings::default() }))
}

#[cfg(test)]
mod tests {
    #[test]
    fn warnings_that_are_folded_away_are_led_to() {
        let mut run = run::Run { trials: vec![run::Trial::default()], ..run::Run::default() };
        run.findings.trust.warnings = ["one", "two", "three"].map(str::to_string).into();
        let html = crate::render("html", &run, &crate::Style::default()).unwrap();
        run.findings.bottleneck.sentence = "nothing was full (but one)".into();
        let Some(crate::Block::Warnings(beside)) = super::warnings(&run) else { panic!("two are left") };
        assert_eq!((beside.shown, beside.more), (vec!["Two".to_string(), "Three".to_string()], 0), "said once");
        run.notes = vec![
            run::Note { text: "stopped adding clients".into(), ..run::Note::default() },
            run::Note { text: "the target redirects".into(), is_warning: true },
        ];
        assert_eq!(super::all(&run), ["the target redirects", "two", "three"], "the target comes first");
        let text = crate::render("text", &run, &crate::Style::default()).unwrap();
        assert_eq!(text.matches("The target redirects").count(), 1, "{text}");
        assert!(html.contains(r##"<a href="#trust">1"##) && html.contains(r#"<section id="trust">"#), "{html}");
    }
}
