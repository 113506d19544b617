//! Effects of the levers in turns: the verdict's own lever, more load and more source addresses.

use run::{Bottleneck, Effect, LOAD_LEVER, Proof, SOURCES_LEVER};

use crate::prove::decision::{MoreLoad, MoreSources};
use crate::prove::suspects::{Suspect, suspect_of};
use crate::prove::turns::{PredictionCheck, check};
use crate::thresholds::{EXCLUDED, FLAT};

/// Turns with and without the verdict's own lever.
pub(super) struct OwnTurns {
    pub(super) suspect: &'static Suspect,
    pub(super) effect: Effect,
    pub(super) predicted: f64,
    pub(super) check: PredictionCheck,
}

/// Compares the verdict with the turns with and without its own lever; `None` without turns.
pub(super) fn own_turns(proof: &Proof, verdict: &Bottleneck) -> Option<OwnTurns> {
    let suspect = suspect(proof, verdict)?;
    let effect = proof.effect(suspect.lever)?.clone();
    let predicted = proof.prediction.as_ref().filter(|p| p.lever == suspect.lever)?.ratio;
    let check = check(&effect, predicted);
    Some(OwnTurns { suspect, effect, predicted, check })
}

/// Returns the row of the lever that tests the verdict, which is the lever with the prediction.
pub(super) fn suspect(proof: &Proof, verdict: &Bottleneck) -> Option<&'static Suspect> {
    suspect_of(verdict, proof.prediction.as_ref().map(|p| p.lever.as_str()))
}

/// Returns the effect of a larger load. Uses the thresholds of a flat sweep and of an excluded resource.
pub(super) fn more_load(proof: &Proof) -> MoreLoad {
    let Some(effect) = proof.effect(LOAD_LEVER) else { return MoreLoad::NotTested };
    match () {
        // Twice the load gives at most twice the throughput, so an interval far above that is noise.
        () if effect.high > (1.0 - effect.dose).powi(2) => MoreLoad::Open,
        () if effect.low > 1.0 + FLAT => MoreLoad::Raised,
        () if effect.high < (1.0 - effect.dose).powf(EXCLUDED) => MoreLoad::Unchanged,
        () => MoreLoad::Open,
    }
}

/// Returns the effect of more source addresses, unless this is the verdict's own lever.
pub(super) fn more_sources(proof: &Proof, turns: Option<&OwnTurns>) -> MoreSources {
    let is_other = turns.is_none_or(|turns| turns.suspect.lever != SOURCES_LEVER);
    let Some(effect) = proof.effect(SOURCES_LEVER).filter(|_| is_other) else { return MoreSources::NotTested };
    match check(effect, 1.0 - effect.dose) {
        PredictionCheck::Confirmed | PredictionCheck::Exceeded => MoreSources::Raised,
        PredictionCheck::Refuted => MoreSources::Unchanged,
        PredictionCheck::Open => MoreSources::Open,
    }
}
