//! Collects the warnings and the passed checks of a run. The most serious warnings come first, because a terminal shows
//! only two of them.

/// Effect of a warning on the conclusions that a reader may draw, the most serious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// The main figure does not describe what the server can sustain.
    Misleading,
    /// Something disturbed the measurement, or two counts contradict each other, so that a figure may be wrong.
    Unreliable,
    /// A figure is missing or less precise than usual.
    Imprecise,
    /// A property of the set-up that the reader chose, such as one machine for client and server.
    SetUp,
}

/// The warnings and the passed checks that were found so far.
#[derive(Default)]
pub(super) struct TrustReport {
    warnings: Vec<(Severity, String)>,
    held: Vec<String>,
}

impl TrustReport {
    /// Adds a warning.
    pub(super) fn warn(&mut self, severity: Severity, text: String) {
        self.warnings.push((severity, text));
    }

    /// Adds the text of a check that the run passed.
    pub(super) fn hold(&mut self, text: String) {
        self.held.push(text);
    }

    /// Returns the warnings, the most serious first, and the passed checks. Warnings of one severity keep the order in
    /// which they were added.
    pub(super) fn sorted(mut self) -> (Vec<String>, Vec<String>) {
        self.warnings.sort_by_key(|(severity, _)| *severity);
        (self.warnings.into_iter().map(|(_, text)| text).collect(), self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::Severity::{Imprecise, Misleading, SetUp, Unreliable};
    use super::*;
    use crate::planted::{PlantedRun, Who};

    #[test]
    fn warnings_are_sorted_by_severity_and_then_by_their_order() {
        let mut report = TrustReport::default();
        for (severity, text) in
            [(SetUp, "a"), (Imprecise, "b"), (Unreliable, "c"), (Misleading, "d"), (Unreliable, "e"), (Imprecise, "f")]
        {
            report.warn(severity, text.into());
        }
        report.hold("held".into());
        assert_eq!(report.sorted(), (["d", "c", "e", "b", "f", "a"].map(String::from).into(), vec!["held".into()]));
    }

    /// Earlier versions of loadline listed the warnings in the order of the checks. On a terminal, two properties of
    /// the set-up hid the violated law behind "3 more warnings".
    #[test]
    fn a_wrong_count_comes_before_properties_of_the_set_up() {
        let planted = PlantedRun::new(500.0, 20_000.0).per_s(Who::Server, "cpu.user", "total", |_| 4e6);
        let mut run = planted.change(|trial, _| trial.rates.concurrency *= 3.0).run();
        run.plan.target.url = "http://127.0.0.1:8080/".into();
        crate::judge(&mut run);
        let warnings = run.findings.trust.warnings;
        let place = |words: &str| warnings.iter().position(|text| text.contains(words));
        let [wrong, of_loopback] = ["Little's law fails", "on loopback the kernel bills"].map(place);
        assert!(wrong.is_some() && wrong < of_loopback, "{warnings:#?}");
    }
}
