//! Simulations that count wrong and missed results: comparisons of equal servers, and of servers that differ by a known
//! amount.

use fastrand::Rng;
use run::{ComparisonOutcome, ComparisonResult, Run, Trial};
use stats::normal;

use super::Pairing::InTurns;
use super::tests::{slow, windows, word};
use super::{compare, compare_at};

/// Makes a run with few requests per window, and with histograms. The response times are exponential with the mean
/// `mean_us`.
fn kept(random: &mut Rng, n: usize, requests: usize, mean_us: f64) -> Run {
    let mut run = windows(random, n, 400.0);
    for trial in &mut run.trials {
        let mut hist = run::Hist::new();
        (0..requests).for_each(|_| hist.record_ns((-random.f64().max(1e-12).ln() * mean_us * 1e3) as u64));
        trial.latency_us = run::Summary::of(&hist);
        trial.histograms.insert("response".into(), hist);
    }
    run
}

#[test]
fn percentiles_are_those_of_all_windows_together() {
    let p999 = |c: &run::Comparison| c.comparisons.iter().find(|c| c.figure == "p99.9").unwrap().clone();
    let (mut covered, mut told, mut off) = (0, 0, 0.0);
    for seed in 0..20 {
        let mut random = Rng::with_seed(seed);
        let [a, b, c] = [1000.0, 1000.0, 1250.0].map(|mean| kept(&mut random, 40, 100, mean));
        let with =
            |other: &Run| compare(("a", std::slice::from_ref(&a)), ("b", std::slice::from_ref(other)), 0.03, InTurns);
        let with_slower = with(&c).unwrap();
        let (same, slower) = (p999(&with(&b).unwrap()), p999(&with_slower));
        // A window has only a hundred response times, and the longest of them is not the p99.9. The longest of 100 is
        // on average 5.2 times the mean, near the p99 (4.6 times the mean); the p99.9 is 6.9 times the mean.
        off += same.old / (1000.0 * 1000.0f64.ln()) - 1.0;
        covered += usize::from(slower.low.unwrap() <= 1.25 && 1.25 <= slower.high.unwrap());
        told += usize::from(matches!(same.word, ComparisonResult::Faster | ComparisonResult::Slower));
        let curve = with_slower.curves.response_us;
        assert!(curve.len() >= 6 && curve.iter().filter(|p| p.new > p.old).count() >= 5, "{curve:?}");
    }
    println!("p99.9 of merged windows: bias {:.3}, covered {covered} of 20, told apart {told} of 20", off / 20.0);
    assert!((off / 20.0).abs() < 0.06 && covered >= 17 && told <= 1, "{off} {covered} {told}");
}

/// Function that disturbs a window. The last argument is the window's position in the run, 0 to 1.
type Disturbance = fn(&mut Rng, &mut Trial, f64);

/// Two equal servers are compared on four simulated machines. The first machine is quiet, the speed of the second
/// machine drifts, and other programs disturb the last two machines.
#[test]
fn equal_servers_get_a_word_in_at_most_five_of_a_hundred_comparisons() {
    let disturbances: [(&str, Disturbance); 4] = [
        ("quiet", |_, _, _| ()),
        ("drift", |_, trial, at| slow(trial, 1.0 + 0.1 * at)),
        ("disturbed", |random, trial, _| slow(trial, if random.f64() < 0.15 { 1.0 + random.f64() } else { 1.0 })),
        ("wild", |random, trial, _| slow(trial, (0.2 * normal(random) / random.f64().max(0.1)).exp())),
    ];
    for (name, disturb) in disturbances {
        for n in [7, 20] {
            let mut undecided = 0;
            let told = (0..200).filter(|seed| {
                let mut random = Rng::with_seed(5000 + seed);
                let [a, b] = [0, 1].map(|_| {
                    let mut run = windows(&mut random, n, 400.0);
                    let places = run.trials.iter_mut().enumerate();
                    places.for_each(|(at, trial)| disturb(&mut random, trial, at as f64 / n as f64));
                    run
                });
                let c = compare(("a", &[a]), ("b", &[b]), 0.03, InTurns).unwrap();
                undecided += usize::from(c.outcome == ComparisonOutcome::Undecided);
                let deciding = c.comparisons.iter().filter(|c| c.role != run::FigureRole::Listed);
                deciding.into_iter().any(|c| matches!(c.word, ComparisonResult::Faster | ComparisonResult::Slower))
            });
            let told = told.count();
            println!("A/A, {name}, {n} windows: {told} of 200 told apart, {undecided} undecided");
            // The expected number of wrong results is 10 of 200; 16 is two standard deviations more.
            assert!(told <= 16, "{name}: {told}");
            // Twenty windows with a scatter of 2 % suffice to decide that equal servers do not differ, even on a
            // machine whose speed drifts.
            let decides = n == 20 && matches!(name, "quiet" | "drift");
            assert!(!decides || undecided <= 16, "{name}: {undecided} undecided");
        }
    }
}

/// The new server's median is worse by exactly the threshold, and its other figures are equal. The new server passes in
/// at most 5 of 100 comparisons.
#[test]
fn a_server_that_is_worse_by_the_threshold_seldom_passes() {
    for n in [7, 20] {
        let passes = |seed: &u64| {
            let mut random = Rng::with_seed(7000 + seed);
            let [a, mut b] = [0, 1].map(|_| windows(&mut random, n, 400.0));
            b.trials.iter_mut().for_each(|trial| trial.latency_us.p50 *= 1.03);
            let c = compare(("a", &[a]), ("b", &[b]), 0.03, InTurns).unwrap();
            c.outcome == ComparisonOutcome::Passed
        };
        let passed = (0..200).filter(passes).count();
        println!("worse by the threshold, {n} windows: {passed} of 200 pass");
        assert!(passed <= 16, "{passed}");
    }
}

/// Two equal servers are compared. The data is analysed four times while it grows. The four analyses together err as
/// seldom as a single analysis.
#[test]
fn looks_at_growing_data_err_as_seldom_as_one() {
    let told = (0..200).filter(|seed| {
        let mut random = Rng::with_seed(21_000 + seed);
        let [a, b] = [0, 1].map(|_| windows(&mut random, 28, 400.0));
        (1..=4).any(|look| {
            let until = |run: &Run| Run { trials: run.trials[..7 * look].to_vec(), ..run.clone() };
            let looks: Vec<f64> = (1..=look).map(|at| at as f64 / 4.0).collect();
            let c = compare_at(("a", &[until(&a)]), ("b", &[until(&b)]), 0.03, (InTurns, &looks)).unwrap();
            let mut deciding = c.comparisons.iter().filter(|c| c.role != run::FigureRole::Listed);
            deciding.any(|c| matches!(c.word, ComparisonResult::Faster | ComparisonResult::Slower))
        })
    });
    let told = told.count();
    println!("A/A, four looks: {told} of 200 told apart");
    assert!(told <= 16, "{told}");
}

/// The smallest change that a comparison states is found in 19 of 20 comparisons of servers that differ by this change.
#[test]
fn the_stated_smallest_change_is_shown_in_nineteen_of_twenty() {
    let stated = |seed: u64| word(400.0, 400.0, seed).smallest_change.unwrap();
    let change = stats::average(&(0..40).map(stated).collect::<Vec<_>>());
    let shown = |seed: &u64| {
        let c = word(400.0, 400.0 * (1.0 + change), 300 + seed);
        c.comparisons.iter().any(|c| c.figure == "server CPU per request" && c.word == ComparisonResult::Slower)
    };
    let shown = (0..200).filter(shown).count();
    println!("smallest change {:.2} %: shown in {shown} of 200", 100.0 * change);
    assert!((180..=199).contains(&shown), "{shown}");
    let c = word(400.0, 400.0, 5);
    assert_eq!(c.smallest_change_of.as_deref(), Some("server CPU per request"));
    let least = c.comparisons.iter().filter_map(|c| c.smallest_change).fold(f64::INFINITY, f64::min);
    assert!(c.smallest_change.is_some_and(|change| (0.005..0.05).contains(&change) && change >= least), "{c:?}");
    // The windows have no length in this run, so the needed time is unknown.
    assert!(c.one_percent_s.is_none() && c.comparisons[0].one_percent.is_some(), "{c:?}");
}

#[test]
fn planted_five_and_two_percent_are_found() {
    let found = |new: f64| {
        let slower = |s: &u64| {
            let c = word(400.0, new, 1000 + s);
            c.comparisons.iter().any(|c| c.figure == "server CPU per request" && c.word == ComparisonResult::Slower)
        };
        (1..=50).filter(slower).count()
    };
    let (five, two) = (found(420.0), found(408.0));
    println!("planted 5 %: {five} of 50; 2 %: {two} of 50");
    assert!(five >= 49 && two >= 40, "{five} {two}");
    let c = word(400.0, 420.0, 7);
    assert!(c.regression && c.decided_by.is_some() && c.verdict == ComparisonResult::Slower, "{c:?}");
    assert!(!word(420.0, 400.0, 7).regression);
}
