//! Checks that no output form panics or fails, whatever figures and names a run has or lacks.

#![allow(clippy::unwrap_used)]

mod common;

use common::any::{findings, trial};
use loadline_report::{FORMS, ReportError, Style, render};
use proptest::prelude::*;
use run::Run;

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_run_breaks_a_form(
        trials in prop::collection::vec(trial(), 0..6),
        findings in findings(),
        command in ".{0,60}",
        width in 0usize..200,
    ) {
        let run = Run { command, trials, findings, ..Run::default() };
        for form in FORMS {
            let text = render(form.name, &run, &Style { width, ..Style::default() });
            let is_none = matches!(text, Err(ReportError::NoStacks)) && ["folded", "svg"].contains(&form.name);
            prop_assert!(text.is_ok() || is_none, "{}: {:?}", form.name, text.err());
            if form.name == "json" {
                let back = serde_json::from_str::<Run>(text.as_deref().unwrap_or_default());
                prop_assert!(back.is_ok(), "does not load again: {:?}", back.err());
            }
            if form.name == "html" {
                let text = text.unwrap_or_default();
                prop_assert!(!text.contains("=\"NaN") && !text.contains("inf\""), "a coordinate is no number");
            }
        }
    }
}
