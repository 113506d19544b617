//! Simulated comparisons of saved runs, and of the runs that comparisons of live servers saved. Several runs of each
//! server decide questions that a single run leaves open.

use fastrand::Rng;
use run::{Column, ComparisonResult, CounterId, Run};
use stats::normal;

use super::Pairing::Kept;
use super::tests::{slow, windows};
use super::{compare, sort_by_time};

/// Number of comparisons for each number of runs.
const DRAWS: u64 = 50;
/// Relative standard deviation of the CPU time between runs of one server.
const BETWEEN_RUNS: f64 = 0.01;

/// Relative standard deviation of the machine's speed between comparisons of live servers, which may be days apart.
const BETWEEN_COMPARISONS: f64 = 0.05;
/// Relative standard deviation of each window of a live server, in addition to that of all windows.
const OF_A_WINDOW: f64 = 0.04;

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
    words(|random| [400.0, 400.0 * (1.0 + slower)].map(|cpu_us| runs(random, count, cpu_us)))
}

/// Counts the words "slower" and "faster" about the CPU time per request, in `DRAWS` comparisons of the runs that
/// `both` makes.
fn words(both: impl Fn(&mut Rng) -> [Vec<Run>; 2]) -> [usize; 2] {
    let word = |seed: u64| {
        let mut random = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x4ee7);
        let [mut old, mut new] = both(&mut random);
        [&mut old, &mut new].into_iter().for_each(|runs| sort_by_time(runs));
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

/// Processes of the servers in repeated comparisons.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Processes {
    GoOn,
    /// Each comparison starts new processes, whose CPU time scatters by [`BETWEEN_RUNS`].
    StartAnew,
}

/// Makes the runs that `count` comparisons of two live servers save, in the reverse order of time. The machine has
/// another speed in each comparison, and the windows of each comparison take turns.
fn comparisons(random: &mut Rng, count: usize, slower: f64, processes: Processes) -> [Vec<Run>; 2] {
    let mut both = [Vec::new(), Vec::new()];
    for comparison in (0..count).rev() {
        let speed = (BETWEEN_COMPARISONS * normal(random)).exp();
        for (side, runs) in both.iter_mut().enumerate() {
            let layout = if processes == Processes::GoOn { 0.0 } else { BETWEEN_RUNS * normal(random) };
            let factor = speed * layout.exp() * (1.0 + slower * side as f64);
            let mut run = saved(windows(random, 20, 400.0), 1e4 * comparison as f64, side, processes);
            run.trials.iter_mut().for_each(|trial| slow(trial, factor * (OF_A_WINDOW * normal(random)).exp()));
            runs.push(run);
        }
    }
    both
}

/// Returns `run` with the times of loads and the CPU times of processes that one side of a comparison records. The
/// comparison begins at `begin_s`, and its two sides take turns.
fn saved(mut run: Run, begin_s: f64, side: usize, processes: Processes) -> Run {
    run.plan.command = "compare".into();
    for (at, trial) in run.trials.iter_mut().enumerate() {
        let length_s = trial.measured.window.end_s;
        let began_s = begin_s + length_s * (2 * at + side) as f64;
        trial.measured.load_began_unix_s = Some(began_s);
        let used_us = 1e5 * if processes == Processes::GoOn { began_s } else { began_s - begin_s };
        let (counter, instance) = (CounterId("process.cpu".into()), "srv:100".to_owned());
        let values = [used_us, used_us + 1e5 * length_s].map(Some).into();
        let recording = &mut trial.server.as_mut().unwrap().recording;
        recording.columns.retain(|column| column.counter != counter);
        recording.columns.push(Column { counter, instance, values });
    }
    run
}

/// Removes the times of all windows, as in runs of earlier versions.
fn without_times([old, new]: [Vec<Run>; 2]) -> [Vec<Run>; 2] {
    let without = |mut run: Run| {
        run.trials.iter_mut().for_each(|trial| trial.measured.load_began_unix_s = None);
        run
    };
    [old, new].map(|runs| runs.into_iter().map(without).collect())
}

#[test]
fn four_comparisons_of_live_servers_together_decide_what_one_cannot() {
    let of = |count, slower| words(|random| comparisons(random, count, slower, Processes::GoOn));
    let ([one, _], [four, wrong], equal) = (of(1, 0.03), of(4, 0.03), of(4, 0.0));
    let [apart, _] = words(|random| without_times(comparisons(random, 4, 0.03, Processes::GoOn)));
    println!(
        "3 % slower: one comparison {one} of {DRAWS}, four together {four}, without their pairs {apart}; equal: {equal:?}"
    );
    assert!(four >= 45 && one <= 35 && apart <= 15 && wrong == 0, "{one} {four} {apart} {wrong}");
    assert!(equal.iter().sum::<usize>() <= 5, "{equal:?}");
}

#[test]
fn comparisons_of_new_processes_are_one_observation_each() {
    let of = |slower| words(|random| comparisons(random, 4, slower, Processes::StartAnew));
    let ([eight, _], equal) = (of(0.08), of(0.0));
    let [apart, _] = words(|random| without_times(comparisons(random, 4, 0.08, Processes::StartAnew)));
    println!(
        "8 % slower, new processes: four comparisons {eight} of {DRAWS}, without their pairs {apart}; equal: {equal:?}"
    );
    assert!(eight >= 40 && apart <= 25, "{eight} {apart}");
    assert!(equal.iter().sum::<usize>() <= 5, "{equal:?}");
}

/// The user may name the runs of both sides in different orders.
#[test]
fn runs_are_sorted_by_time() {
    let [mut old, mut new] = comparisons(&mut Rng::with_seed(1), 4, 0.0, Processes::GoOn);
    old.swap(0, 2);
    assert_eq!(super::repeated::pairing(&old, &new), Kept);
    [&mut old, &mut new].into_iter().for_each(|runs| sort_by_time(runs));
    assert_eq!(super::repeated::pairing(&old, &new), super::Pairing::InTurns);
    let [mut old, mut new] = comparisons(&mut Rng::with_seed(1), 2, 0.0, Processes::StartAnew);
    [&mut old, &mut new].into_iter().for_each(|runs| sort_by_time(runs));
    assert_eq!(super::repeated::pairing(&old, &new), super::Pairing::Repeated);
}

/// Memory hardly varies within a run, so one run gives no interval, however many windows it has. Three runs per side
/// give an interval.
#[test]
fn memory_of_repeated_runs_has_an_interval() {
    let mut random = Rng::with_seed(5);
    let mut with_memory = |bytes: f64| {
        let mut run = windows(&mut random, 4, 400.0);
        let value = run::Reading::Value(bytes);
        run.trials.iter_mut().for_each(|t| {
            t.server.get_or_insert_default().counters.insert(run::CounterId("process.rss".into()), value.clone());
        });
        run
    };
    let [a, b]: [Vec<Run>; 2] = [1e6, 2e6].map(|b| (0..3).map(|i| with_memory(b + 1e4 * f64::from(i))).collect());
    let memory = |a: &[Run], b: &[Run]| {
        let c = compare(("a", a), ("b", b), 0.03, Kept).unwrap();
        c.comparisons.into_iter().find(|c| c.figure == "memory").unwrap()
    };
    let (many, one) = (memory(&a, &b), memory(&a[..1], &b[..1]));
    assert!(many.low.is_some_and(|low| low > 1.8) && many.windows == (3, 3), "{many:?}");
    assert!(one.low.is_none() && (one.ratio - 2.0).abs() < 0.05, "{one:?}");
}

/// Two runs of one server may differ by 1 %. One run per side, however long, is no proof of a difference of 2 %, but
/// four runs per side are.
#[test]
fn a_single_run_that_was_kept_is_not_believed_beyond_what_runs_differ_by() {
    let mut random = Rng::with_seed(8);
    let mut runs = |us: f64, n: usize| (0..n).map(|_| windows(&mut random, 20, us)).collect::<Vec<Run>>();
    let [a, b] = [400.0, 408.0].map(|us| runs(us, 4));
    let cpu = |n: usize| {
        let c = compare(("a", &a[..n]), ("b", &b[..n]), 0.005, Kept).unwrap();
        c.comparisons.into_iter().find(|c| c.figure == "server CPU per request").unwrap()
    };
    let (one, four) = (cpu(1), cpu(4));
    assert_eq!(one.one_percent_of, Some(run::NeededData::Runs), "{one:?}");
    assert!(one.word == ComparisonResult::NotEnough && one.more.is_some_and(|more| more > 1.0), "{one:?}");
    assert!(four.word == ComparisonResult::Slower && (four.ratio - 1.02).abs() < 0.006, "{four:?}");
}

/// Three repeats of each side must show that the rate halved, although a rank test of three values per side is never
/// significant.
#[test]
fn three_repeats_a_side_show_what_is_plain() {
    let mut random = Rng::with_seed(9);
    let mut repeated = |us: f64| {
        let mut run = windows(&mut random, 24, us);
        run.trials.iter_mut().enumerate().for_each(|(at, trial)| trial.repeat = at as u32 / 8);
        run
    };
    let (a, b) = (repeated(400.0), repeated(800.0));
    let c = compare(("a", std::slice::from_ref(&a)), ("b", &[b]), 0.03, Kept).unwrap();
    assert!(c.regression && c.verdict == ComparisonResult::Slower, "{:?}", c.comparisons);
    let rate = c.comparisons.iter().find(|c| c.figure == "completed rate").unwrap();
    assert!((rate.ratio - rate.new / rate.old).abs() < 1e-12 && (rate.ratio - 0.5).abs() < 0.02, "{rate:?}");
    let same = compare(("a", &[a]), ("b", &[repeated(400.0)]), 0.03, Kept).unwrap();
    assert!(!same.regression, "{:?}", same.comparisons);
}
