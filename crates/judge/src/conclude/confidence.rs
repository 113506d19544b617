//! Confidence of a verdict: the probability of its rule, limited by circumstances such as a crash or the CPU use of
//! other programs. After the judgement, only the conclusion of an experiment changes the confidence
//! (`prove::decision`). The decisive trial of a run is the load that represents the run.

use run::{Bottleneck, Caveat, Certainty};

use crate::Facts;
use crate::context::single::{good, highest_rate, server_of};
use crate::context::sweep::Plateau;
use crate::rules::RULES;
use crate::signals::cpu::fullness;
use crate::thresholds::{ASKED_FOR_MORE, CONTRADICTED, DISTURBED, LIKELY, OTHERS_COST, SURE, UNDECIDED};

/// Function that checks one circumstance of a run, and returns a caveat if the circumstance applies.
type Circumstance = fn(&Facts<'_>, &Bottleneck) -> Option<Caveat>;

/// Circumstances that weaken every verdict.
const CIRCUMSTANCES: &[Circumstance] = &[incident, other_programs, outdone_sweep, disturbed_steps];

/// Returns the caveat for an incident, such as a server that died or stopped answering.
fn incident(facts: &Facts<'_>, _: &Bottleneck) -> Option<Caveat> {
    let died = facts.run.ended_by().map(|(_, incident)| incident);
    // A run in which no request completed has no decisive trial (which represents the run). The only finding about a
    // run in which no request completed is the first incident of any trial.
    let happened = || match facts.decisive {
        Some(trial) => trial.incidents.first(),
        None => facts.run.trials.iter().find_map(|t| t.incidents.first()),
    };
    // If an incident ended the run, the headline already names the incident, so the caveat does not repeat it.
    let words = if died.is_some() { String::new() } else { format!(" (but {})", happened()?.text) };
    Some(Caveat { most: DISTURBED, words, always_told: true })
}

/// Returns the caveat for CPU use of programs that belong neither to the server nor to the generator. A verdict that
/// follows from exact counts is not weakened by other programs.
fn other_programs(facts: &Facts<'_>, verdict: &Bottleneck) -> Option<Caveat> {
    if RULES.iter().any(|rule| rule.id == verdict.id && (rule.is_counted)(facts)) {
        return None;
    }
    let (taken, online) = facts.other_processes_cpu()?;
    let share = taken / online;
    let most = (SURE - OTHERS_COST * share * share).max(DISTURBED);
    Some(Caveat { most, words: "; less sure because of other programs".into(), always_told: false })
}

/// Returns the caveat for an open loop that completed clearly more than the plateau of the sweep. If an open loop
/// completed clearly more, the resource that is full at the plateau is not the limit, or now needs less time per
/// request. CPUs and threads that were full in the open loop, too, remain the limit.
fn outdone_sweep(facts: &Facts<'_>, verdict: &Bottleneck) -> Option<Caveat> {
    let swept = highest_rate(facts.sweep.iter().copied());
    let more = facts.search.iter().copied().filter(|trial| good(trial) >= ASKED_FOR_MORE * swept);
    let fastest = more.max_by(|a, b| good(a).total_cmp(&good(b)))?;
    let is_of_work = RULES.iter().any(|rule| rule.id == verdict.id && rule.is_of_work);
    let is_full = server_of(fastest).and_then(|server| fullness(&server)).is_some_and(|full| full >= LIKELY);
    let is_refuted = matches!(facts.plateau, Plateau::Flat { .. }) && !(is_of_work && is_full);
    let words = "; less sure because an open loop completed more than the sweep".into();
    is_refuted.then_some(Caveat { most: UNDECIDED, words, always_told: false })
}

/// Returns the caveat for a verdict that uses disturbed steps because the undisturbed steps have only one load level.
fn disturbed_steps(facts: &Facts<'_>, _: &Bottleneck) -> Option<Caveat> {
    let words = "; less sure because it also uses disturbed steps: other programs disturbed all but one load level";
    facts.has_spoiled.then(|| Caveat { most: UNDECIDED, words: words.into(), always_told: true })
}

/// Lowers the confidence of a verdict because of the circumstances of its run. Keeps the caveats that lowered the
/// confidence, and the caveats that are always printed, for [`tell`].
pub(crate) fn weaken(verdict: &mut Bottleneck, facts: &Facts<'_>) {
    for caveat in CIRCUMSTANCES.iter().filter_map(|of| of(facts, verdict)).collect::<Vec<_>>() {
        if caveat.always_told || verdict.confidence > caveat.most {
            limit(verdict, caveat.most);
            verdict.caveats.push(caveat);
        }
    }
}

/// Appends caveats to the verdict's sentence: those that still limit the confidence, and those that are always printed.
/// A caveat no longer limits the confidence if an experiment raised the confidence above the caveat's maximum.
pub(crate) fn tell(verdict: &mut Bottleneck) {
    let applies = |caveat: &Caveat| caveat.always_told || (0.0..=caveat.most).contains(&verdict.confidence);
    let words: String = verdict.caveats.iter().filter(|caveat| applies(caveat)).map(|caveat| &*caveat.words).collect();
    verdict.sentence += &words;
    verdict.caveats.clear();
}

/// Lowers the confidence of a verdict that some of the run's repeats contradict, and appends `words` to its sentence.
pub(crate) fn contradict(verdict: &mut Bottleneck, words: &str) {
    limit(verdict, CONTRADICTED);
    verdict.sentence += words;
}

/// Lowers the confidence of a verdict to `most` if the confidence is higher.
pub(crate) fn limit(verdict: &mut Bottleneck, most: f64) {
    set(verdict, verdict.confidence.min(most));
}

/// Sets the confidence of a verdict, and the word for this confidence (such as "sure").
pub(crate) fn set(verdict: &mut Bottleneck, confidence: f64) {
    verdict.confidence = if confidence.is_finite() { confidence.clamp(0.0, 1.0) } else { 0.0 };
    verdict.sureness = Certainty::from_confidence(verdict.confidence);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{PLANTED, Who};

    /// In this test, another program uses half of the four CPUs.
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

    #[test]
    fn an_experiment_that_makes_a_verdict_sure_takes_the_caveat_back() {
        let caveat = |always_told| Caveat { most: 0.6, words: "; less sure".into(), always_told };
        let told = |confidence, always_told| {
            let mut verdict = Bottleneck { caveats: vec![caveat(always_told)], ..Bottleneck::default() };
            set(&mut verdict, confidence);
            tell(&mut verdict);
            verdict.sentence
        };
        assert_eq!(
            (told(0.6, false), told(0.95, false), told(0.95, true)),
            ("; less sure".into(), String::new(), "; less sure".into())
        );
    }
}
