//! Elasticity of throughput for the speed of one resource, from the resource's utilization and the effect of one
//! slowdown.
//!
//! The elasticity is the slope of throughput at full speed. A slowed resource limits throughput more than at full
//! speed, so the mean slope over the slowdown is only an upper bound of the elasticity. If a resource is not the limit
//! at full speed, throughput falls as soon as the slowdown fills the resource: the ratio is then its speed, divided by
//! its utilization (utilization law, as in E. Lazowska et al., *Quantitative System Performance* (1984), chapter 3).
//!
//! If a resource is only one of several resources that limit throughput, a model of the throughput X is needed. The
//! model assumes a constant elasticity of substitution: X⁻ᵏ is the sum of a term for the resource and a term for all
//! other resources. The elasticity of a resource with utilization U is then Uᵏ. The curvature k is 1 for one client
//! (exact), and grows with the number of clients. The curvature k is computed from the effect of the slowdown. Compared
//! with exact solutions of queueing networks, the computed elasticity is at most 0.01 too high, and at most 0.1 too
//! low.

/// Number of halvings of the interval that contains the elasticity.
const HALVINGS: usize = 20;

/// Returns a lower bound of a resource's elasticity: the relative change of throughput, divided by the relative change
/// of the resource's speed. `utilization` is the share of time in which the resource is in use at full speed. `ratio`
/// is throughput with the slowed resource, divided by throughput at full speed. `speed` is the speed of the slowed
/// resource; 1 is full speed.
///
/// If `ratio` equals `speed` divided by `utilization`, the lower bound is 0, because the resource may limit throughput
/// only while it is slowed.
pub fn least_elasticity(utilization: f64, ratio: f64, speed: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        match slowed(middle, utilization, speed) > ratio {
            true => low = middle,
            false => high = middle,
        }
    }
    if high < 1.0 { low } else { high }
}

/// Returns throughput with a slowed resource, divided by throughput at full speed, for a resource with the given
/// elasticity and utilization at full speed.
fn slowed(elasticity: f64, utilization: f64, speed: f64) -> f64 {
    let curvature = elasticity.ln() / utilization.ln();
    // The sum is (U / speed)^k + 1 - e, divided by the larger of (U / speed)^k and 1, so that nothing overflows.
    let own = curvature * (utilization / speed).ln();
    let most = own.max(0.0);
    let sum = (own - most).exp() + (1.0 - elasticity) * (-most).exp();
    (-(most + sum.ln()) / curvature).exp()
}

#[cfg(test)]
mod tests {
    use super::super::{Station, closed, elasticities};
    use super::*;

    /// Returns the computed bound and the exact elasticity for the station with the index `at`, whose speed falls to
    /// `speed`.
    fn bound_and_truth(stations: &[Station], clients: u32, at: usize, speed: f64) -> (f64, f64) {
        let rate = closed(stations, clients).throughput;
        let mut changed = stations.to_vec();
        changed[at] = changed[at].faster(speed);
        let ratio = closed(&changed, clients).throughput / rate;
        let utilization = rate * stations[at].demand_s;
        (least_elasticity(utilization, ratio, speed), elasticities(stations, clients)[at])
    }

    #[test]
    fn the_bound_is_just_below_the_exact_elasticity() {
        let networks: [&[f64]; 6] =
            [&[1.0], &[1.0, 0.6], &[1.0, 0.97], &[1.0, 0.93], &[1.0, 0.8, 0.5], &[1.0, 0.9, 0.7, 0.3]];
        for (demands, delay_s) in networks.into_iter().flat_map(|demands| [(demands, 0.0), (demands, 3.0)]) {
            let mut stations: Vec<Station> = demands.iter().map(|demand| Station::queue(*demand)).collect();
            stations.push(Station::delay(delay_s));
            for clients in [1, 2, 4, 8, 16, 32] {
                for (at, speed) in (0..demands.len()).flat_map(|at| [0.5, 0.75, 0.9].map(|speed| (at, speed))) {
                    let (bound, truth) = bound_and_truth(&stations, clients, at, speed);
                    let of = format!("{demands:?} + {delay_s}, {clients} clients, station {at} at {speed}");
                    let utilization = closed(&stations, clients).throughput * demands[at];
                    // The utilization of a full resource shows nothing about the curvature.
                    if utilization < 0.99 {
                        assert!(bound < truth + 0.01 && bound > truth - 0.1, "{of}: {bound} of {truth}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_resource_that_limits_only_while_it_is_slowed_has_no_lower_bound() {
        let (bound, truth) = bound_and_truth(&[Station::queue(0.93), Station::queue(1.0)], 64, 0, 0.75);
        assert!(bound < 0.04 && truth < 0.04, "{bound} of {truth}");
        assert!(least_elasticity(0.93, 0.75 / 0.93, 0.75) < 0.03, "rounding");
        assert!(least_elasticity(0.93, 0.83, 0.75) < 1e-5, "noise may raise the ratio further");
        assert!(least_elasticity(0.3, 1.01, 0.75) < 1e-5, "half-used, and without any effect");
    }

    #[test]
    fn a_resource_whose_slowdown_cuts_throughput_in_proportion_limits() {
        assert_eq!(least_elasticity(0.93, 0.75, 0.75), 1.0);
        assert_eq!(least_elasticity(0.5, 0.7, 0.75), 1.0);
        assert!(least_elasticity(0.97, 0.76, 0.75) > 0.9);
        assert!((least_elasticity(0.5, 1.0 / (0.5 / 0.75 + 0.5), 0.75) - 0.5).abs() < 1e-4, "one client");
    }
}
