//! Comparison of the predicted with the measured effects of an experiment's levers (which slow resources), and the
//! resulting change of the verdict. A lever slows a resource, in slots (fractions of a second) or in turns (trials with
//! and without the lever alternate).

mod own_turns;
mod verdict_test;

use run::{Bottleneck, Effect, Proof, Run, RunnerUp, SOURCES_LEVER};

use self::own_turns::{OwnTurns, beyond_more_load, may_be_filled, more_load, more_sources, own_turns, suspect};
use self::verdict_test::{
    compare, doubts, excluded, excludes_others, is_predicted, is_rival_predicted, kind, may_be_a_limit, names_a_cause,
    own, saturation, subject, work_of_room,
};
use super::cpu_limit::CpuSigns;
use super::decision::{Conclusion, MoreLoad, MoreSources, Own, Rival, Saturation, Subject, Test, decide};
use super::heavier_load::why_too_light;
use super::observed::{is_sampled, observed, other_cause};
use super::parts::{self, REMAINDER, largest, part_of};
use super::suspects::{SUSPECTS, suspect_of};
use super::turns::{PredictionCheck, effect};
use super::watched::WatchedShare;
use super::{replaced, utilization, words};
use crate::context::single::good;
use crate::thresholds::SURE;
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

/// An experiment and the verdict that it tests.
struct Experiment<'a> {
    facts: &'a Facts<'a>,
    /// Effect of each lever (a slowdown of a resource) that was switched on and off in the time slots of a trial.
    effects: &'a [Effect],
    turns: Option<OwnTurns>,
    /// ID of the lever (temporary change by the experiment) that acts on the resource that the verdict names.
    lever: Option<&'static str>,
    /// Lever on another resource than the verdict's, if this resource explains most of the throughput.
    rival: Option<String>,
    signs: Option<CpuSigns>,
    /// Reason why the time slots prove nothing, if any.
    doubt: Option<String>,
    /// Reason why the experiment's load was too light to decide, if any.
    too_light: Option<String>,
    /// IDs of the bottlenecks that the experiment excluded, because slowing their resources had only small effects.
    excluded: Vec<&'static str>,
    /// Sign of another cause that no lever tested, in words, if any.
    other: Option<String>,
    test: Test,
}

impl<'a> Experiment<'a> {
    fn new(
        facts: &'a Facts<'a>,
        proof: &Proof,
        verdict: &Bottleneck,
        (effects, turns): (&'a [Effect], Option<OwnTurns>),
        (more_load, more_sources): (MoreLoad, MoreSources),
    ) -> Self {
        let lever = suspect(proof, verdict).map(|suspect| suspect.lever);
        let rival = largest(proof).filter(|found| found != REMAINDER && Some(found.as_str()) != lever);
        let signs = CpuSigns::of(facts, proof);
        let excluded = excluded(proof, turns.as_ref(), more_load);
        let other = other_cause(facts, verdict, &excluded).or_else(|| may_be_a_limit(facts, verdict));
        let doubt = doubts(facts, proof, effects);
        let too_light = why_too_light(facts);
        let watched = WatchedShare::of(facts.decisive);
        let own = own(proof, effects, verdict, turns.as_ref(), watched);
        let of_turns = turns.is_some() && matches!(own, Own::Follows | Own::Small);
        let test = Test {
            subject: subject(verdict),
            own,
            kind: kind((facts, proof), lever.or(rival.as_deref()), signs.as_ref(), verdict),
            is_predicted: is_predicted(proof, lever, verdict, turns.as_ref()),
            is_disturbed: doubt.is_some() && !of_turns,
            rival: compare(rival.as_deref(), signs.as_ref(), verdict, (effects, watched)),
            is_rival_predicted: is_rival_predicted(proof, effects, rival.as_deref()),
            excludes_others: excludes_others(proof, lever),
            more_load,
            saturation: saturation(facts, suspect(proof, verdict), (own, rival.as_deref()), more_load),
            more_sources,
            observed: observed(facts, verdict, other.as_ref()),
            is_lighter: too_light.is_some(),
            is_sampled: other.is_none() && is_sampled(verdict),
            is_definite: verdict.confidence >= SURE && names_a_cause(verdict),
        };
        Self { facts, effects, turns, lever, rival, signs, doubt, too_light, excluded, other, test }
    }

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

    /// Returns the sentence that explains the outcome.
    fn why(&self, conclusion: Conclusion, proof: &Proof, verdict: &Bottleneck) -> String {
        let shares = words::shares_sentence(proof);
        let effect = words::effect_sentence(proof);
        let turned = self.turns.as_ref().map(|turns| words::turned(&turns.effect, Some(turns.predicted)));
        let did = turned.clone().unwrap_or_else(|| effect.clone());
        let pointed = format!("the counters pointed to {}", verdict.id);
        match conclusion {
            Conclusion::Proven if self.test.subject == Subject::Load => words::load_sentence(proof),
            Conclusion::Proven => did,
            Conclusion::Found if self.exceeds() => format!("{did}: more than predicted"),
            Conclusion::Found if self.test.own == Own::Follows => format!("{did}; that was not predicted"),
            Conclusion::Found => format!("{shares}; that was not predicted"),
            Conclusion::CountUntested => format!("{did}; that one CPU is enough was not tested"),
            Conclusion::FullnessOpen => {
                let effect = if self.test.own == Own::Follows { did } else { shares };
                words::joined(&[effect, words::NOT_FULL.into(), self.load_sentence(proof)])
            }
            Conclusion::CountOpen | Conclusion::KindOpen => format!("{did}; {}", self.open_kind(proof)),
            Conclusion::Excluded if self.test.subject == Subject::Load => {
                format!("{pointed}, but {}", words::load_sentence(proof))
            }
            Conclusion::Excluded => match turned {
                Some(turned) => words::joined(&[turned, shares]),
                None => format!("{pointed}, but {effect}; {shares}"),
            },
            Conclusion::Overtaken => format!("{pointed}, but {shares}"),
            Conclusion::OtherKind => {
                let used = self.signs.as_ref().map_or(String::new(), CpuSigns::sentence);
                format!("{did}, but not because of {}: {used}", verdict.id)
            }
            Conclusion::LoadRaised => format!("{pointed}, but {}", words::load_sentence(proof)),
            Conclusion::SourcesRaised => format!("{pointed}, but {}", words::sources_sentence(proof)),
            Conclusion::LoadConfirmed | Conclusion::LoadFound => words::load_sentence(proof),
            Conclusion::Disturbed => format!("{}: {shares}", self.doubt.clone().unwrap_or_default()),
            Conclusion::Astray => format!("{did}, so the prediction failed: {shares}"),
            Conclusion::Close => words::joined(&[
                turned.unwrap_or_default(),
                words::close_sentence(&shares),
                self.filled(proof, verdict),
            ]),
            Conclusion::AgainstCounters => format!("{shares}, but the counters are sure of {}", verdict.id),
            Conclusion::Lighter => self.too_light.clone().unwrap_or_default(),
            Conclusion::Slack => words::slack_sentence(proof, self.lever.unwrap_or_default()),
            Conclusion::TwoCauses => {
                format!(
                    "another cause is seen as well, and loadline can slow neither: {}",
                    self.other.clone().unwrap_or_default()
                )
            }
            Conclusion::Remains | Conclusion::NotSeen | Conclusion::LoadOpen | Conclusion::OthersOpen => {
                self.without_own_lever(conclusion, proof, verdict, &shares)
            }
        }
    }

    /// Returns a clause about the kind of limit that the experiment left open.
    fn open_kind(&self, proof: &Proof) -> String {
        let work = self.lever.and_then(|lever| work_of_room(proof, lever));
        match (self.lever, work) {
            (_, Some(work)) => words::room_clause(work),
            (Some(SOURCES_LEVER), _) => words::AFFINITY_OPEN.into(),
            _ => "whether more CPUs help is open".into(),
        }
    }

    /// Returns true if the effect of the verdict's lever, measured in turns (loads with and without the lever), exceeds
    /// its prediction by far.
    fn exceeds(&self) -> bool {
        self.turns.as_ref().is_some_and(|turns| turns.check == PredictionCheck::Exceeded)
    }

    /// Returns the sentence about a larger load, also if no larger load was tested.
    fn load_sentence(&self, proof: &Proof) -> String {
        let effect = proof.effect(run::LOAD_LEVER);
        let beyond = effect.and_then(|effect| beyond_more_load(self.facts, effect)).map(words::beyond_sentence);
        match self.test.more_load {
            MoreLoad::NotTested => words::LOAD_UNTESTED.into(),
            _ => words::load_sentence(proof) + &beyond.unwrap_or_default(),
        }
    }

    /// Returns a sentence about a lever that may itself have filled its resource. The sentence is empty if no lever may
    /// have filled its resource.
    fn filled(&self, proof: &Proof, verdict: &Bottleneck) -> String {
        let of_turns = self.turns.as_ref().filter(|turns| may_be_filled(verdict, &turns.effect, turns.predicted));
        let of_turns = of_turns.and_then(|turns| Some((turns.suspect.lever, utilization::of_verdict(verdict)?)));
        let found = of_turns.or_else(|| utilization::filled(self.facts, verdict, proof, self.effects));
        found.map_or(String::new(), |(lever, used)| words::filled_sentence(lever, used))
    }

    /// Returns the sentence that explains the outcome if no lever acted on the resource that the verdict names.
    fn without_own_lever(&self, conclusion: Conclusion, proof: &Proof, verdict: &Bottleneck, shares: &str) -> String {
        let first = match self.test.own {
            _ if self.test.subject == Subject::Unknown => String::new(),
            _ if self.test.subject == Subject::Load => self.load_sentence(proof),
            Own::Unused => words::unused_sentence(proof, self.lever),
            _ => match &self.turns {
                Some(turns) => words::turned(&turns.effect, Some(turns.predicted)),
                None => "loadline cannot slow the suspected resource".to_string(),
            },
        };
        let load = match self.test.subject {
            Subject::Load => String::new(),
            _ => words::load_sentence(proof),
        };
        let sources = match self.test.more_sources {
            MoreSources::NotTested => String::new(),
            _ => words::sources_sentence(proof),
        };
        // A narrow screen may cut off the end of the sentence, so the evidence comes first.
        let seen = if conclusion == Conclusion::Remains { words::seen(self.facts, verdict) } else { String::new() };
        let unseen = conclusion == Conclusion::NotSeen && self.test.subject != Subject::Unknown;
        let unseen = if unseen { "no counter shows the queue itself".into() } else { String::new() };
        words::joined(&[seen, first, shares.to_string(), load, sources, unseen])
    }
}

#[cfg(test)]
mod dose_tests;
#[cfg(test)]
mod saturation_tests;
#[cfg(test)]
mod tests;
