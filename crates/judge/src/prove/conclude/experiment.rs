//! An experiment, with all facts from which its outcome is decided.

use run::{Bottleneck, Effect, Proof};

use super::doubts::doubts;
use super::limit_kind::{kind, may_be_a_limit};
use super::own_turns::{OwnTurns, suspect};
use super::verdict_test::{
    compare, excluded, excludes_others, is_predicted, is_rival_predicted, names_a_cause, own, saturation, subject,
};
use crate::Facts;
use crate::prove::cpu_limit::CpuSigns;
use crate::prove::decision_inputs::{MoreLoad, MoreSources, Own, Test};
use crate::prove::heavier_load::why_too_light;
use crate::prove::observed::{is_sampled, observed, other_cause};
use crate::prove::parts::{REMAINDER, largest};
use crate::prove::watched::WatchedShare;
use crate::thresholds::SURE;

/// An experiment and the verdict that it tests.
pub(super) struct Experiment<'a> {
    pub(super) facts: &'a Facts<'a>,
    /// Effect of each lever (a slowdown of a resource) that was switched on and off in the time slots of a trial.
    pub(super) effects: &'a [Effect],
    pub(super) turns: Option<OwnTurns>,
    /// ID of the lever (temporary change by the experiment) that acts on the resource that the verdict names.
    pub(super) lever: Option<&'static str>,
    /// Lever on another resource than the verdict's, if this resource explains most of the throughput.
    pub(super) rival: Option<String>,
    pub(super) signs: Option<CpuSigns>,
    /// Reason why the time slots prove nothing, if any.
    pub(super) doubt: Option<String>,
    /// Reason why the experiment's load was too light to decide, if any.
    pub(super) too_light: Option<String>,
    /// IDs of the bottlenecks that the experiment excluded, because slowing their resources had only small effects.
    pub(super) excluded: Vec<&'static str>,
    /// Sign of another cause that no lever tested, in words, if any.
    pub(super) other: Option<String>,
    pub(super) test: Test,
}

impl<'a> Experiment<'a> {
    pub(super) fn new(
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
}
