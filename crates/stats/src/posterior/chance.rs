//! Probability that a limit is met at a rate, judged by a single window. The module does not compare a percentile of
//! the response time with the limit on this percentile. The module uses a binomial distribution of the late requests
//! instead of a percentile. The binomial distribution has as many draws as there are independent answers that carry as
//! much information as the window. The binomial test of late requests comes from early stopping in MLPerf's LoadGen (V.
//! Reddi et al., *MLPerf Inference Benchmark*, 2020).

use super::constraint::{Constraint, ConstraintKind, WindowObservation};
use super::dispersion::{mean_spread, worth};
use crate::moments::normal_tail;

/// Number of steps of the integral over all possible shares of late requests.
const STEPS: u32 = 400;
/// Distance from the middle of the integral to each of its ends, in standard deviations.
const INTEGRAL_SD: f64 = 16.0;

/// Returns the probability, 0 to 1, that the server meets the constraint at a window's rate, judged by this window
/// alone. The prior probability is one half, so a window without information gives one half.
pub fn chance_held(window: &WindowObservation, constraint: &Constraint) -> f64 {
    let (draws, shown) = (worth(window, constraint), window.late / window.answered);
    match constraint.kind {
        ConstraintKind::Share { allowed, .. } | ConstraintKind::Refused { allowed } => {
            let below = chance_below(shown.min(1.0) * draws, draws, allowed);
            // `thought` is the prior probability that the true share of late requests is at most `allowed`. If the
            // objective allows only few late requests, the prior probability of meeting it is almost zero.
            let thought = std::f64::consts::FRAC_2_PI * allowed.sqrt().asin();
            let (holds, breaks) = (below / thought, (1.0 - below) / (1.0 - thought));
            holds / (holds + breaks)
        }
        ConstraintKind::Mean => normal_tail(shown.max(1e-9).ln() / mean_spread(draws)),
    }
}

/// Returns the probability that the true share of late requests is at most `allowed`, after `late` of `draws` requests
/// were late. The prior distribution of the share is Jeffreys' prior.
fn chance_below(late: f64, draws: f64, allowed: f64) -> f64 {
    let (a, b) = (late + 0.5, draws - late + 0.5);
    let middle = (a / b).ln();
    let reach = INTEGRAL_SD * (1.0 / a + 1.0 / b).sqrt();
    let width = 2.0 * reach / f64::from(STEPS);
    let at = |step: u32| middle - reach + width * f64::from(step);
    let weight = |x: f64| (a * (x - middle) - (a + b) * (ln_1p_exp(x) - ln_1p_exp(middle))).exp();
    let limit = (allowed / (1.0 - allowed)).ln();
    let (below, all) = (0..=STEPS).map(at).fold((0.0, 0.0), |(below, all), x| {
        let w = weight(x);
        (below + w * ((limit - x) / width + 0.5).clamp(0.0, 1.0), all + w)
    });
    below / all
}

fn ln_1p_exp(x: f64) -> f64 {
    if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::super::transient::Span;
    use super::*;

    #[test]
    fn more_draws_make_a_share_more_certain() {
        // The expected values are integrals of the beta density, computed in 400,000 steps.
        let exact = [
            (0.0, 100.0, 0.01, 0.8443),
            (1.0, 100.0, 0.01, 0.4286),
            (20.0, 1000.0, 0.01, 0.0022),
            (2.0, 1000.0, 0.01, 0.9988),
            (55.0, 100.0, 0.5, 0.1587),
        ];
        for (late, draws, allowed, exact) in exact {
            let found = chance_below(late, draws, allowed);
            assert!((found - exact).abs() < 0.002, "{late} of {draws} at {allowed}: {found}, not {exact}");
        }
    }

    #[test]
    fn a_window_far_from_saturation_is_more_certain_than_one_near_it() {
        let constraint =
            Constraint { kind: ConstraintKind::Share { allowed: 0.01, limit_s: 5e-3 }, full: Some(1000.0) };
        let window = |rate: f64, share: f64| {
            let span = Span { begin_s: 0.5, end_s: 20.5 };
            WindowObservation { rate, answered: 20.0 * rate, late: share * 20.0 * rate, equal_gaps: false, span }
        };
        let chance = |rate, share| chance_held(&window(rate, share), &constraint);
        assert!(
            chance(300.0, 0.0) > 0.97 && chance(300.0, 0.1) < 0.01,
            "{} {}",
            chance(300.0, 0.0),
            chance(300.0, 0.1)
        );
        assert!(chance(950.0, 0.008) < 0.95 && chance(950.0, 0.012) > 0.1, "no window so near says much");
        let few = WindowObservation { answered: 2.0, late: 0.0, ..window(950.0, 0.0) };
        assert!(
            (0.5..0.8).contains(&chance_held(&few, &constraint)),
            "two answers: {}",
            chance_held(&few, &constraint)
        );
        let mean = Constraint { kind: ConstraintKind::Mean, full: Some(1000.0) };
        assert!((chance_held(&window(900.0, 1.0), &mean) - 0.5).abs() < 1e-9);
        assert!(chance_held(&window(500.0, 0.5), &mean) > 0.99);
    }
}
