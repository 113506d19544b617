//! Division of the budget among searches and turns, and the order of the turns. All functions are pure.

use judge::thresholds::FEWEST_WINDOWS;

use crate::search::{SEARCH_OVERHEAD_S, SHORTEST_SEARCH_S};
use crate::servers::START_S;

/// Share of the budget for the capacity searches. The turns (alternating measurements of the servers) use the remaining
/// budget. The errors of searches and turns shrink with the square root of their time. The sum of the errors of
/// searches and turns is therefore smallest if both get equal shares.
const SEARCH_SHARE: f64 = 0.5;
/// Maximum length of a search, seconds. A longer search would hardly find a different capacity.
const MAX_SEARCH_S: f64 = 120.0;
/// Number of rounds for which the turns of the servers are planned. The evaluation leaves out the four most extreme of
/// twelve values, so eight remain.
const PREFERRED_ROUNDS: f64 = 12.0;
/// Maximum number of rounds, in each of which every server takes a turn. With more rounds, the confidence intervals
/// would hardly become narrower.
const MAX_ROUNDS: u32 = 40;
/// Shortest and longest measurement of a server in one of its turns, seconds.
const WINDOW_S: (f64, f64) = (0.4, 3.0);
/// Time of a server's turn in addition to its start, warm-up and measurement, seconds. In the additional time, the
/// agents start, the last answers arrive, and the server ends.
const TURN_OVERHEAD_S: f64 = 0.6;

/// Returns the shortest useful budget for `entries` servers, seconds, given the warm-up of each load.
pub fn least_budget_s(entries: usize, warm_ups_s: impl Iterator<Item = f64>) -> f64 {
    // The first server takes two turns per round.
    let turns_s =
        |warm_up_s: f64| FEWEST_WINDOWS as f64 * (entries + 1) as f64 * turn_s(WINDOW_S.0, START_S, warm_up_s);
    let search_s = entries as f64 * (SHORTEST_SEARCH_S + SEARCH_OVERHEAD_S + START_S);
    warm_ups_s.map(|warm_up_s| (search_s / SEARCH_SHARE).max(turns_s(warm_up_s) / (1.0 - SEARCH_SHARE))).sum()
}

/// Returns the budget of the next search, seconds. `left` is the number of remaining searches, and `spent_s` is the
/// time that all earlier searches took. The next search needs `around_s` seconds in addition to its budget.
pub(super) fn search_s(budget_s: f64, spent_s: f64, left: usize, around_s: f64) -> f64 {
    let each_s = (SEARCH_SHARE * budget_s - spent_s) / left.max(1) as f64;
    (each_s - around_s).clamp(SHORTEST_SEARCH_S, MAX_SEARCH_S)
}

/// Returns the expected overhead of the next search, seconds. The result is the larger of two values: `last_s`, and the
/// mean of `last_s` and the earlier expectation `before_s`. A machine that was slow once is often slow again.
pub(super) fn next_overhead_s(before_s: f64, last_s: f64) -> f64 {
    last_s.max(0.5 * (before_s + last_s)).max(0.0)
}

/// Returns the length of the measurement in a turn, seconds, from the time for all turns and the number of turns per
/// round. `start_s` and `warm_up_s` are means over the servers.
pub(super) fn window_s(left_s: f64, turns: usize, start_s: f64, warm_up_s: f64) -> f64 {
    let each_s = left_s / (PREFERRED_ROUNDS * turns.max(1) as f64);
    (each_s - turn_s(0.0, start_s, warm_up_s)).clamp(WINDOW_S.0, WINDOW_S.1)
}

/// Returns the expected length of a server's turn (start, warm-up and one measurement), seconds.
pub(super) fn turn_s(window_s: f64, start_s: f64, warm_up_s: f64) -> f64 {
    start_s + warm_up_s + window_s + TURN_OVERHEAD_S
}

/// Returns true if the remaining time is enough for another round. The first round always takes place, and no round
/// follows [`MAX_ROUNDS`]. `rounds` is the number of finished rounds, and the last of them took `last_s`.
pub(super) fn fits(left_s: f64, rounds: u32, last_s: f64) -> bool {
    rounds == 0 || rounds < MAX_ROUNDS && left_s >= last_s
}

/// Returns the random order of a round. Every second round reverses the order of the preceding round, so that a steady
/// drift of the machine affects all servers alike.
pub(super) fn order(seed: u64, round: u32, count: usize) -> Vec<usize> {
    let pair = u64::from(round / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = fastrand::Rng::with_seed(seed.wrapping_add(pair));
    let mut order: Vec<usize> = (0..count).collect();
    random.shuffle(&mut order);
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_random_and_balanced() {
        for seed in 0..20 {
            for pair in 0..10 {
                let [first, second] = [order(seed, 2 * pair, 7), order(seed, 2 * pair + 1, 7)];
                let back: Vec<usize> = second.into_iter().rev().collect();
                assert_eq!(first, back);
            }
        }
        let first: std::collections::BTreeSet<Vec<usize>> = (0..100).map(|seed| order(seed, 0, 7)).collect();
        assert!(first.len() > 90 && order(1, 0, 7) != order(1, 2, 7));
        assert_eq!(order(3, 4, 5), order(3, 4, 5));
    }

    #[test]
    fn ten_entries_have_twelve_rounds_within_ten_minutes() {
        let search = search_s(600.0, 0.0, 10, 0.7);
        assert!((29.0..30.0).contains(&search), "{search}");
        let window = window_s(300.0, 11, 0.2, 0.5);
        let round = 11.0 * turn_s(window, 0.2, 0.5);
        assert!((WINDOW_S.0..=WINDOW_S.1).contains(&window) && 12.0 * round <= 300.1, "{window} {round}");
        assert!(fits(0.0, 0, f64::INFINITY) && fits(10.0, 3, 9.0) && !fits(8.0, 3, 9.0) && !fits(1e9, MAX_ROUNDS, 1.0));
        assert_eq!(search_s(10.0, 100.0, 0, 0.0), SHORTEST_SEARCH_S);
    }

    /// Each search takes 1.2 s in addition to its own budget. All searches together must stay within their half of the
    /// total budget.
    #[test]
    fn searches_of_a_slow_machine_keep_their_share() {
        let (mut spent_s, mut overhead_s) = (0.0, SEARCH_OVERHEAD_S);
        for left in (1..=4).rev() {
            let search_s = search_s(80.0, spent_s, left, overhead_s);
            spent_s += search_s + 1.2;
            overhead_s = next_overhead_s(overhead_s, 1.2);
        }
        assert!((39.9..=40.01).contains(&spent_s), "{spent_s}");
        assert_eq!((next_overhead_s(2.0, 1.0), next_overhead_s(0.5, -1.0)), (1.5, 0.0));
    }

    #[test]
    fn the_shortest_budget_has_room_for_searches_and_three_rounds() {
        for entries in [1, 2, 10] {
            let least = least_budget_s(entries, [0.5, 2.0].into_iter());
            let turns: f64 =
                [0.5, 2.0].iter().map(|warm_up| 3.0 * (entries + 1) as f64 * turn_s(0.4, 0.2, *warm_up)).sum();
            assert!(least >= 2.0 * turns && least / 2.0 >= 2.0 * entries as f64 * 3.7, "{least}");
        }
        assert!(least_budget_s(2, [0.5].into_iter()) < 32.0);
    }
}
