//! Confidence of a verdict: the probability of its rule, limited by what happened around the measurement. Only the
//! conclusion of an experiment changes it afterwards (`prove::decision`).

use run::{Bottleneck, Certainty};

use crate::Facts;
use crate::rules::RULES;
use crate::thresholds::{CONTRADICTED, DISTURBED, OTHERS_COST, SURE};

/// Upper limit of the confidence, and the words about its reason that follow the sentence of a verdict.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cap {
    /// Maximum confidence.
    pub(crate) most: f64,
    /// Words that follow the sentence of the verdict.
    pub(crate) words: String,
    /// True if the words also follow a verdict that names no cause.
    pub(crate) always_told: bool,
}

/// Function that returns the cap of a circumstance if a run shows the circumstance.
type Circumstance = fn(&Facts<'_>, &Bottleneck) -> Option<Cap>;

/// Circumstances that weaken every verdict.
const CIRCUMSTANCES: &[Circumstance] = &[incident, other_programs];

/// Returns a server or generator that died or stood still.
fn incident(facts: &Facts<'_>, _: &Bottleneck) -> Option<Cap> {
    let died = facts.run.ended_by().map(|(_, incident)| incident);
    // If no request completed, the incident is the only finding.
    let happened = || match facts.decisive {
        Some(trial) => trial.incidents.first(),
        None => facts.run.trials.iter().find_map(|t| t.incidents.first()),
    };
    let incident = died.or_else(happened)?;
    Some(Cap { most: DISTURBED, words: format!(" (but {})", incident.text), always_told: true })
}

/// Returns the cap for CPU use of programs that belong to neither side. The CPU use of these programs does not weaken a
/// verdict that a counted resource ran out.
fn other_programs(facts: &Facts<'_>, verdict: &Bottleneck) -> Option<Cap> {
    if RULES.iter().any(|rule| rule.is_counted && rule.id == verdict.id) {
        return None;
    }
    let (taken, online) = facts.other_processes_cpu()?;
    let share = taken / online;
    let most = (SURE - OTHERS_COST * share * share).max(DISTURBED);
    Some(Cap { most, words: "; less sure because of other programs".into(), always_told: false })
}

/// Lowers the confidence of a verdict for the circumstances of its run.
pub(crate) fn weaken(verdict: &mut Bottleneck, facts: &Facts<'_>) {
    let caps: Vec<Cap> = CIRCUMSTANCES.iter().filter_map(|of| of(facts, verdict)).collect();
    for cap in caps {
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

/// Sets the confidence and its word (such as "sure").
pub(crate) fn set(verdict: &mut Bottleneck, confidence: f64) {
    verdict.confidence = if confidence.is_finite() { confidence.clamp(0.0, 1.0) } else { 0.0 };
    verdict.sureness = Certainty::from_confidence(verdict.confidence);
}

#[cfg(test)]
mod tests {
    use crate::planted::{PLANTED, Who};

    /// Another program uses half of the four CPUs.
    #[test]
    fn verdicts_from_exact_counters_stay_sure_beside_other_programs() {
        let beside = |id: &str| {
            let planted = PLANTED.iter().find(|planted| planted.id == id).unwrap();
            let mut run = (planted.plant)().per_s(Who::Server, "cpu.user", "total", |_| 2e6).run();
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        let (quota, disk) = (beside("server-cpu-quota"), beside("server-disk"));
        assert!(quota.id == "server-cpu-quota" && quota.confidence >= 0.9, "{quota:#?}");
        assert!(disk.confidence < 0.5 && disk.sentence.contains("other programs"), "{disk:#?}");
    }
}
