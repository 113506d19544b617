//! Effect of a machine whose speed changes between windows. If the host becomes busy with other guests, a virtual
//! machine may work 10 % slower a second later. The virtual machine's share of CPU time is unchanged.
//!
//! In the model, each window has its own speed, which multiplies the capacity. The logarithms of the speeds are
//! normally distributed around 0 with an unknown scatter. If windows contradict each other more than chance explains,
//! the scatter becomes large and the interval wide. For each possible scatter, loadline smooths a window's likelihood
//! at constant speed. The smoothing runs over the logarithm of the capacity. The smoothing kernel is a normal density
//! whose standard deviation is the scatter.

/// Possible standard deviations of the logarithm of the speed, each with its prior probability. Small deviations are
/// more probable, because most machines are steady.
pub(super) const SCATTERS: [(f64, f64); 5] = [(0.0, 0.35), (0.01, 0.3), (0.03, 0.2), (0.08, 0.1), (0.2, 0.05)];

/// Returns the standard deviation of the logarithm of the speed that is expected before any window is measured: the
/// mean of [`SCATTERS`].
pub(super) fn expected_scatter() -> f64 {
    SCATTERS.iter().map(|(scatter, thought)| scatter * thought).sum()
}

/// Number of points that represent a normal density.
const POINTS: i64 = 11;
/// Distance from the mean of the density to each end of its range, in standard deviations.
const DENSITY_SD: f64 = 2.5;

/// A normal density, as weights at some points of a grid.
pub(super) struct Kernel {
    /// For each point, its distance from the mean in steps of the grid, and its weight. A density that is much narrower
    /// than one step consists of a single point.
    points: Vec<(i64, f64)>,
}

impl Kernel {
    /// Creates the density with the standard deviation `scatter` on a grid whose points are `step` apart. `scatter` and
    /// `step` are differences of natural logarithms.
    pub(super) fn new(scatter: f64, step: f64) -> Self {
        if scatter < MIN_WIDTH_STEPS * step {
            return Self { points: vec![(0, 1.0)] };
        }
        let apart = (2.0 * DENSITY_SD * scatter / step / (POINTS - 1) as f64).max(1.0);
        let weigh = |k: i64| {
            let off = (k as f64 * apart).round();
            (off as i64, (-0.5 * (off * step / scatter).powi(2)).exp())
        };
        let mut points: Vec<(i64, f64)> = (-POINTS / 2..=POINTS / 2).map(weigh).collect();
        let all: f64 = points.iter().map(|(_, weight)| weight).sum();
        points.iter_mut().for_each(|(_, weight)| *weight /= all);
        Self { points }
    }

    fn is_none(&self) -> bool {
        self.points.len() < 2
    }

    /// Smooths a likelihood over the logarithm of the capacity. Beyond an end of the grid, the likelihood has the same
    /// value as at that end.
    fn smoothed(&self, plain: &[f64]) -> impl Iterator<Item = f64> {
        let last = plain.len() as i64 - 1;
        let near = move |i: i64, off: i64| plain[(i + off).clamp(0, last) as usize];
        (0..=last).map(move |i| self.points.iter().map(|(off, weight)| weight * near(i, *off)).sum::<f64>())
    }
}

/// Returns, for each kernel, the log likelihood of all windows together at each capacity. Each kernel (a normal
/// density) smooths the likelihood of each window.
pub(super) fn smoothed(kernels: &[Kernel], windows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut all: Vec<Product> = kernels.iter().map(|_| Product::new(windows.first().map_or(0, Vec::len))).collect();
    for window in windows {
        let top = window.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let plain: Vec<f64> = window.iter().map(|l| exp(l - top)).collect();
        for (kernel, product) in kernels.iter().zip(&mut all) {
            match kernel.is_none() {
                true => product.ln.iter_mut().zip(window).for_each(|(ln, l)| *ln += l),
                false => product.times(top, kernel.smoothed(&plain)),
            }
        }
    }
    all.into_iter().map(Product::ln).collect()
}

/// Products of the likelihoods of many windows, one product per capacity. A product may be too small for a
/// floating-point number, so the struct stores its logarithm. Logarithms take long to compute, so a logarithm is taken
/// only when the number in `now` becomes small.
struct Product {
    ln: Vec<f64>,
    /// For each product, the factors whose logarithm is not in `ln` yet, multiplied.
    now: Vec<f64>,
}

impl Product {
    fn new(n: usize) -> Self {
        Self { ln: vec![0.0; n], now: vec![1.0; n] }
    }

    /// Multiplies each product by `exp(top)` and by its own factor, which is at most 1.
    fn times(&mut self, top: f64, factors: impl Iterator<Item = f64>) {
        for ((ln, now), factor) in self.ln.iter_mut().zip(&mut self.now).zip(factors) {
            *ln += top;
            if factor <= MIN_LIKELIHOOD {
                *ln += LEAST_LN;
            } else if *now * factor < MIN_PRODUCT {
                *ln += now.ln() + factor.ln();
                *now = 1.0;
            } else {
                *now *= factor;
            }
        }
    }

    fn ln(self) -> Vec<f64> {
        self.ln.into_iter().zip(self.now).map(|(ln, now)| ln + now.ln()).collect()
    }
}

/// Returns `exp(x)`. A negligible result is returned as 0, without a computation.
pub(super) fn exp(x: f64) -> f64 {
    if x < LEAST_LN { 0.0 } else { x.exp() }
}

/// Standard deviation, in steps of the grid, below which a density is replaced by a single point.
const MIN_WIDTH_STEPS: f64 = 0.2;
/// Minimum likelihood of a window, so that no single window excludes a capacity.
const MIN_LIKELIHOOD: f64 = 1e-300;
const LEAST_LN: f64 = -300.0 * std::f64::consts::LN_10;
/// Products in `now` that become smaller than `MIN_PRODUCT` could become 0. The logarithm of a product that is this
/// small is therefore added to `ln`.
const MIN_PRODUCT: f64 = 1e-200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changing_speeds_widen_a_normal_likelihood_by_their_scatter() {
        let step = 0.002;
        let ln: Vec<f64> = (0..400).map(|i| -0.5 * (f64::from(i - 200) * step / 0.03).powi(2)).collect();
        let wide = smoothed(&[Kernel::new(0.04, step)], &[ln]);
        let weights: Vec<f64> = wide[0].iter().map(|l| l.exp()).collect();
        let all: f64 = weights.iter().sum();
        let squares = weights.iter().enumerate().map(|(i, w)| w * ((i as f64 - 200.0) * step).powi(2));
        let sd = (squares.sum::<f64>() / all).sqrt();
        assert!((sd - 0.05).abs() < 0.002, "{sd}");
    }

    #[test]
    fn steady_speeds_do_not_change_the_likelihood() {
        assert_eq!(Kernel::new(0.0, 0.01).points, [(0, 1.0)]);
        let ln = [-3.0, -1.0, 0.0, -600.0];
        let same = smoothed(&[Kernel::new(0.001, 0.01)], &[ln.to_vec()]);
        assert!(ln.iter().zip(&same[0]).all(|(a, b)| (a - b).abs() < 1e-9), "{same:?}");
    }

    /// Each of a hundred windows almost excludes the lowest of three capacities. The logarithm of the product of all
    /// likelihoods must equal the sum of the logarithms.
    #[test]
    fn very_small_products_are_kept_as_logarithms() {
        let windows = vec![vec![-120.0, -0.2, 0.0]; 100];
        let kernel = Kernel { points: vec![(0, 0.5), (0, 0.5)] };
        let all = smoothed(&[kernel], &windows);
        for (found, expected) in all[0].iter().zip([-12_000.0, -20.0, 0.0]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }
}
