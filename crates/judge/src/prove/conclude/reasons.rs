//! Sentences that explain the outcome of an experiment.

use run::{Bottleneck, Proof, SOURCES_LEVER};

use super::experiment::Experiment;
use super::limit_kind::work_of_room;
use super::own_turns::{beyond_more_load, may_be_filled};
use crate::prove::cpu_limit::CpuSigns;
use crate::prove::decision::Conclusion;
use crate::prove::decision_inputs::{MoreLoad, MoreSources, Own, Subject};
use crate::prove::turns::PredictionCheck;
use crate::prove::{shares_text, utilization, words};

impl Experiment<'_> {
    /// Returns the sentence that explains the outcome.
    pub(super) fn why(&self, conclusion: Conclusion, proof: &Proof, verdict: &Bottleneck) -> String {
        let shares = shares_text::shares_sentence(proof);
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
