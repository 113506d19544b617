//! Loads of a run that got many more answers than an experiment. The closed loop may end before a resource is full, for
//! example if answers take long, so that many clients are needed. The open loop may then reach much higher rates.

use run::{Run, Trial};

use crate::Facts;
use crate::context::single::good;
use crate::number::figure;
use crate::thresholds::WIDE;

/// Returns the load of the open-loop search with the most good answers per second. Returns `None` unless this load got
/// many more good answers per second than `rate`, the rate of a closed loop.
pub fn heavier_load(run: &Run, rate: f64) -> Option<&Trial> {
    heavier(&Facts::of(run), rate)
}

fn heavier<'a>(facts: &Facts<'a>, rate: f64) -> Option<&'a Trial> {
    let heaviest = facts.search.iter().copied().max_by(|a, b| good(a).total_cmp(&good(b)));
    heaviest.filter(|heaviest| good(heaviest) > WIDE * rate)
}

/// Returns the reason why an experiment with a light load decides nothing, if another load of the run got many more
/// answers. The levers slow a part of the time only, so they alone do not explain the difference. Failed answers of the
/// experiment count, too, because its time slots count them.
pub(super) fn why_too_light(facts: &Facts<'_>) -> Option<String> {
    let of_experiment = facts.run.trials.iter().filter(|trial| trial.kind == run::TrialKind::Proof);
    let rate = of_experiment.map(|trial| trial.rates.completed_rate).reduce(f64::max)?;
    let heaviest = heavier(facts, rate)?;
    Some(format!(
        "the experiment's load got {} answers/s, and the heaviest load {}: the limit may lie where this experiment did not look. \
         Try `loadline prove` with --connections {}",
        figure(rate),
        figure(good(heaviest)),
        figure(heaviest.rates.concurrency.ceil())
    ))
}
