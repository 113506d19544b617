//! Checks the intensity of a load: its rate, connections and pipeline.

use crate::plan::error::range;
use crate::{Intensity, PlanError};

pub(super) fn check_intensity(intensity: &Intensity) -> Result<(), PlanError> {
    match intensity {
        Intensity::Closed { connections, pipeline, .. } => {
            check_count("connections", *connections)?;
            check_pipeline(*pipeline)
        }
        Intensity::Open { rate, pipeline, max_connections, .. } => {
            check_rate(*rate)?;
            check_count("max_connections", *max_connections)?;
            check_pipeline(*pipeline)
        }
        Intensity::SClients { descriptors, connect_timeout_ms, think, pace } => {
            pace.as_ref().map_or(Ok(()), |pace| check_rate(pace.rate))?;
            let either = "leave it out: S-Clients follow either think times or an arrival process";
            range(pace.is_none() || think.mean_ms == 0.0, "think.mean_ms", think.mean_ms, either)?;
            check_count("descriptors", *descriptors)?;
            let (t, times) = (*connect_timeout_ms, "give 1 ms to 10 minutes; it must exceed the round trip");
            range((1.0..=600_000.0).contains(&t), "connect_timeout_ms", t, times)
        }
    }
}

fn check_pipeline(pipeline: u32) -> Result<(), PlanError> {
    range((1..=4096).contains(&pipeline), "pipeline", f64::from(pipeline), "give 1 to 4096")
}

pub(super) fn check_count(what: &'static str, n: u32) -> Result<(), PlanError> {
    range((1..=1_000_000).contains(&n), what, f64::from(n), "give 1 to 1,000,000")
}

fn check_rate(rate: f64) -> Result<(), PlanError> {
    let advice = "give a rate above 0 and at most 100,000,000 requests a second";
    range(rate > 0.0 && rate <= 1e8, "rate", rate, advice)
}
