//! Simulated comparisons of saved runs. Several runs of each server decide questions that a single run leaves open.

use fastrand::Rng;
use run::{ComparisonResult, Run};
use stats::normal;

use super::Pairing::Kept;
use super::compare;
use super::tests::windows;

/// Number of comparisons for each number of runs.
const DRAWS: u64 = 50;
/// Relative standard deviation of the CPU time between runs of one server.
const BETWEEN_RUNS: f64 = 0.01;

/// Makes saved runs with twenty windows each. Each run has its own memory layout, and therefore its own CPU time per
/// request.
fn runs(random: &mut Rng, count: usize, cpu_us: f64) -> Vec<Run> {
    let one = |_| {
        let cpu_us = cpu_us * (BETWEEN_RUNS * normal(random)).exp();
        windows(random, 20, cpu_us)
    };
    (0..count).map(one).collect()
}

/// Compares `DRAWS` pairs of simulated servers. Returns the number of comparisons that find the new server slower, and
/// the number that find it faster, by its CPU time per request.
fn worded(count: usize, slower: f64) -> [usize; 2] {
    let word = |seed: u64| {
        let mut random = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x4ee7);
        let [old, new] = [400.0, 400.0 * (1.0 + slower)].map(|cpu_us| runs(&mut random, count, cpu_us));
        let c = compare(("old", &old), ("new", &new), 0.03, Kept).unwrap();
        c.comparisons.into_iter().find(|c| c.figure == super::SERVER_CPU).unwrap().word
    };
    let words: Vec<ComparisonResult> = (0..DRAWS).map(word).collect();
    [ComparisonResult::Slower, ComparisonResult::Faster].map(|is| words.iter().filter(|word| **word == is).count())
}

#[test]
fn four_saved_runs_of_each_server_decide_what_one_cannot() {
    let ([one, _], [four, wrong]) = (worded(1, 0.04), worded(4, 0.04));
    let (equal_one, equal_four) = (worded(1, 0.0), worded(4, 0.0));
    println!(
        "4 % slower: one run {one} of {DRAWS}, four runs {four}; equal: one run {equal_one:?}, four runs {equal_four:?}"
    );
    assert!(four >= 45 && one <= 40 && wrong == 0, "{one} {four} {wrong}");
    // At the significance level of the CPU time, about 1.25 of 50 comparisons of equal servers are wrong. More than
    // five comparisons are wrong in about one of a hundred executions of this test.
    for equal in [equal_one, equal_four] {
        assert!(equal.iter().sum::<usize>() <= 5, "{equal:?}");
    }
}
