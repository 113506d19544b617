//! The bootstrap (B. Efron, *Annals of Statistics* 7, 1979): draws from a sample, with replacement, as many items as
//! the sample has.

/// Draws as many items as `items` has, with replacement. Each item has an equal probability in every draw.
pub fn resample<'a, T>(items: &'a [T], random: &mut fastrand::Rng) -> Vec<&'a T> {
    draw(items.len(), random).into_iter().map(|at| &items[at]).collect()
}

/// Draws `items` indexes from 0 to `items - 1`, with replacement. A caller can use the drawn indexes for several series
/// at once.
pub fn draw(items: usize, random: &mut fastrand::Rng) -> Vec<usize> {
    (0..items).map(|_| random.usize(..items)).collect()
}

/// Returns the factor that corrects the bias of the bootstrap's standard error. The bias arises because the variance of
/// draws from `n` values has the divisor `n` instead of `n - 1`.
pub fn small_sample_factor(n: f64) -> f64 {
    (n / (n - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sample;

    #[test]
    fn the_bootstrap_error_of_a_mean_equals_its_formula() {
        let mut random = fastrand::Rng::with_seed(5);
        let values: Vec<f64> = (0..20).map(|_| crate::normal(&mut random)).collect();
        let mean = |drawn: Vec<&f64>| drawn.iter().copied().sum::<f64>() / drawn.len() as f64;
        let means: Vec<f64> = (0..4000).map(|_| mean(resample(&values, &mut random))).collect();
        let found = Sample::of(&means).unwrap().sd * small_sample_factor(20.0);
        assert!((found / Sample::of(&values).unwrap().error() - 1.0).abs() < 0.05, "{found}");
    }
}
