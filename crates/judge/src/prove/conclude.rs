//! Comparison of predictions with results, and its effect on the verdict.

use run::{Bottleneck, Effect, LOAD_LEVER, Proof, Run, RunnerUp, SOURCES_LEVER};

use super::cpu_limit::{CpuLimit, CpuSigns};
use super::decision::{Conclusion, Kind, MoreLoad, MoreSources, Own, Rival, Subject, Test, decide};
use super::observed::{observed, other_cause};
use super::parts::{self, REMAINDER, largest, part_of};
use super::steadiness::doubt;
use super::suspects::{SUSPECTS, Suspect, bottleneck_of, ids_of, suspect_of};
use super::turns::{PredictionCheck, check, effect};
use super::{replaced, words};
use crate::rules::{RULES, Tier};
use crate::single::good;
use crate::thresholds::{ASTRAY, EXCESS, EXCLUDED, FLAT, SURE, WORKS};
use crate::{Facts, confidence};

/// Predicts from the verdict the effect of `lever`, before the lever is tried; `None` if the verdict names no cause.
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

/// Predicts from the counters the effect of `lever` when it takes the share `dose` of the second suspect's resource.
/// The prediction is no effect while the rest of the resource allows the completed rate. Returns `None` if another
/// lever tests that suspect, or no lever does.
pub fn runner_up(run: &Run, lever: &str, dose: f64) -> Option<RunnerUp> {
    let next = run.findings.bottleneck.next.as_ref()?;
    SUSPECTS.iter().find(|s| s.bottleneck == next.id && s.lever == lever && s.behind.is_none() && !s.serial)?;
    let completed = run.picked(|picks| picks.decisive).map(good).filter(|rate| *rate > 0.0)?;
    let ratio = (next.rate? * (1.0 - dose) / completed).min(1.0);
    let prediction = Effect { lever: lever.into(), dose, ratio, low: ratio, high: ratio, at: String::new() };
    Some(RunnerUp { bottleneck: next.id.clone(), prediction, measured: None })
}

/// Concludes from the trials of the proof, and changes the verdict if they refute it. Without a trial, proof and
/// verdict stay unchanged.
pub(super) fn conclude(facts: &Facts<'_>, proof: &mut Proof, verdict: &mut Bottleneck) {
    proof.effects = proof.switched.iter().filter_map(|trial| effect(trial).ok()).collect();
    let slots = parts::read(facts, proof);
    parts::add_others(proof);
    let turns = own_turns(proof, verdict);
    let more = (more_load(proof), more_sources(proof, turns.as_ref()));
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

/// Turns with and without the verdict's own lever.
struct OwnTurns {
    suspect: &'static Suspect,
    effect: Effect,
    predicted: f64,
    check: PredictionCheck,
}

/// Compares the verdict with the turns with and without its own lever; `None` without turns.
fn own_turns(proof: &Proof, verdict: &Bottleneck) -> Option<OwnTurns> {
    let suspect = suspect(proof, verdict)?;
    let effect = proof.effect(suspect.lever)?.clone();
    let predicted = proof.prediction.as_ref().filter(|p| p.lever == suspect.lever)?.ratio;
    let check = check(&effect, predicted);
    Some(OwnTurns { suspect, effect, predicted, check })
}

/// Returns the row of the lever that tests the verdict: the one with the prediction.
fn suspect(proof: &Proof, verdict: &Bottleneck) -> Option<&'static Suspect> {
    suspect_of(verdict, proof.prediction.as_ref().map(|p| p.lever.as_str()))
}

/// Returns the effect of a larger load. It uses the thresholds of a flat sweep and of an excluded resource.
fn more_load(proof: &Proof) -> MoreLoad {
    let Some(effect) = proof.effect(LOAD_LEVER) else { return MoreLoad::NotTested };
    match () {
        // Twice the load gives at most twice the throughput, so an interval far above that is noise.
        () if effect.high > (1.0 - effect.dose).powi(2) => MoreLoad::Open,
        () if effect.low > 1.0 + FLAT => MoreLoad::Raised,
        () if effect.high < (1.0 - effect.dose).powf(EXCLUDED) => MoreLoad::Unchanged,
        () => MoreLoad::Open,
    }
}

/// Returns the effect of more source addresses, if the verdict's own lever is another one.
fn more_sources(proof: &Proof, turns: Option<&OwnTurns>) -> MoreSources {
    let is_other = turns.is_none_or(|turns| turns.suspect.lever != SOURCES_LEVER);
    let Some(effect) = proof.effect(SOURCES_LEVER).filter(|_| is_other) else { return MoreSources::NotTested };
    match check(effect, 1.0 - effect.dose) {
        PredictionCheck::Confirmed => MoreSources::Raised,
        PredictionCheck::Refuted => MoreSources::Unchanged,
        PredictionCheck::Open => MoreSources::Open,
    }
}

/// An experiment together with the verdict that it tests.
struct Experiment<'a> {
    facts: &'a Facts<'a>,
    /// Effect of each lever with slots.
    effects: &'a [Effect],
    turns: Option<OwnTurns>,
    /// Lever of the verdict's own resource.
    lever: Option<&'static str>,
    /// Another lever whose resource explains most of the throughput.
    rival: Option<String>,
    signs: Option<CpuSigns>,
    /// Reason why the slots prove nothing.
    doubt: Option<String>,
    /// Bottlenecks that the levers excluded.
    excluded: Vec<&'static str>,
    /// Signs of another cause that no lever tested.
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
        let excluded = excluded(proof, turns.as_ref());
        let other = other_cause(facts, verdict, &excluded);
        let doubt = doubts(facts, proof, effects);
        let own = own(proof, effects, verdict, turns.as_ref());
        let of_turns = turns.is_some() && matches!(own, Own::Follows | Own::Small);
        let test = Test {
            subject: subject(verdict),
            own,
            kind: kind(lever.or(rival.as_deref()), signs.as_ref(), verdict),
            is_predicted: is_predicted(proof, lever, verdict),
            is_disturbed: doubt.is_some() && !of_turns,
            rival: compare(rival.as_deref(), signs.as_ref(), verdict),
            excludes_others: excludes_others(proof, lever),
            more_load,
            more_sources,
            observed: observed(verdict, other.as_ref()),
            is_definite: verdict.confidence >= SURE && names_a_cause(verdict),
        };
        Self { facts, effects, turns, lever, rival, signs, doubt, excluded, other, test }
    }

    /// Records the outcome and changes the verdict.
    fn settle(self, proof: &mut Proof, verdict: &mut Bottleneck) {
        let conclusion = decide(&self.test);
        proof.measured = match &self.turns {
            Some(turns) => Some(turns.effect.clone()),
            None => parts::measured(proof, self.effects),
        };
        proof.outcome = conclusion.outcome();
        proof.why = self.why(conclusion, proof, verdict);
        if let Some(found) = self.replacement(conclusion, proof, verdict) {
            let before = verdict.confidence;
            *verdict = found;
            if conclusion == Conclusion::Found {
                let most = conclusion.confidence(before, 1.0, self.more());
                verdict.confidence = verdict.confidence.min(most);
            }
            return;
        }
        let own_most = self.lever.and_then(|lever| part_of(proof, lever)).map_or(1.0, |own| own.estimate.high);
        verdict.confidence = conclusion.confidence(verdict.confidence, own_most, self.more());
        verdict.evidence.extend(words::evidence(proof));
        if matches!(conclusion, Conclusion::Close | Conclusion::OthersOpen) {
            words::note_close(proof, verdict, self.lever);
        }
    }

    /// Returns the effects of more load and of more source addresses.
    fn more(&self) -> (MoreLoad, MoreSources) {
        (self.test.more_load, self.test.more_sources)
    }

    /// Returns the verdict that replaces the one from the counters; `None` if that verdict stays.
    fn replacement(&self, conclusion: Conclusion, proof: &Proof, verdict: &Bottleneck) -> Option<Bottleneck> {
        let of_rival = || self.rival.as_deref().map(|lever| replaced::of_lever(self.facts, verdict, proof, lever));
        match conclusion {
            Conclusion::Excluded => match of_rival() {
                Some(found) => Some(found),
                None => Some(replaced::rest(self.facts, verdict, proof, &self.excluded)),
            },
            Conclusion::Overtaken => of_rival(),
            Conclusion::Found | Conclusion::KindOpen if self.test.own != Own::Follows => of_rival(),
            Conclusion::OtherKind => {
                self.signs.as_ref().map(|signs| replaced::of_cpu(self.facts, verdict, proof, signs))
            }
            Conclusion::LoadRaised | Conclusion::LoadFound => Some(replaced::of_load(self.facts, verdict, proof)),
            Conclusion::SourcesRaised => Some(replaced::of_sources(self.facts, verdict, proof)),
            _ => None,
        }
    }

    /// Returns the reason for the outcome, in one sentence.
    fn why(&self, conclusion: Conclusion, proof: &Proof, verdict: &Bottleneck) -> String {
        let shares = words::shares_sentence(proof);
        let effect = words::effect_sentence(proof);
        let turned = self.turns.as_ref().map(|turns| words::turned(&turns.effect, Some(turns.predicted)));
        let did = turned.clone().unwrap_or_else(|| effect.clone());
        let pointed = format!("the counters pointed to {}", verdict.id);
        match conclusion {
            Conclusion::Proven if self.test.subject == Subject::Load => words::load_sentence(proof),
            Conclusion::Proven => did,
            Conclusion::Found => format!("{shares}; that was not predicted"),
            Conclusion::KindOpen => format!("{did}; whether more CPUs help is open"),
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
            Conclusion::Close => words::joined(&[turned.unwrap_or_default(), words::close_sentence(&shares)]),
            Conclusion::AgainstCounters => format!("{shares}, but the counters are sure of {}", verdict.id),
            Conclusion::Slack => words::slack_sentence(proof, self.lever.unwrap_or_default()),
            Conclusion::TwoCauses => {
                format!(
                    "another cause is seen as well, and no lever tests either: {}",
                    self.other.clone().unwrap_or_default()
                )
            }
            Conclusion::Remains | Conclusion::NotSeen | Conclusion::LoadOpen | Conclusion::OthersOpen => {
                self.without_own_lever(conclusion, proof, verdict, &shares)
            }
        }
    }

    /// Returns the reason for the outcome if no lever acted on the resource that the verdict names.
    fn without_own_lever(&self, conclusion: Conclusion, proof: &Proof, verdict: &Bottleneck, shares: &str) -> String {
        let first = match self.test.own {
            _ if self.test.subject == Subject::Unknown => String::new(),
            Own::Unused => "the suspected resource could not be slowed".to_string(),
            _ => match &self.turns {
                Some(turns) => words::turned(&turns.effect, Some(turns.predicted)),
                None => "no lever acts on the suspected resource".to_string(),
            },
        };
        let load = if self.test.more_load == MoreLoad::NotTested { String::new() } else { words::load_sentence(proof) };
        let sources = match self.test.more_sources {
            MoreSources::NotTested => String::new(),
            _ => words::sources_sentence(proof),
        };
        let last = match conclusion {
            Conclusion::Remains => words::seen(verdict),
            Conclusion::NotSeen if self.test.subject != Subject::Unknown => "no counter shows the queue itself".into(),
            _ => String::new(),
        };
        words::joined(&[first, shares.to_string(), load, sources, last])
    }
}

/// Returns true if the effect of the verdict's own lever was predicted. The effect of a larger load must also match its prediction.
fn is_predicted(proof: &Proof, lever: Option<&str>, verdict: &Bottleneck) -> bool {
    if subject(verdict) != Subject::Load {
        return proof.prediction.as_ref().is_some_and(|p| Some(p.lever.as_str()) == lever);
    }
    let predicted = proof.predictions.iter().rfind(|predicted| predicted.lever == LOAD_LEVER);
    let both = proof.effect(LOAD_LEVER).zip(predicted);
    both.is_some_and(|(effect, predicted)| check(effect, predicted.ratio) == PredictionCheck::Confirmed)
}

/// Returns the subject of a verdict.
fn subject(verdict: &Bottleneck) -> Subject {
    match verdict.id.as_str() {
        "unknown" => Subject::Unknown,
        "not-saturated" => Subject::Load,
        _ => Subject::Cause,
    }
}

/// Returns true if the rule of a verdict finds a cause by signs of its own.
fn names_a_cause(verdict: &Bottleneck) -> bool {
    RULES.iter().any(|rule| rule.id == verdict.id && rule.tier < Tier::LeftOver)
}

/// Returns the result of the verdict's own lever.
fn own(proof: &Proof, effects: &[Effect], verdict: &Bottleneck, turns: Option<&OwnTurns>) -> Own {
    let Some(suspect) = suspect(proof, verdict) else { return Own::NoLever };
    match turns.map(|turns| turns.check) {
        Some(PredictionCheck::Confirmed) => return Own::Follows,
        Some(PredictionCheck::Refuted) if suspect.refutes => return Own::Small,
        Some(PredictionCheck::Refuted) => return Own::NoLever,
        Some(PredictionCheck::Open) => return Own::Partly,
        None => {}
    }
    let Some(part) = part_of(proof, suspect.lever) else { return Own::Unused };
    let is_largest = largest(proof).as_deref() == Some(suspect.lever);
    match part.basis {
        run::ElasticityBasis::Open => Own::Slack,
        _ if part.estimate.high < EXCLUDED => Own::Small,
        _ if !is_largest => Own::Partly,
        _ if is_as_predicted(effects, suspect.lever) => Own::Follows,
        _ => Own::Astray,
    }
}

/// Returns true if the measured throughput contains the prediction, within the model's own error, and excludes no effect.
fn is_as_predicted(effects: &[Effect], lever: &str) -> bool {
    let Some(effect) = parts::effect_of(effects, lever) else { return false };
    let expected = 1.0 - effect.dose;
    let nearest = expected.max(effect.low).min(effect.high);
    (nearest - expected).abs() <= ASTRAY && effect.high < 1.0
}

/// Compares the verdict with the kind of the CPU limit, if its own lever slows the server's CPU.
fn kind(lever: Option<&str>, signs: Option<&CpuSigns>, verdict: &Bottleneck) -> Kind {
    if lever != Some("server-cpu") {
        return Kind::Agrees;
    }
    match signs.and_then(|signs| signs.limit().bottleneck()) {
        None => Kind::Open,
        Some((id, serial)) if id == verdict.id && serial == verdict.serial => Kind::Agrees,
        Some(_) => Kind::Differs,
    }
}

/// Compares the verdict with another resource that explains most of the throughput. A server limited by its number of
/// computing workers follows the CPU's speed, too.
fn compare(rival: Option<&str>, signs: Option<&CpuSigns>, verdict: &Bottleneck) -> Rival {
    let Some(lever) = rival else { return Rival::None };
    let limit = signs.filter(|_| lever == "server-cpu").map(CpuSigns::limit);
    let (id, serial) = match limit {
        Some(limit) => limit.bottleneck().unwrap_or(("server-cpu", false)),
        None => (bottleneck_of(lever), false),
    };
    match id {
        _ if limit == Some(CpuLimit::Open) && verdict.id == "server-concurrency" => Rival::None,
        id if id != verdict.id => Rival::Other,
        _ if serial && !verdict.serial || lever == "worker" => Rival::Refines,
        _ => Rival::None,
    }
}

/// Returns true if the levers exclude the CPUs of both sides and all other slowed resources except the verdict's own.
fn excludes_others(proof: &Proof, own: Option<&str>) -> bool {
    let is_out = |lever: &str| part_of(proof, lever).is_some_and(|part| part.estimate.high < EXCLUDED);
    let others = || proof.parts().filter(|part| Some(part.lever.as_str()) != own);
    ["server-cpu", "client-cpu"].iter().all(|lever| is_out(lever)) && others().all(|part| is_out(&part.lever))
}

/// Returns the bottlenecks whose resource the levers exclude.
fn excluded(proof: &Proof, turns: Option<&OwnTurns>) -> Vec<&'static str> {
    let small = proof.parts().filter(|part| part.estimate.high < EXCLUDED);
    let refuted = turns.filter(|turns| turns.suspect.refutes && turns.check == PredictionCheck::Refuted);
    let of_slots = small.flat_map(|part| ids_of(&part.lever));
    let of_load = (more_load(proof) == MoreLoad::Unchanged).then_some("not-saturated");
    of_slots.chain(refuted.map(|turns| turns.suspect.bottleneck)).chain(of_load).collect()
}

/// Returns why the slots prove nothing.
fn doubts(facts: &Facts<'_>, proof: &Proof, effects: &[Effect]) -> Option<String> {
    if proof.remainder.is_some_and(|remainder| remainder.high < -EXCESS) {
        return Some(words::dependent_sentence(proof));
    }
    if let Some(lever) = slows_more(facts, proof) {
        let slowed = words::in_words(lever);
        return Some(format!("slowing {slowed} also slowed an upstream on the same CPUs"));
    }
    proof.steadiness.as_ref().and_then(|steadiness| doubt(steadiness, parts::least_dose(proof, effects)))
}

/// Returns a lever that also slowed an upstream on the machine. Such a lever surely changed throughput by more than the
/// utilization of its resource, although an elasticity is at most the utilization.
fn slows_more<'a>(facts: &Facts<'_>, proof: &'a Proof) -> Option<&'a str> {
    let trial = run::ProofTrial::of_speeds(&proof.trials)?;
    facts.upstreams.iter().find(|load| load.cpu_used.is_some_and(|used| used >= WORKS))?;
    let more = |part: &&run::Elasticity| {
        let wanted = trial.lever(&part.lever).and_then(|lever| lever.wanted);
        part.basis.is_measured() && wanted.is_some_and(|wanted| part.estimate.low > wanted)
    };
    proof.parts().find(more).map(|part| part.lever.as_str())
}

#[cfg(test)]
mod tests;
