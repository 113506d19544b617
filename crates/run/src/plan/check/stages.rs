//! Checks the stages of a rate, and the times at which requests are due.

use crate::plan::error::out_of_range;
use crate::{Intensity, LoadPlan, PlanError, RecordedTimes, Stage};

/// Checks the stages of a rate.
pub(super) fn check_stages(plan: &LoadPlan) -> Result<(), PlanError> {
    let open = matches!(plan.intensity, Intensity::Open { .. });
    if !open && !plan.stages.is_empty() {
        return out_of_range("load.stages", "for no open loop".into(), "stages are of a rate; give --rate");
    }
    let bad = |stage: &&Stage| {
        let rate = |rate: f64| (0.0..=1e8).contains(&rate);
        !(stage.seconds > 0.0 && stage.seconds <= 86_400.0 && rate(stage.from) && rate(stage.to))
    };
    if let Some(stage) = plan.stages.iter().find(bad) {
        let value = format!("{}..{} in {} s", stage.from, stage.to, stage.seconds);
        return out_of_range(
            "a stage of load.stages",
            value,
            "give 0 to 100,000,000 requests a second and up to 24 hours",
        );
    }
    Ok(())
}

/// Checks the times at which requests are due, if the plan has such times.
pub(super) fn check_arrival_times(plan: &LoadPlan) -> Result<(), PlanError> {
    let wild = |times: &&RecordedTimes| !(0.001..=100_000.0).contains(&times.speed) || !times.items.is_empty();
    if plan.arrivals.as_ref().and_then(|arrivals| arrivals.times.as_ref()).filter(wild).is_some() {
        return out_of_range(
            "load.arrivals.times",
            "its speed or items".into(),
            "give a speed of 0.001 to 100,000 and no items",
        );
    }
    Ok(())
}
