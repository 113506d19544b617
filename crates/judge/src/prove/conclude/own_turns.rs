//! Effects of the levers that are tested in turns: trials with and without the lever alternate. A lever is a temporary
//! change that an experiment makes, such as slowing a CPU. The levers tested in turns are the verdict's lever (on the
//! resource that the verdict names), a larger load, and more source addresses.

use run::{Bottleneck, Effect, LOAD_LEVER, Proof, SOURCES_LEVER};

use crate::Facts;
use crate::context::single::{good, highest_rate};
use crate::context::sweep::Plateau;
use crate::prove::decision_inputs::{MoreLoad, MoreSources};
use crate::prove::suspects::{Suspect, suspect_of};
use crate::prove::turns::{PredictionCheck, check};
use crate::prove::utilization;
use crate::thresholds::{EXCLUDED, FLAT};

/// Effect of the verdict's lever in turns (loads with and without the lever), compared with its prediction.
pub(super) struct OwnTurns {
    pub(super) suspect: &'static Suspect,
    pub(super) effect: Effect,
    pub(super) predicted: f64,
    pub(super) check: PredictionCheck,
}

/// Compares the effect of the verdict's lever with its prediction. Returns `None` if the verdict's lever was not tested
/// in turns (loads with and without the lever), or has no prediction.
pub(super) fn own_turns(proof: &Proof, verdict: &Bottleneck) -> Option<OwnTurns> {
    let suspect = suspect(proof, verdict)?;
    let effect = proof.effect(suspect.lever)?.clone();
    let predicted = proof.prediction.as_ref().filter(|p| p.lever == suspect.lever)?.ratio;
    let check = match check(&effect, predicted) {
        PredictionCheck::Confirmed if may_be_filled(verdict, &effect, predicted) => PredictionCheck::Open,
        check => check,
    };
    Some(OwnTurns { suspect, effect, predicted, check })
}

/// Returns true if a lever takes a share of a resource, and the resource may have become full only because of the
/// lever.
pub(super) fn may_be_filled(verdict: &Bottleneck, effect: &Effect, predicted: f64) -> bool {
    let used = utilization::of_verdict(verdict).filter(|_| predicted < 1.0);
    used.is_some_and(|used| utilization::may_be_filled_by_the_lever(used, effect.high, predicted))
}

/// Returns the row of `SUSPECTS` for the verdict and the lever (a change of a resource or of the load) that tests it.
/// If the experiment predicted the effect of one of the verdict's levers, returns the row of `SUSPECTS` with this
/// lever.
pub(super) fn suspect(proof: &Proof, verdict: &Bottleneck) -> Option<&'static Suspect> {
    suspect_of(verdict, proof.prediction.as_ref().map(|p| p.lever.as_str()))
}

/// Returns the effect of a larger load on throughput. The threshold for "raised" is the minimum growth of throughput
/// with which a sweep continues. The threshold for "unchanged" is the threshold at which a resource is excluded.
///
/// If another load of the run completed more than the larger load, the effect says nothing about the server's limit,
/// which is beyond both. Another load may complete more if the sweep ended early, for example because other programs
/// disturbed it.
pub(super) fn more_load(facts: &Facts<'_>, proof: &Proof) -> MoreLoad {
    let Some(effect) = proof.effect(LOAD_LEVER) else { return MoreLoad::NotTested };
    match () {
        () if beyond_more_load(facts, effect).is_some() => MoreLoad::Open,
        // A load that is larger by a factor raises throughput by at most this factor. If the interval of the measured
        // effect reaches beyond the square of the load's factor, the effect is too noisy for a decision.
        () if effect.high > (1.0 - effect.dose).powi(2) => MoreLoad::Open,
        () if contradicts_the_sweep(facts, effect) => MoreLoad::Open,
        () if effect.low > 1.0 + FLAT => MoreLoad::Raised,
        () if effect.high < (1.0 - effect.dose).powf(EXCLUDED) => MoreLoad::Unchanged,
        () => MoreLoad::Open,
    }
}

/// Returns true if throughput did not grow in the sweep, but surely grew with the larger load, and this growth does not
/// confirm the prediction. If the sweep and the larger load contradict each other, one of the two measurements is
/// wrong, for example because throughput changes by itself.
fn contradicts_the_sweep(facts: &Facts<'_>, effect: &Effect) -> bool {
    let is_flat = matches!(facts.plateau, Plateau::Flat { .. });
    let grew = check(effect, 1.0 - effect.dose);
    is_flat && effect.low > 1.0 + FLAT && !matches!(grew, PredictionCheck::Confirmed | PredictionCheck::Exceeded)
}

/// Returns the highest rate of the run's other loads, if it is higher than the rate under the larger load with the
/// effect `effect`. The limit is then beyond the larger load.
pub(super) fn beyond_more_load(facts: &Facts<'_>, effect: &Effect) -> Option<f64> {
    let raised = |factor: f64| facts.decisive.map(|trial| factor * good(trial));
    let most = highest_rate(facts.search.iter().chain(&facts.spoiled).copied());
    let failing = facts.failing.map_or(0.0, good);
    let is_beyond = raised(effect.high).is_some_and(|rate| most > rate);
    let has_failed = effect.low > 1.0 + FLAT && raised(effect.low).is_some_and(|rate| failing >= rate);
    (is_beyond || has_failed).then(|| most.max(failing))
}

/// Returns the effect of more source addresses on throughput. Returns `NotTested` if more source addresses were not
/// tested, or if they are the verdict's lever, whose effect [`own_turns`] judges.
pub(super) fn more_sources(proof: &Proof, turns: Option<&OwnTurns>) -> MoreSources {
    let is_other = turns.is_none_or(|turns| turns.suspect.lever != SOURCES_LEVER);
    let Some(effect) = proof.effect(SOURCES_LEVER).filter(|_| is_other) else { return MoreSources::NotTested };
    match check(effect, 1.0 - effect.dose) {
        PredictionCheck::Confirmed | PredictionCheck::Exceeded => MoreSources::Raised,
        PredictionCheck::Refuted => MoreSources::Unchanged,
        PredictionCheck::Open => MoreSources::Open,
    }
}
