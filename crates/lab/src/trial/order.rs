//! Which of two comes first in each pair of turns: drawn, so that nothing that repeats can keep step with it, and balanced, so
//! that a machine that drifts steadily is no difference between the two.

/// Pairs come in twos: in one of them the first side goes first, in the other the second.
pub(crate) struct Order {
    random: fastrand::Rng,
    /// Who goes first in the other pair of two, while that is still to come.
    owed: Option<usize>,
}

impl Order {
    /// The order of a seed, always the same.
    pub(crate) fn of(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), owed: None }
    }

    /// Who goes first in the next pair: 0 or 1.
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
        let mut order = Order::of(seed);
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

    /// Each window shows what the clock says: two equal sides on a machine that grows slower.
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
