//! Order of two alternatives in pairs of turns. It is random, so that nothing periodic stays in step with it. It is
//! balanced, so that a steady drift of the machine affects both alike.

/// Random balanced order: of two consecutive pairs, each side comes first in one.
pub(crate) struct TurnOrder {
    random: fastrand::Rng,
    /// Side that comes first in the second pair of two, until that pair is drawn.
    owed: Option<usize>,
}

impl TurnOrder {
    /// Returns the order of a seed, always the same.
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), owed: None }
    }

    /// Draws the side that comes first in the next pair: 0 or 1.
    pub(crate) fn first(&mut self) -> usize {
        if let Some(owed) = self.owed.take() {
            return owed;
        }
        let first = usize::from(self.random.bool());
        self.owed = Some(1 - first);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: u64, pairs: usize) -> Vec<usize> {
        let mut order = TurnOrder::new(seed);
        (0..pairs).map(|_| order.first()).collect()
    }

    #[test]
    fn a_seed_always_has_the_same_order_and_others_have_others() {
        let all: std::collections::BTreeSet<Vec<usize>> = (0..100).map(|seed| drawn(seed, 40)).collect();
        assert_eq!((0..100).map(|seed| drawn(seed, 40)).collect::<std::collections::BTreeSet<_>>(), all);
        assert!(all.len() >= 95, "{} orders of 100 seeds", all.len());
        let first = (0..1000).filter(|seed| drawn(*seed, 1) == [0]).count();
        assert!((400..=600).contains(&first), "of 1000 seeds {first} begin with the first side");
    }

    #[test]
    fn after_any_pair_nobody_went_first_more_than_once_more_often() {
        for seed in 0..50 {
            let order = drawn(seed, 41);
            for end in 0..=order.len() {
                let second: usize = order[..end].iter().sum();
                assert!((2 * second).abs_diff(end) <= 1, "{order:?}");
            }
        }
    }

    /// The windows of two equal sides show the clock of a machine that slows down.
    #[test]
    fn a_steady_drift_is_the_same_for_both() {
        for seed in 0..50 {
            let mut sums = [0, 0];
            for (pair, first) in drawn(seed, 20).into_iter().enumerate() {
                sums[first] += 2 * pair;
                sums[1 - first] += 2 * pair + 1;
            }
            assert_eq!(sums[0], sums[1], "seed {seed}");
        }
    }
}
