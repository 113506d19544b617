//! How sure one window by itself is that a rate holds: a binomial statement in the draws that it is worth, not a percentile that
//! is a little above its limit or below it. Source of the idea: early stopping in MLPerf's LoadGen (V. Reddi et al., *MLPerf
//! Inference Benchmark*, 2020).

use super::asked::{Asked, Shown, What};
use super::posterior::{mean_spread, worth};
use crate::sample::normal_tail;

/// Steps of the sum over all shares that the window may be of, and how many standard deviations it goes either way.
const STEPS: u32 = 400;
const REACH: f64 = 16.0;

/// Chance, 0 to 1, that what is asked holds at a window's rate, by this window alone: before it, holding was as likely as not, so that
/// a window that says nothing leaves one half.
pub(super) fn chance_held(window: &Shown, asked: &Asked) -> f64 {
    let (draws, shown) = (worth(window, asked), window.late / window.answered);
    match asked.what {
        What::Share { allowed, .. } | What::Refused { allowed } => {
            let below = chance_below(shown.min(1.0) * draws, draws, allowed);
            // What the prior of a share alone gives to those that are allowed: of a small one next to nothing.
            let thought = std::f64::consts::FRAC_2_PI * allowed.sqrt().asin();
            let (holds, breaks) = (below / thought, (1.0 - below) / (1.0 - thought));
            holds / (holds + breaks)
        }
        What::Mean => normal_tail(shown.max(1e-9).ln() / mean_spread(draws)),
    }
}

/// Chance that a share is at most `allowed` of which `late` of `draws` were seen, before which all were thought alike (Jeffreys).
fn chance_below(late: f64, draws: f64, allowed: f64) -> f64 {
    let (a, b) = (late + 0.5, draws - late + 0.5);
    let middle = (a / b).ln();
    let reach = REACH * (1.0 / a + 1.0 / b).sqrt();
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
    fn shares_are_as_sure_as_their_draws_are_many() {
        // Integrals of the beta density in 400,000 steps.
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
    fn a_window_far_from_full_says_more_than_one_that_is_nearly_full() {
        let asked = Asked { what: What::Share { allowed: 0.01, limit_s: 5e-3 }, full: Some(1000.0) };
        let window = |rate: f64, share: f64| {
            let span = Span { begin_s: 0.5, end_s: 20.5 };
            Shown { rate, answered: 20.0 * rate, late: share * 20.0 * rate, equal_gaps: false, span }
        };
        let chance = |rate, share| chance_held(&window(rate, share), &asked);
        assert!(
            chance(300.0, 0.0) > 0.97 && chance(300.0, 0.1) < 0.01,
            "{} {}",
            chance(300.0, 0.0),
            chance(300.0, 0.1)
        );
        assert!(chance(950.0, 0.008) < 0.95 && chance(950.0, 0.012) > 0.1, "no window so near says much");
        let few = Shown { answered: 2.0, late: 0.0, ..window(950.0, 0.0) };
        assert!((0.5..0.8).contains(&chance_held(&few, &asked)), "two answers: {}", chance_held(&few, &asked));
        let mean = Asked { what: What::Mean, full: Some(1000.0) };
        assert!((chance_held(&window(900.0, 1.0), &mean) - 0.5).abs() < 1e-9);
        assert!(chance_held(&window(500.0, 0.5), &mean) > 0.99);
    }
}
