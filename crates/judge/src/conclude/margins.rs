//! Margins: the distance of each signal from its threshold, beyond which the verdict would change. Each signal that the
//! winning rule compares with a threshold has one margin.

use run::Margin;

use crate::Facts;
use crate::conclude::choose::{Answer, Choice, choose};
use crate::signals::Signal;

/// Returns the margins of the winning rule, the smallest first. If a signal were beyond its threshold, the verdict of
/// another rule (the second choice) would usually win. Leaves out signals whose values do not support the verdict.
pub(crate) fn of(facts: &Facts<'_>, choice: &Choice<'_>, answers: &[Answer]) -> Vec<Margin> {
    let mut signals = (choice.rule.signals)(facts);
    signals.retain(|signal| signal.value.is_finite() && signal.threshold.is_finite());
    signals.retain(Signal::carries);
    signals.sort_by(|a, b| a.distance().total_cmp(&b.distance()));
    let would_be = choose(answers, &[choice.rule.id]).map_or("", |other| other.rule.id);
    signals.iter().map(|signal| margin(signal, would_be)).collect()
}

fn margin(signal: &Signal, would_be: &str) -> Margin {
    Margin {
        signal: signal.name.into(),
        value: signal.value,
        low: signal.low,
        high: signal.high,
        threshold: signal.threshold,
        would_be: if signal.beyond.is_empty() { would_be } else { signal.beyond }.into(),
    }
}

#[cfg(test)]
mod tests {
    use crate::signals::Signal;

    /// The verdict "unknown" compares no signal with a threshold, so the test leaves this verdict out.
    #[test]
    fn every_planted_verdict_says_how_far_it_is_from_another_one() {
        for planted in crate::planted::PLANTED.iter().filter(|planted| planted.id != "unknown") {
            let mut run = (planted.plant)().run();
            crate::judge(&mut run);
            let verdict = &run.findings.bottleneck;
            assert!(verdict.id == planted.id && !verdict.margins.is_empty(), "{}: {verdict:#?}", planted.id);
        }
    }

    #[test]
    fn only_a_signal_that_agrees_with_the_verdict_carries_it() {
        let full = |share| Signal::new("busy share", share, (0.87, 0.02));
        assert!(full(1.0).carries() && !full(0.253).carries());
        assert!(full(0.05).beyond("server-single-thread").carries());
        assert!(!full(0.95).beyond("server-single-thread").carries());
    }
}
