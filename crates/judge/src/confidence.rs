//! Confidence of a verdict: the probability of its rule, limited by what happened around the measurement. No other module changes it.

use run::{Bottleneck, Certainty};

use crate::Facts;
use crate::thresholds::{CONTRADICTED, DISTURBED, SURE};

/// A circumstance that limits confidence, and the words about it that follow the sentence of a verdict.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cap {
    /// Greatest confidence.
    pub(crate) most: f64,
    /// Words after the sentence.
    pub(crate) words: String,
    /// Whether a verdict without a cause has the words, too.
    pub(crate) always_told: bool,
}

/// Row of the table: returns the cap of a circumstance where a run shows it.
type Circumstance = fn(&Facts<'_>) -> Option<Cap>;

/// Circumstances that weaken every verdict.
const CIRCUMSTANCES: &[Circumstance] = &[incident, other_programs];

/// Returns a server or generator that died or stood still.
fn incident(facts: &Facts<'_>) -> Option<Cap> {
    let died = facts.run.ended_by().map(|(_, incident)| incident);
    // Where nothing was completed, the incident is all there is to say.
    let happened = || match facts.decisive {
        Some(trial) => trial.incidents.first(),
        None => facts.run.trials.iter().find_map(|t| t.incidents.first()),
    };
    let incident = died.or_else(happened)?;
    Some(Cap { most: DISTURBED, words: format!(" (but {})", incident.text), always_told: true })
}

/// Returns the CPU use of programs that belong to neither side.
fn other_programs(facts: &Facts<'_>) -> Option<Cap> {
    let (taken, online) = facts.other_processes_cpu()?;
    let most = (SURE - taken / online).max(DISTURBED);
    Some(Cap { most, words: "; less sure because of other programs".into(), always_told: false })
}

/// Lowers the confidence of a verdict for the circumstances of its run.
pub(crate) fn weaken(verdict: &mut Bottleneck, facts: &Facts<'_>) {
    for cap in CIRCUMSTANCES.iter().filter_map(|of| of(facts)) {
        let told = cap.always_told || verdict.confidence > 0.0;
        limit(verdict, cap.most);
        verdict.sentence += if told { &cap.words } else { "" };
    }
}

/// Lowers the confidence of a verdict that some of the repeats contradict.
pub(crate) fn contradict(verdict: &mut Bottleneck, words: &str) {
    limit(verdict, CONTRADICTED);
    verdict.sentence += words;
}

/// Lowers the confidence to at most this value.
pub(crate) fn limit(verdict: &mut Bottleneck, most: f64) {
    set(verdict, verdict.confidence.min(most));
}

/// Sets the confidence and its step.
pub(crate) fn set(verdict: &mut Bottleneck, confidence: f64) {
    verdict.confidence = if confidence.is_finite() { confidence.clamp(0.0, 1.0) } else { 0.0 };
    verdict.sureness = Certainty::from_confidence(verdict.confidence);
}
