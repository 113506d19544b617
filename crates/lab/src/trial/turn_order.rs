//! Order in which alternatives, such as two servers, take turns. The order within pairs is random, so that it cannot
//! coincide with periodic events. The order is also balanced, so that a steady drift of the machine affects all
//! alternatives equally.

/// Random balanced order of two alternatives ("sides", 0 and 1). In every two pairs, each side comes first once.
pub(crate) struct TurnOrder {
    random: fastrand::Rng,
    /// Side that comes first in the next pair, if the next pair is the second of two; `None` otherwise.
    owed: Option<usize>,
}

impl TurnOrder {
    /// Returns the order for a seed. Equal seeds give equal orders.
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), owed: None }
    }

    /// Draws the next pair: the sides 0 and 1, in the order of their turns.
    pub(crate) fn pair(&mut self) -> [usize; 2] {
        let owed = self.owed.take();
        let first = owed.unwrap_or_else(|| usize::from(self.random.bool()));
        self.owed = owed.is_none().then_some(1 - first);
        [first, 1 - first]
    }
}

/// Number of rounds through the alternatives: the minimum from which their scatter can be estimated.
pub(crate) const ROUNDS: usize = 3;

/// Returns the alternative that has a given turn. Every second round has the reverse order, so that a steady drift of
/// the machine cancels out.
pub(crate) fn back_and_forth(turn: usize, alternatives: usize) -> usize {
    let at = turn % alternatives;
    if (turn / alternatives).is_multiple_of(2) { at } else { alternatives - 1 - at }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: u64, pairs: usize) -> Vec<usize> {
        let mut order = TurnOrder::new(seed);
        (0..pairs).map(|_| order.pair()[0]).collect()
    }

    #[test]
    fn a_seed_fixes_the_order_and_other_seeds_give_other_orders() {
        let all: std::collections::BTreeSet<Vec<usize>> = (0..100).map(|seed| drawn(seed, 40)).collect();
        assert_eq!((0..100).map(|seed| drawn(seed, 40)).collect::<std::collections::BTreeSet<_>>(), all);
        assert!(all.len() >= 95, "{} orders of 100 seeds", all.len());
        let first = (0..1000).filter(|seed| drawn(*seed, 1) == [0]).count();
        assert!((400..=600).contains(&first), "of 1000 seeds {first} begin with the first side");
    }

    #[test]
    fn alternatives_take_turns_back_and_forth() {
        assert_eq!((0..6).map(|turn| back_and_forth(turn, 3)).collect::<Vec<_>>(), [0, 1, 2, 2, 1, 0]);
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

    /// The measured value is the time itself, as on a machine that becomes steadily slower.
    #[test]
    fn a_steady_drift_affects_both_sides_equally() {
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
