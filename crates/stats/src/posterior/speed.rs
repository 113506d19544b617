//! Machines whose speed changes from window to window. A guest whose host is busy with other guests may do the same work 10 % slower a
//! second later, with the same CPU time given.
//!
//! Each window then follows the model of the capacity times its own speed. The logarithms of the speeds are normal around 0 with an
//! unknown scatter, which the windows weigh: windows that contradict each other by more than chance make it large, and the interval wide.
//! For each scatter the likelihood of a window is its plain likelihood, smoothed over the logarithm of the capacity.

/// Standard deviations of the logarithm of the speed that are weighed, each with its prior: most machines are steady.
pub(super) const SCATTERS: [(f64, f64); 5] = [(0.0, 0.35), (0.01, 0.3), (0.03, 0.2), (0.08, 0.1), (0.2, 0.05)];
/// Points of a normal density.
const POINTS: i64 = 11;
/// Standard deviations that the density reaches to either side.
const REACH: f64 = 2.5;

/// Normal density on the steps of a grid.
pub(super) struct Kernel {
    /// Steps away from the middle, and the weight there; a single point where the density is narrower than a step.
    points: Vec<(i64, f64)>,
}

impl Kernel {
    /// Makes the density of a standard deviation on a grid of such steps, both in logarithm.
    pub(super) fn new(scatter: f64, step: f64) -> Self {
        if scatter < NARROW * step {
            return Self { points: vec![(0, 1.0)] };
        }
        let apart = (2.0 * REACH * scatter / step / (POINTS - 1) as f64).max(1.0);
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

    /// Smooths a likelihood over the logarithm of the capacity. Beyond its ends it keeps the value at the end.
    fn smoothed(&self, plain: &[f64]) -> impl Iterator<Item = f64> {
        let last = plain.len() as i64 - 1;
        let near = move |i: i64, off: i64| plain[(i + off).clamp(0, last) as usize];
        (0..=last).map(move |i| self.points.iter().map(|(off, weight)| weight * near(i, *off)).sum::<f64>())
    }
}

/// Returns the log likelihood of all windows together over the logarithm of the capacity, smoothed by each of the kernels. Each window
/// holds the log likelihood of one draw and is worth a number of draws.
pub(super) fn smoothed(kernels: &[Kernel], windows: &[Vec<f64>], draws: &[f64]) -> Vec<Vec<f64>> {
    let mut all: Vec<Product> = kernels.iter().map(|_| Product::new(windows.first().map_or(0, Vec::len))).collect();
    for (window, draws) in windows.iter().zip(draws) {
        let top = draws * window.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let plain: Vec<f64> = window.iter().map(|l| exp(draws * l - top)).collect();
        for (kernel, product) in kernels.iter().zip(&mut all) {
            match kernel.is_none() {
                true => product.ln.iter_mut().zip(window).for_each(|(ln, l)| *ln += draws * l),
                false => product.times(top, kernel.smoothed(&plain)),
            }
        }
    }
    all.into_iter().map(Product::ln).collect()
}

/// Products over the capacity that are too small for a floating-point number. Logarithms are taken now and then, not of each factor.
struct Product {
    ln: Vec<f64>,
    /// Factor that is not in the logarithm yet.
    now: Vec<f64>,
}

impl Product {
    fn new(n: usize) -> Self {
        Self { ln: vec![0.0; n], now: vec![1.0; n] }
    }

    /// Multiplies each product by `exp(top)` and by its factor, which is at most 1.
    fn times(&mut self, top: f64, factors: impl Iterator<Item = f64>) {
        for ((ln, now), factor) in self.ln.iter_mut().zip(&mut self.now).zip(factors) {
            *ln += top;
            if factor <= LEAST {
                *ln += LEAST_LN;
            } else if *now * factor < SMALL {
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

/// Returns the exponential; 0 at once where it would be next to nothing, which saves time.
pub(super) fn exp(x: f64) -> f64 {
    if x < LEAST_LN { 0.0 } else { x.exp() }
}

/// Width in steps below which a density is a single point.
const NARROW: f64 = 0.2;
/// Least likelihood of a window, so that no window rules out a capacity for good.
const LEAST: f64 = 1e-300;
const LEAST_LN: f64 = -300.0 * std::f64::consts::LN_10;
/// Product below which its logarithm is taken.
const SMALL: f64 = 1e-200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_normal_likelihood_becomes_as_much_wider_as_the_speeds_scatter() {
        let step = 0.002;
        let ln: Vec<f64> = (0..400).map(|i| -0.5 * (f64::from(i - 200) * step / 0.03).powi(2)).collect();
        let wide = smoothed(&[Kernel::new(0.04, step)], &[ln], &[1.0]);
        let weights: Vec<f64> = wide[0].iter().map(|l| l.exp()).collect();
        let all: f64 = weights.iter().sum();
        let squares = weights.iter().enumerate().map(|(i, w)| w * ((i as f64 - 200.0) * step).powi(2));
        let sd = (squares.sum::<f64>() / all).sqrt();
        assert!((sd - 0.05).abs() < 0.002, "{sd}");
    }

    #[test]
    fn steady_speeds_change_nothing() {
        assert_eq!(Kernel::new(0.0, 0.01).points, [(0, 1.0)]);
        let ln = [-3.0, -1.0, 0.0, -600.0];
        let same = smoothed(&[Kernel::new(0.001, 0.01)], &[ln.to_vec()], &[1.0]);
        assert!(ln.iter().zip(&same[0]).all(|(a, b)| (a - b).abs() < 1e-9), "{same:?}");
    }

    /// Of a hundred windows, each as good as impossible at one end, the product is as small as the sum of their logarithms says.
    #[test]
    fn what_is_too_small_for_a_number_is_kept_in_its_logarithm() {
        let windows = vec![vec![-60.0, -0.1, 0.0]; 100];
        let kernel = Kernel { points: vec![(0, 0.5), (0, 0.5)] };
        let all = smoothed(&[kernel], &windows, &vec![2.0; 100]);
        for (found, expected) in all[0].iter().zip([-12_000.0, -20.0, 0.0]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }
}
