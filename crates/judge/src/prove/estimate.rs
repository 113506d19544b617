//! Estimates of elasticities from slots (fractions of a second) in which each lever was on or off. A lever slows a
//! resource. An elasticity is the relative change of throughput, divided by the relative change of the resource's
//! speed.
//!
//! Two regressions use the time slots of one trial; the regressors of both are the states of the levers. The first
//! regression explains the logarithm of the throughput. The second regression explains the logarithm of each resource's
//! measured speed. An elasticity is the lever's coefficient for the throughput, divided by the lever's coefficient for
//! the speed. The levers are instrumental variables for the speeds, so errors of single readings average out. A
//! regression of throughput on the measured speeds would be biased towards zero. If a lever slows two resources on one
//! CPU, a system of equations separates the lever's effects on the two resources.
//!
//! Requests that wait at the end of a time slot are served in the next slot. The regression therefore has one more
//! variable for each lever: the change of the lever's state since the preceding time slot. The variable for the change
//! of the lever's state takes up the effect of the requests that are served late.

pub(super) mod regression;
pub(super) mod slots;

use run::{ElasticityBasis, LeverSlots, ProofTrial};

use self::regression::{Estimates, Known, Seen};
use crate::thresholds::{DOSE_GIVEN, UNWANTED};

/// Minimum change of a resource's speed, as a logarithm, from which an elasticity can be estimated.
const LEAST_DOSE: f64 = 0.02;

/// Assumed dose of a lever (the share of its resource that it takes) if the run records no planned dose.
pub(super) const DEFAULT_DOSE: f64 = 0.25;

/// Estimates elasticities from the time slots of a trial. If no estimate is possible, the error message gives the
/// reason.
///
/// The elasticity of a resource is at most its utilization. With one client and no queue, elasticity and utilization
/// are equal. If threads need the resource for only a small share of the time, its elasticity lies between 0 and this
/// share. The elasticity of a resource that is hardly used therefore need not be measured. The interval from 0 to the
/// utilization replaces the result of the regression if it is narrower. If a lever took much less than planned, the
/// elasticity is unknown, even if threads hardly need the resource. Whatever kept the lever's CPU thief from the CPU
/// may also have kept the slowed threads from the CPU.
///
/// If throughput fell by more than a resource's utilization allows, the observed threads do not do all the work, so the
/// elasticity is unknown.
pub fn estimate(trial: &ProofTrial) -> Result<Estimates, String> {
    let seen = Seen::of(trial)?;
    let mut known: Vec<Known> = trial.levers.iter().zip(seen.own_doses()).map(|(l, dose)| known(l, dose)).collect();
    seen.join(&mut known);
    seen.drop_contradicted(&mut known)?;
    loop {
        let found = seen.combine(&known)?;
        let says_more = |j: usize, bound: f64| {
            let is_wider = known[j] == Known::Regression && found.elasticities[j].half() > bound / 2.0;
            is_wider && !seen.contradicts(j, bound, &found)
        };
        let bound = |(j, lever): (usize, &LeverSlots)| Some((j, lever.wanted?));
        let bounds = trial.levers.iter().enumerate().filter_map(bound).filter(|(j, wanted)| says_more(*j, *wanted));
        let Some((j, wanted)) = bounds.min_by(|a, b| a.1.total_cmp(&b.1)) else { return Ok(found) };
        known[j] = Known::AtMost(wanted, ElasticityBasis::Wanted);
    }
}

/// Chooses the method to find the elasticity of a lever's resource. `felt` is the measured dose: the relative loss of
/// speed of the lever's resource.
fn known(lever: &LeverSlots, felt: f64) -> Known {
    let is_felt = felt >= 1.0 - (-LEAST_DOSE).exp();
    let bound = wanted(lever).filter(|wanted| *wanted <= UNWANTED || !is_felt);
    match bound {
        _ if !is_given(lever, felt) => Known::AtMost(1.0, ElasticityBasis::Open),
        Some(wanted) => Known::AtMost(wanted, ElasticityBasis::Wanted),
        None if is_felt => Known::Regression,
        None => Known::AtMost(1.0, ElasticityBasis::Open),
    }
}

/// Returns true if a lever took a sufficient share of its planned dose.
pub(super) fn is_given(lever: &LeverSlots, felt: f64) -> bool {
    let ordered = lever.ordered.or(lever.taken.map(|_| DEFAULT_DOSE)).unwrap_or(0.0);
    lever.taken.unwrap_or(felt) >= DOSE_GIVEN * ordered
}

/// Returns an upper bound of the share of the time for which threads needed the resource that a lever slows, 0 to 1. If
/// this share of time was measured, returns the measured share. Without a measured share, returns the share of the CPU
/// that the CPU thief (a busy loop) did not get. Returns `None` if both shares are unknown.
fn wanted(lever: &LeverSlots) -> Option<f64> {
    lever.wanted.or(lever.taken.map(|taken| (1.0 - taken).max(0.0)))
}

/// Returns a sentence about a lever that took almost nothing of its resource.
pub(super) fn too_little(lever: &LeverSlots, dose: f64) -> String {
    format!("the lever {} took only {:.1} % of its resource, too little to show an effect", lever.lever, dose * 100.0)
}

#[cfg(test)]
mod tests;
