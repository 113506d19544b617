//! Corrects measured elasticities for the size of the doses. A dose is the share of a resource that a lever (temporary
//! change by an experiment) takes.

use crate::thresholds::CURVATURE;

/// Correction of the measured elasticities for the size of the doses. While a lever slows a resource, the resource
/// limits throughput more than it does without the lever, so the measured elasticity is too large.
pub(super) struct Nonlinearity {
    /// Amount by which the doses (shares of resources that levers take) raise each measured elasticity.
    pub(super) by: Vec<f64>,
    /// Factor, at least 1, by which the correction widens the standard errors.
    stretch: f64,
    /// Largest dose (share of its resource that a lever takes), as a logarithm.
    dose: f64,
}

impl Nonlinearity {
    /// Computes the correction for the size of the doses (shares of resources that levers take). The correction assumes
    /// a constant elasticity of substitution between the speeds; a [`CURVATURE`] of 1 is exact for one client. With
    /// constant elasticity of substitution, the elasticity of a resource grows with its slowdown, relative to the mean
    /// slowdown of all resources.
    ///
    /// The correction counts only the slowdown that the levers cause. Other slowdowns are left out: even without
    /// levers, a thread may get only half a CPU because of other threads of its process.
    pub(super) fn of(elasticities: &[f64], doses: &[Vec<f64>]) -> Self {
        // Each lever is on in half of the time slots.
        let slowed: Vec<f64> =
            (0..elasticities.len()).map(|k| -doses.iter().map(|of| of[k]).sum::<f64>() / 2.0).collect();
        let shares: Vec<f64> = elasticities.iter().map(|e| e.clamp(0.0, 1.0)).collect();
        let sum: f64 = shares.iter().sum();
        let mean = shares.iter().zip(&slowed).map(|(e, s)| e * s).sum::<f64>() / sum.max(1.0);
        let most = slowed.iter().copied().fold(0.0, f64::max);
        Self {
            by: shares.iter().zip(&slowed).map(|(e, s)| CURVATURE * e * (s - mean)).collect(),
            stretch: 1.0 + CURVATURE * most * (2.0 * sum - 1.0).clamp(0.0, 1.0),
            dose: 2.0 * most,
        }
    }

    /// Returns the variance of an elasticity, including the uncertainty of its correction `by`. The error of the
    /// correction is assumed to be uniform, up to half of the correction. Effects that grow with the square of the dose
    /// are not corrected, but add to the variance.
    pub(super) fn variance(&self, measured: f64, elasticity: f64, by: f64) -> f64 {
        let e = elasticity.clamp(0.0, 1.0);
        let open = (by / 2.0).powi(2) / 3.0 + (2.4 * e * (1.0 - e) * self.dose.powi(2)).powi(2);
        measured * self.stretch.powi(2) + open
    }
}
