//! Comparison of the predicted with the measured effects of an experiment's levers (which slow resources), and the
//! resulting change of the verdict. A lever slows a resource, in slots (fractions of a second) or in turns (trials with
//! and without the lever alternate).

mod doubts;
mod experiment;
mod limit_kind;
mod own_turns;
mod reasons;
mod verdict_test;

use run::{Bottleneck, Effect, Proof, Run, RunnerUp};

use self::experiment::Experiment;
use self::own_turns::{more_load, more_sources, own_turns};
use self::verdict_test::subject;
use super::decision::{Conclusion, decide};
use super::decision_inputs::{MoreLoad, MoreSources, Own, Rival, Saturation, Subject};
use super::parts::{self, part_of};
use super::suspects::{SUSPECTS, suspect_of};
use super::turns::effect;
use super::{replaced, words};
use crate::context::single::good;
use crate::{Facts, conclude::confidence};

/// Predicts the effect of `lever` on throughput from the verdict, before the experiment. Returns an empty proof if the
/// verdict names no cause.
pub fn predicted(run: &Run, lever: &str, dose: f64) -> Proof {
    let verdict = &run.findings.bottleneck;
    if subject(verdict) != Subject::Cause {
        return Proof::default();
    }
    let suspect = suspect_of(verdict, Some(lever)).filter(|suspect| suspect.lever == lever);
    let ratio = suspect.map_or(1.0, |suspect| (suspect.ratio)(run, dose));
    let lever = lever.to_string();
    let prediction = Effect { lever, dose, ratio, low: ratio, high: ratio, at: String::new() };
    Proof { prediction: Some(prediction), why: "the experiment was not run".into(), ..Proof::default() }
}

/// Predicts the effect of `lever` on throughput, if this lever slows the second suspect (the next bottleneck). `dose`
/// is the share of the resource that the lever takes. Predicts no effect if the resource, without this share, still
/// allows the completed rate. Returns `None` if `lever` does not test the second suspect, or if the rate at which this
/// suspect is full is unknown.
pub fn runner_up(run: &Run, lever: &str, dose: f64) -> Option<RunnerUp> {
    let next = run.findings.bottleneck.next.as_ref()?;
    SUSPECTS.iter().find(|s| s.bottleneck == next.id && s.lever == lever && s.behind.is_none() && !s.serial)?;
    let completed = run.picked(|picks| picks.decisive).map(good).filter(|rate| *rate > 0.0)?;
    let ratio = (next.rate? * (1.0 - dose) / completed).min(1.0);
    let prediction = Effect { lever: lever.into(), dose, ratio, low: ratio, high: ratio, at: String::new() };
    Some(RunnerUp { bottleneck: next.id.clone(), prediction, measured: None })
}

/// Evaluates the trials of an experiment, records the outcome, and changes the verdict accordingly. Does nothing if the
/// experiment has no trial.
pub(super) fn conclude(facts: &Facts<'_>, proof: &mut Proof, verdict: &mut Bottleneck) {
    proof.effects = proof.switched.iter().filter_map(|trial| effect(trial).ok()).collect();
    let slots = parts::read(facts, proof, verdict);
    parts::add_untried_generator(facts, proof);
    parts::add_others(proof);
    let turns = own_turns(proof, verdict);
    let more = (more_load(facts, proof), more_sources(proof, turns.as_ref()));
    let nothing_tested = turns.is_none() && more == (MoreLoad::NotTested, MoreSources::NotTested);
    let effects = match slots {
        Some(Ok(effects)) => effects,
        Some(Err(why)) if nothing_tested => {
            (proof.outcome, proof.why) = (run::ProofOutcome::Inconclusive, why);
            return;
        }
        None if nothing_tested => return,
        _ => Vec::new(),
    };
    Experiment::new(facts, proof, verdict, (&effects, turns), more).settle(proof, verdict);
    confidence::set(verdict, verdict.confidence);
}

impl Experiment<'_> {
    /// Decides the outcome of the experiment, records it in the proof, and changes the verdict.
    fn settle(self, proof: &mut Proof, verdict: &mut Bottleneck) {
        let conclusion = decide(&self.test);
        proof.measured = match &self.turns {
            Some(turns) => Some(turns.effect.clone()),
            None => parts::measured(proof, self.effects),
        };
        proof.outcome = conclusion.outcome();
        proof.why = self.why(conclusion, proof, verdict);
        if let Some(found) = self.replacement(conclusion, proof, verdict) {
            *verdict = found;
            return;
        }
        let own_most = self.lever.and_then(|lever| part_of(proof, lever)).map_or(1.0, |own| own.estimate.high);
        verdict.confidence = conclusion.confidence(verdict.confidence, own_most, &self.test);
        if conclusion != Conclusion::Lighter {
            verdict.evidence.extend(words::evidence(proof));
        }
        match conclusion {
            Conclusion::Close | Conclusion::OthersOpen => words::note_close(proof, verdict, self.lever),
            Conclusion::FullnessOpen => verdict.missing.push(words::MISSING_LOAD.into()),
            _ => {}
        }
    }

    /// Returns the verdict that replaces the verdict from the counters. Returns `None` if the verdict from the counters
    /// stays.
    fn replacement(&self, conclusion: Conclusion, proof: &Proof, verdict: &Bottleneck) -> Option<Bottleneck> {
        let most = conclusion.confidence_in_new(&self.test);
        let of_lever = |lever: &str| replaced::of_lever(self.facts, verdict, proof, (lever, most));
        let of_rival = || self.rival.as_deref().map(of_lever);
        let is_full = self.test.saturation == Saturation::Shown && self.test.rival != Rival::Astray;
        match conclusion {
            Conclusion::Excluded => match of_rival().filter(|_| is_full) {
                Some(found) => Some(found),
                None => Some(replaced::rest(self.facts, verdict, proof, &self.excluded)),
            },
            Conclusion::Overtaken => of_rival(),
            Conclusion::Found | Conclusion::KindOpen if self.test.own != Own::Follows => of_rival(),
            // The counters named no cause. However, the server may wait for an upstream, and the lever on this upstream
            // had an effect.
            Conclusion::Found if self.test.subject == Subject::Unknown => self.lever.map(of_lever),
            Conclusion::OtherKind => {
                self.signs.as_ref().map(|signs| replaced::of_cpu(self.facts, verdict, proof, (signs, most)))
            }
            Conclusion::LoadRaised | Conclusion::LoadFound => Some(replaced::of_load(self.facts, verdict, proof)),
            Conclusion::SourcesRaised => Some(replaced::of_sources(self.facts, verdict, proof)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod dose_tests;
#[cfg(test)]
mod replacement_tests;
#[cfg(test)]
mod saturation_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod turns_tests;
