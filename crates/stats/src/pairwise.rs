//! Comparison of all pairs of several alternatives that were measured in rounds, each alternative once per round.
//!
//! The observations of a pair are the differences between its two alternatives, one difference per round. Because a
//! difference is taken within one round, changes of the machine between rounds cancel out, and each pair has its own
//! scatter. The mean of the differences is trimmed (K. Yuen, *Biometrika* 61, 1974). All pairs are tested together: the
//! chance that any two equal alternatives are found to differ is at most the level of the test. The procedure comes
//! from Holm (*Scandinavian Journal of Statistics* 6, 1979), and uses the logical restrictions of J. Shaffer (*Journal
//! of the American Statistical Association* 81, 1986). Once some pairs are known to differ, fewer of the other pairs
//! can be equal at the same time. The test of the pairs that are not yet known to differ is therefore less strict.

use crate::student::{quantile, two_sided};
use crate::two_means::Trimmed;

/// Measured difference between two alternatives, with its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairDifference {
    /// Trimmed mean of the differences within rounds.
    pub mean: f64,
    /// Standard error of the trimmed mean.
    pub error: f64,
    /// Degrees of freedom of the standard error.
    pub freedom: f64,
    /// Number of rounds in which both alternatives were measured.
    pub rounds: usize,
}

impl PairDifference {
    /// Returns the difference `b` minus `a`. A value is NaN if the alternative was not measured in the round. Returns
    /// `None` if fewer than `least` rounds have both values, or fewer than two rounds.
    pub fn of(a: &[f64], b: &[f64], least: usize) -> Option<Self> {
        let both: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).filter(|apart| apart.is_finite()).collect();
        let trimmed = Trimmed::of(&both);
        let (mean, error, freedom, rounds) = (trimmed.mean, trimmed.error(), trimmed.freedom(), both.len());
        (rounds >= least.max(2) && freedom >= 1.0).then_some(Self { mean, error, freedom, rounds })
    }

    /// Returns the probability that the measurements of two equal alternatives differ at least as much as observed.
    pub fn chance(&self) -> f64 {
        match self.error > 0.0 {
            true => two_sided(self.mean / self.error, self.freedom),
            false if self.mean == 0.0 => 1.0,
            false => 0.0,
        }
    }

    /// Returns half the width of the confidence interval that contains the true difference with the probability `1 -
    /// level`.
    pub fn half(&self, level: f64) -> f64 {
        self.error * quantile(level, self.freedom)
    }
}

/// Result of a test of all pairs: which pairs of alternatives differ. The alternatives are in ascending order of their
/// estimates.
#[derive(Clone, Debug, PartialEq)]
pub struct PairwiseTest {
    differs: Vec<Vec<bool>>,
}

impl PairwiseTest {
    /// Tests all pairs of alternatives. For `i < j`, `chance(i, j)` is the probability of a difference at least as
    /// large as the observed one, if both alternatives were equal. `None` means that the probability is not known; a
    /// pair with an unknown probability never counts as different.
    pub fn new(count: usize, level: f64, chance: impl Fn(usize, usize) -> Option<f64>) -> Self {
        let mut test = Self { differs: vec![vec![false; count]; count] };
        let pairs = (0..count).flat_map(|i| (i + 1..count).map(move |j| (i, j)));
        let mut pairs: Vec<(f64, usize, usize)> =
            pairs.filter_map(|(i, j)| Some((chance(i, j).filter(|p| p.is_finite())?, i, j))).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (p, i, j) in pairs {
            let equal = test.most_equal().max(1);
            if p > level / equal as f64 {
                break;
            }
            (test.differs[i][j], test.differs[j][i]) = (true, true);
        }
        test
    }

    /// Returns true if the test found that two alternatives differ.
    pub fn differs(&self, i: usize, j: usize) -> bool {
        self.differs.get(i).and_then(|row| row.get(j)).copied().unwrap_or(false)
    }

    /// Returns the maximum number of pairs that can still be equal at the same time. A pair of alternatives is
    /// undecided if the two alternatives are not known to differ. In this function, a pair also counts as undecided if
    /// a pair that encloses it is undecided, as (1, 4) encloses (2, 3). The returned number can only become larger if
    /// more pairs count as undecided. Because enclosed pairs count as undecided, the maximum is reached by some
    /// division of the alternatives into groups of neighbours.
    fn most_equal(&self) -> usize {
        let count = self.differs.len();
        let reach = self.reaches();
        let mut most = vec![0; count + 1];
        for end in 1..=count {
            let from = |begin: usize| most[begin] + (end - begin) * (end - begin - 1) / 2;
            let begins = (0..end).filter(|begin| reach[*begin] >= end - 1);
            most[end] = begins.map(from).max().unwrap_or(most[end - 1]);
        }
        most[count]
    }

    /// Returns, for each alternative i, the largest index j whose alternative does not certainly differ from i or from
    /// an earlier alternative.
    fn reaches(&self) -> Vec<usize> {
        let mut furthest = 0;
        let last_open = |i: usize| (i..self.differs.len()).rev().find(|j| !self.differs[i][*j]).unwrap_or(i);
        (0..self.differs.len())
            .map(|i| {
                furthest = last_open(i).max(furthest);
                furthest
            })
            .collect()
    }

    /// Returns the number of each alternative's group, from 0. Alternatives that do not differ share a group, so
    /// members of different groups always differ. Groups are numbered in the order of their first members.
    pub fn groups(&self) -> Vec<usize> {
        let count = self.differs.len();
        let mut group = vec![usize::MAX; count];
        let mut next = 0;
        for first in 0..count {
            if group[first] != usize::MAX {
                continue;
            }
            let mut open = vec![first];
            while let Some(i) = open.pop() {
                group[i] = next;
                open.extend((0..count).filter(|j| group[*j] == usize::MAX && !self.differs[i][*j]));
            }
            next += 1;
        }
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moments::{average, normal};

    /// Number of simulated comparisons.
    const DRAWS: usize = 200;
    /// Number of rounds in one simulated comparison.
    const ROUNDS: usize = 12;
    const LEVEL: f64 = 0.05;

    /// Returns the logarithm of each alternative's cost in each round, on a machine whose speed changes from round to
    /// round. If `disturbed` is true, one in twenty measurements takes up to a fifth longer.
    fn measured(costs: &[f64], sd: f64, disturbed: bool, random: &mut fastrand::Rng) -> Vec<Vec<f64>> {
        let rounds: Vec<f64> = (0..ROUNDS).map(|_| 0.03 * normal(random)).collect();
        let one = |cost: &f64, round: &f64, random: &mut fastrand::Rng| {
            let hit = if disturbed && random.f64() < 0.05 { 0.2 * random.f64() } else { 0.0 };
            cost.ln() + round + sd * normal(random) + hit
        };
        costs.iter().map(|cost| rounds.iter().map(|round| one(cost, round, random)).collect()).collect()
    }

    /// Returns the order of the alternatives by their trimmed mean, and the group of each alternative in that order.
    fn ranked(values: &[Vec<f64>]) -> (Vec<usize>, Vec<usize>) {
        let mut order: Vec<usize> = (0..values.len()).collect();
        let middle = |i: &usize| Trimmed::of(&values[*i]).mean;
        order.sort_by(|a, b| middle(a).total_cmp(&middle(b)));
        let test = PairwiseTest::new(order.len(), LEVEL, |i, j| {
            PairDifference::of(&values[order[i]], &values[order[j]], 3).map(|apart| apart.chance())
        });
        (order, test.groups())
    }

    #[test]
    fn equal_alternatives_are_told_apart_in_at_most_five_of_a_hundred_comparisons() {
        let mut random = fastrand::Rng::with_seed(11);
        // The test has three cases: all costs are equal, the costs form three clusters, and the costs are equal in
        // pairs. From the first case to the last, fewer pairs have equal costs.
        let clusters = [20.0, 20.0, 20.0, 21.5, 21.5, 21.5, 21.5, 23.0, 23.0, 23.0];
        let pairs = [20.0, 20.0, 21.5, 21.5, 23.0, 23.0, 24.5, 24.5, 26.0, 26.0];
        for (costs, disturbed) in [([20.0; 10], false), (clusters, true), (pairs, false)] {
            let wrong = (0..DRAWS).filter(|_| {
                let (order, groups) = ranked(&measured(&costs, 0.01, disturbed, &mut random));
                let group = |i: usize| order.iter().position(|o| *o == i).map(|at| groups[at]);
                (0..10).any(|i| (0..i).any(|j| costs[i] == costs[j] && group(i) != group(j)))
            });
            let wrong = wrong.count();
            println!("{costs:?} disturbed {disturbed}: {wrong} of {DRAWS} tell equal ones apart");
            assert!(wrong <= DRAWS * 7 / 100, "{wrong} of {DRAWS}: {costs:?}");
        }
    }

    /// Ten servers cost 20.0 to 22.0 µs per request in three groups, and measurements scatter by 0.5 or 1 %.
    #[test]
    fn planted_groups_come_out_in_their_order() {
        let costs = [20.0, 20.0, 20.0, 21.0, 21.0, 21.0, 21.0, 22.0, 22.0, 22.0];
        let planted = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2];
        for (sd, disturbed, least) in [(0.01, false, 95), (0.005, true, 60)] {
            let mut random = fastrand::Rng::with_seed(12);
            let right = (0..DRAWS).filter(|_| {
                let (order, groups) = ranked(&measured(&costs, sd, disturbed, &mut random));
                order.iter().zip(&groups).all(|(i, group)| planted[*i] == *group)
            });
            let right = right.count();
            println!("sd {sd} disturbed {disturbed}: {right} of {DRAWS} come out as planted");
            assert!(right >= DRAWS * least / 100, "{right} of {DRAWS} at {sd}");
        }
    }

    /// The costs of ten servers are 20.0 to 22.0 µs per request, in equal steps of 1.1 %.
    #[test]
    fn a_row_of_servers_comes_out_in_its_order() {
        let costs: Vec<f64> = (0..10).map(|i| 20.0 + 2.0 * f64::from(i) / 9.0).collect();
        let (mut apart, mut ordered) = (0, 0);
        for seed in 0..100 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (order, groups) = ranked(&measured(&costs, 0.002, false, &mut random));
            ordered += usize::from(order.is_sorted());
            apart += usize::from(order.is_sorted() && groups == (0..10).collect::<Vec<_>>());
        }
        println!("{ordered} of 100 in order, {apart} in ten groups");
        assert!(ordered >= 99 && apart >= 95, "{ordered} {apart}");
    }

    #[test]
    fn two_starts_of_one_server_tie_in_95_of_100_comparisons() {
        let mut random = fastrand::Rng::with_seed(13);
        for disturbed in [false, true] {
            let tied = (0..1000).filter(|_| {
                let values = measured(&[20.0, 20.0], 0.01, disturbed, &mut random);
                PairDifference::of(&values[0], &values[1], 3).unwrap().chance() > LEVEL
            });
            let tied = tied.count();
            println!("disturbed {disturbed}: {tied} of 1000 A/A pairs tie");
            assert!(tied >= 940, "{tied} of 1000");
        }
    }

    /// A noisy alternative does not widen the intervals of pairs of other alternatives.
    #[test]
    fn each_pair_has_its_own_scatter() {
        let mut random = fastrand::Rng::with_seed(14);
        let mut wrong = 0;
        for _ in 0..DRAWS {
            let mut values = measured(&[20.0; 6], 0.003, false, &mut random);
            values[5].iter_mut().for_each(|v| *v += 0.05 * normal(&mut random));
            let (_, groups) = ranked(&values);
            wrong += usize::from(groups.iter().any(|group| *group > 0));
        }
        assert!(wrong <= DRAWS * 7 / 100, "{wrong} of {DRAWS}");
    }

    #[test]
    fn the_number_of_pairs_that_can_be_equal_falls_with_each_difference() {
        let mut test = PairwiseTest { differs: vec![vec![false; 4]; 4] };
        assert_eq!(test.most_equal(), 6);
        (test.differs[0][3], test.differs[3][0]) = (true, true);
        assert_eq!(test.most_equal(), 3, "three neighbours");
        (test.differs[0][2], test.differs[2][0]) = (true, true);
        assert_eq!(test.most_equal(), 3, "the last three");
        (test.differs[1][3], test.differs[3][1]) = (true, true);
        assert_eq!(test.most_equal(), 2, "two pairs");
        assert_eq!(test.groups(), [0, 0, 0, 0], "a chain of ties is one group");
        (test.differs[1][2], test.differs[2][1]) = (true, true);
        assert_eq!((test.most_equal(), test.groups()), (2, vec![0, 0, 1, 1]));
        assert_eq!(PairwiseTest::new(0, LEVEL, |_, _| None).groups(), Vec::<usize>::new());
    }

    #[test]
    fn missing_rounds_leave_the_others() {
        let a = [1.0, f64::NAN, 3.0, 4.0, 5.0];
        let b = [1.5, 2.5, 3.5, 4.5, f64::NAN];
        let apart = PairDifference::of(&a, &b, 3).unwrap();
        assert_eq!((apart.rounds, apart.error, apart.chance()), (3, 0.0, 0.0));
        assert_eq!(PairDifference::of(&a, &b, 4), None);
        assert!((average(&[apart.mean]) - 0.5).abs() < 1e-12);
    }
}
