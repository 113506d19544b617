//! Significance levels of a test that is repeated while the data grows. Each repetition of the test is called a look.
//! All looks together raise a false alarm no more often than one single test would.
//!
//! Each look (repetition of the test) spends a part of the significance level. The size of this part depends on the
//! share of the planned data that exists at the look (K. Lan and D. DeMets, *Biometrika* 70, 1983). The significance
//! level is divided as in the method of O'Brien and Fleming. Early looks need strong evidence, and the last look keeps
//! nearly the whole level. The sum of the data is modelled as a Brownian motion. The density of the Brownian motion
//! between the boundaries of the test is integrated from look to look (P. Armitage and others, *JRSS A* 132, 1969).

use crate::moments::normal_tail;
use crate::student::quantile;

/// Number of steps of an integral; even, for Simpson's rule. More steps do not change the first four digits of the
/// integral.
const STEPS: u32 = 200;
/// Number of halvings of the interval in the search for a boundary. After `HALVINGS` halvings, the boundary is exact to
/// eight digits.
const HALVINGS: u32 = 32;
/// Largest boundary, in standard deviations. The probability of larger values is negligible.
const MAX_DEVIATIONS: f64 = 40.0;
/// Minimum distance between two looks, as a share of the planned data, because the numerical integral fails for very
/// close looks.
const MIN_DISTANCE: f64 = 0.01;

/// Returns the two-sided significance level of the last of several looks. `shares` are the shares of the planned data
/// at all looks so far, in order; the planned end is 1. All looks up to the planned end together have the significance
/// level `level`.
pub fn look_level(level: f64, shares: &[f64]) -> f64 {
    let (mut motion, mut spent, mut last) = (Motion::new(), 0.0, level);
    for share in shares {
        let share = share.clamp(motion.share + MIN_DISTANCE, 1.0 + MIN_DISTANCE);
        let until_now = spending(level, share);
        let boundary = motion.boundary(share, until_now - spent);
        last = 2.0 * normal_tail(boundary / share.sqrt());
        (motion, spent) = (motion.within(share, boundary), until_now);
    }
    last
}

/// Returns the probability that is allowed for a false alarm in any of the looks so far. `share` (0 to 1) is the part
/// of the planned data that exists now. With all of the planned data, the allowed probability is `level`.
fn spending(level: f64, share: f64) -> f64 {
    if share >= 1.0 { level } else { 4.0 * normal_tail(quantile(level / 2.0, f64::INFINITY) / share.sqrt()) }
}

/// Probability density of a Brownian motion that has crossed no boundary at any look so far. The density of the motion
/// is symmetric around 0.
struct Motion {
    share: f64,
    /// Positions of the Brownian motion, each with the probability that the motion is near it.
    weights: Vec<(f64, f64)>,
}

impl Motion {
    fn new() -> Self {
        Self { share: 0.0, weights: vec![(0.0, 1.0)] }
    }

    /// Returns the boundary that the Brownian motion crosses with the probability `chance` at the next look (interim
    /// analysis).
    fn boundary(&self, share: f64, chance: f64) -> f64 {
        let (mut low, mut high) = (0.0, MAX_DEVIATIONS * share.sqrt());
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if self.beyond(share, middle) > chance { low = middle } else { high = middle }
        }
        high
    }

    /// Returns the probability that the Brownian motion is beyond a boundary at the next look, on either side.
    fn beyond(&self, share: f64, boundary: f64) -> f64 {
        let sd = (share - self.share).sqrt();
        // The density is symmetric, so crossings on both sides are equally likely.
        let above = |&(place, weight): &(f64, f64)| weight * normal_tail((boundary - place) / sd);
        2.0 * self.weights.iter().map(above).sum::<f64>()
    }

    /// Returns the density of the Brownian motion at the next look. The density includes only those paths that are
    /// within the boundary at the next look.
    fn within(&self, share: f64, boundary: f64) -> Self {
        let sd = (share - self.share).sqrt();
        let step = 2.0 * boundary / f64::from(STEPS);
        let simpson = |at: u32| match at {
            0 | STEPS => step / 3.0,
            at if at % 2 == 1 => 4.0 * step / 3.0,
            _ => 2.0 * step / 3.0,
        };
        let density = |place: f64| {
            let of = |&(from, weight): &(f64, f64)| weight * (-0.5 * ((place - from) / sd).powi(2)).exp();
            self.weights.iter().map(of).sum::<f64>() / (sd * std::f64::consts::TAU.sqrt())
        };
        let below = |at: u32| (step.mul_add(f64::from(at), -boundary), simpson(at));
        let below = (0..=STEPS / 2).map(below).map(|(place, width)| (place, width * density(place)));
        let mut weights: Vec<(f64, f64)> = below.collect();
        weights.extend_from_within(..STEPS as usize / 2);
        weights[STEPS as usize / 2 + 1..].iter_mut().for_each(|(place, _)| *place = -*place);
        Self { share, weights }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal;

    /// Published boundaries of five looks at equal distances: D. Reboussin and others, *Controlled Clinical Trials* 21
    /// (2000).
    #[test]
    fn boundaries_are_those_of_published_tables() {
        let shares = [0.2, 0.4, 0.6, 0.8, 1.0];
        for (looks, published) in [4.8769, 3.3569, 2.6803, 2.2898, 2.0310].into_iter().enumerate() {
            let boundary = quantile(look_level(0.05, &shares[..=looks]), f64::INFINITY);
            assert!((boundary - published).abs() < 0.003, "look {looks}: {boundary} instead of {published}");
        }
        assert!((look_level(0.05, &[1.0]) - 0.05).abs() < 1e-6 && look_level(0.05, &[]) == 0.05);
    }

    #[test]
    fn all_looks_together_err_as_often_as_the_level_says() {
        for (level, shares) in [(0.05, vec![0.3, 0.55, 0.8, 1.0]), (0.1, vec![0.5, 0.6, 1.0]), (0.01, vec![0.25, 1.0])]
        {
            let bounds: Vec<f64> =
                (1..=shares.len()).map(|n| quantile(look_level(level, &shares[..n]), f64::INFINITY)).collect();
            let mut random = fastrand::Rng::with_seed(5);
            let crosses = |_: &u32| {
                let (mut sum, mut at) = (0.0, 0.0);
                shares.iter().zip(&bounds).any(|(share, bound)| {
                    sum += normal(&mut random) * f64::sqrt(share - at);
                    at = *share;
                    sum.abs() / share.sqrt() > *bound
                })
            };
            let crossed = (0..20_000).filter(crosses).count() as f64 / 20_000.0;
            assert!((crossed - level).abs() < 4.0 * (level / 20_000.0).sqrt(), "{crossed} instead of {level}");
        }
    }

    /// The simulated difference is so large that a single look at all data finds it in nine of ten tests. More than
    /// four looks hardly reduce the mean amount of data further.
    #[test]
    fn four_looks_save_most_of_the_data_that_many_looks_save() {
        let mean_share = |looks: u32| {
            let shares: Vec<f64> = (1..=looks).map(|at| f64::from(at) / f64::from(looks)).collect();
            let bounds: Vec<f64> =
                (1..=shares.len()).map(|n| quantile(look_level(0.05, &shares[..n]), f64::INFINITY)).collect();
            let (drift, mut random) = (1.96 + 1.2816, fastrand::Rng::with_seed(7));
            let ends = |_: u32| {
                let mut sum = 0.0;
                let crosses = |(share, bound): &(&f64, &f64)| {
                    sum += drift / f64::from(looks) + normal(&mut random) / f64::from(looks).sqrt();
                    sum.abs() / share.sqrt() > **bound
                };
                shares.iter().zip(&bounds).find(crosses).map_or(1.0, |(share, _)| *share)
            };
            (0..4000).map(ends).sum::<f64>() / 4000.0
        };
        let [one, two, four, twelve] = [1, 2, 4, 12].map(mean_share);
        println!("data used with one, two, four and twelve looks: {one:.3} {two:.3} {four:.3} {twelve:.3}");
        assert!(one == 1.0 && two < 0.9 && four < 0.8 && twelve > four - 0.08, "{one} {two} {four} {twelve}");
    }

    #[test]
    fn looks_close_together_and_at_the_very_start_have_a_level() {
        for shares in [&[1e-6, 0.5, 0.5, 1.0][..], &[0.999, 1.0], &[0.0]] {
            let level = look_level(0.05, shares);
            assert!((0.0..=0.05).contains(&level), "{shares:?}: {level}");
        }
    }
}
