//! Machines whose speed changes from window to window: a guest of a host whose other guests share its caches does what it did a second
//! ago 10 % slower, with the same CPU time given.
//!
//! A window then shows the line of the capacity times its own speed. The logarithms of the speeds are thought to be normal around 0;
//! how much they scatter is not known before and is weighed by the windows themselves: windows that contradict one another by more
//! than chance make it large, and the interval wide. For each scatter the likelihood of a window is its own, smoothed over the
//! logarithm of the capacity.

/// Standard deviations of the logarithm of the speed that are weighed, and what is thought of each before any window: most machines
/// are steady.
pub(super) const SCATTERS: [(f64, f64); 5] = [(0.0, 0.35), (0.01, 0.3), (0.03, 0.2), (0.08, 0.1), (0.2, 0.05)];
/// Points of a normal density, and how many standard deviations it reaches to either side.
const POINTS: i64 = 11;
const REACH: f64 = 2.5;

/// A normal density in steps of a grid.
pub(super) struct Kernel {
    /// So many steps away, with this weight; one alone where the density is narrower than a step.
    points: Vec<(i64, f64)>,
}

impl Kernel {
    /// Of a standard deviation, on a grid of such steps, both in logarithm.
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

    /// The logarithm of a likelihood over the logarithm of the capacity, smoothed; at its ends it goes on as it ends.
    pub(super) fn smoothed(&self, ln: &[f64]) -> Vec<f64> {
        if self.points.len() < 2 {
            return ln.to_vec();
        }
        let last = ln.len() as i64 - 1;
        let top = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let plain: Vec<f64> = ln.iter().map(|l| (l - top).exp()).collect();
        let near = |i: i64, off: i64| plain[(i + off).clamp(0, last) as usize];
        let at = |i: i64| self.points.iter().map(|(off, weight)| weight * near(i, *off)).sum::<f64>();
        (0..=last).map(|i| at(i).max(LEAST).ln() + top).collect()
    }
}

/// A density narrower than this many steps is none.
const NARROW: f64 = 0.2;
/// No window rules out any capacity for good.
const LEAST: f64 = 1e-300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_normal_likelihood_becomes_as_much_wider_as_the_speeds_scatter() {
        let step = 0.002;
        let ln: Vec<f64> = (0..400).map(|i| -0.5 * (f64::from(i - 200) * step / 0.03).powi(2)).collect();
        let wide = Kernel::new(0.04, step).smoothed(&ln);
        let weights: Vec<f64> = wide.iter().map(|l| l.exp()).collect();
        let all: f64 = weights.iter().sum();
        let squares = weights.iter().enumerate().map(|(i, w)| w * ((i as f64 - 200.0) * step).powi(2));
        let sd = (squares.sum::<f64>() / all).sqrt();
        assert!((sd - 0.05).abs() < 0.002, "{sd}");
    }

    #[test]
    fn steady_speeds_change_nothing() {
        assert_eq!(Kernel::new(0.0, 0.01).points, [(0, 1.0)]);
        let ln = [-3.0, -1.0, 0.0, -600.0];
        let same = Kernel::new(0.001, 0.01).smoothed(&ln);
        assert!(ln.iter().zip(&same).all(|(a, b)| (a - b).abs() < 1e-9), "{same:?}");
    }
}
