//! Weighted random choice in constant time (A. Walker's alias method, Electronics Letters 10, 1974). Each draw needs
//! one random number, and reads one line of the table.

use fastrand::Rng;

/// Line of an alias table. A draw selects a line at random, and compares 32 further random bits with `keep`. If these
/// bits are below `keep`, the draw returns the line's own index. Otherwise, the draw returns `other`.
#[derive(Clone, Copy, Debug)]
struct Line {
    keep: u32,
    other: u16,
}

/// Alias table, made from a list of weights.
#[derive(Debug)]
pub(super) struct Alias(Box<[Line]>);

impl Alias {
    /// Creates the table from at most 65,535 weights. Each weight must be finite and not negative, and at least one
    /// must be positive.
    pub(super) fn new(weights: &[f64]) -> Self {
        let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
        // The weights are divided by their mean.
        let mut left: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let heaviest = (0..left.len()).max_by(|a, b| left[*a].total_cmp(&left[*b])).unwrap_or(0) as u16;
        let certain = |at: usize| if weights[at] > 0.0 { (u32::MAX, at as u16) } else { (0, heaviest) };
        let mut lines: Vec<(u32, u16)> = (0..left.len()).map(certain).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..left.len()).partition(|at| left[*at] < 1.0);
        while let (Some(&from), Some(to)) = (large.last(), small.pop()) {
            lines[to] = ((left[to] * 2_f64.powi(32)) as u32, from as u16);
            left[from] -= 1.0 - left[to];
            if left[from] < 1.0 {
                large.pop();
                small.push(from);
            }
        }
        Self(lines.into_iter().map(|(keep, other)| Line { keep, other }).collect())
    }

    /// Draws a random index. The probability of an index is proportional to its weight.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u16 {
        let bits = rng.u64(..);
        let at = ((bits >> 32) * self.0.len() as u64) >> 32;
        match self.0.get(at as usize) {
            Some(line) if bits as u32 >= line.keep => line.other,
            _ => at as u16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_weights_and_weight_0_is_never_drawn() {
        let mut rng = Rng::with_seed(1);
        let mixed: Vec<f64> = (0..300).map(|i| f64::from(i % 7) * 1e-3).collect();
        let skewed: Vec<f64> = (0..50).map(|i| 2_f64.powi(-i)).collect();
        for weights in [&mixed[..], &skewed, &[1.0], &[0.0, 5.0], &[5.0, 0.0], &[1e-300, 1e300], &[0.1; 10]] {
            let (table, draws, sum) = (Alias::new(weights), 200_000, weights.iter().sum::<f64>());
            let mut counts = vec![0_u32; weights.len()];
            (0..draws).for_each(|_| counts[usize::from(table.draw(&mut rng))] += 1);
            for (weight, count) in weights.iter().zip(counts) {
                let expected = weight / sum * f64::from(draws);
                let off = (f64::from(count) - expected).abs();
                assert!(off <= 5.0 * expected.sqrt() + 1.0 && (*weight > 0.0 || count == 0), "{count} for {expected}");
            }
        }
    }
}
