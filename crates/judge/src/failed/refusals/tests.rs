//! Tests of the signs of a rate limit in refused requests.

use super::*;

/// Builds a window of 3 s in steps of a tenth of a second. Clients send at a random rate of 200/s to 800/s in each
/// step. `good` returns the number of good answers among the requests of a step.
fn window(random: &mut fastrand::Rng, good: impl Fn(f64, &mut fastrand::Rng) -> f64) -> Trial {
    let mut trial = Trial::default();
    let (mut sum, mut refused) = (0.0, 0.0);
    for _ in 0..30 {
        let all = (20.0 + 60.0 * random.f64()).round();
        let bad = all - good(all, random).min(all);
        trial.measured.series_completed.push(10.0 * all);
        trial.measured.series_refused.push(10.0 * bad);
        (sum, refused) = (sum + all, refused + bad);
    }
    (trial.measured.tally.completed, trial.measured.tally.unexpected_status) = (sum as u64, refused as u64);
    trial
}

/// In a single load, a rate limiter lets 9 to 11 requests pass per tenth of a second. A failing server fails half of
/// all requests regularly, or a fifth of them at random.
#[test]
fn a_window_tells_a_limiter_from_a_server_that_fails_a_share() {
    let mut random = fastrand::Rng::with_seed(11);
    let coin = |all: f64, share: f64, random: &mut fastrand::Rng| {
        (0..all as u32).filter(|_| random.f64() >= share).count() as f64
    };
    let (mut limiters, mut failing, mut wrong) = (0, 0, 0);
    for _ in 0..300 {
        let limiter = window(&mut random, |_, random| 9.0 + (3.0 * random.f64()).floor());
        limiters += usize::from(within(&limiter) == Within::Steady);
        let in_turns = window(&mut random, |all, _| (all / 2.0).ceil());
        let at_random = window(&mut random, |all, random| coin(all, 0.2, random));
        failing += [&in_turns, &at_random].iter().filter(|trial| within(trial) == Within::Follows).count();
        wrong += usize::from(within(&limiter) == Within::Follows);
        wrong += [&in_turns, &at_random].iter().filter(|trial| within(trial) == Within::Steady).count();
    }
    println!("{limiters} of 300 limiters and {failing} of 600 failing servers are told, {wrong} of 900 are wrong");
    assert!(limiters >= 290 && failing >= 580 && wrong == 0, "{limiters} {failing} {wrong}");
}

/// There are six loads; the heaviest is 3 to 88 times the lightest. The server answers some requests with 429: a
/// constant share of every load, or all requests beyond a limit. An earlier version of loadline concluded from the
/// status 429 alone that there is a rate limit.
#[test]
fn a_constant_share_of_all_loads_is_no_limit() {
    let mut random = fastrand::Rng::with_seed(22);
    let (mut failing, mut limiters) = (0, 0);
    for _ in 0..300 {
        let (step, share) = (1.25 + random.f64() * 1.2, 0.02 + 0.6 * random.f64());
        let rates: Vec<f64> = (0..6).map(|i| 200.0 * f64::powi(step, i)).collect();
        let limit = rates[0] * (0.3 + 0.6 * random.f64());
        let mut loads = |is_refused: &dyn Fn(f64) -> f64| {
            let mut load = |rate: f64| {
                let bad = (0..rate as u64).filter(|_| random.f64() < is_refused(rate)).count();
                let mut trial = Trial::default();
                trial.rates.completed_rate = rate;
                (trial.measured.tally.completed, trial.measured.tally.unexpected_status) = (rate as u64, bad as u64);
                trial
            };
            let all: Vec<Trial> = rates.iter().map(|rate| load(*rate)).collect();
            share_stays(&all.iter().collect::<Vec<_>>())
        };
        failing += usize::from(loads(&|_| share));
        limiters += usize::from(loads(&|rate| 1.0 - limit / rate));
    }
    println!("{failing} of 300 failing servers and {limiters} of 300 limiters refuse a constant share");
    assert!(failing >= 290 && limiters == 0, "{failing} {limiters}");
}

#[test]
fn a_share_grows_only_beyond_chance() {
    let trial = |rate: f64, completed: u64, refused: u64| {
        let mut trial = Trial::default();
        trial.rates.completed_rate = rate;
        (trial.measured.tally.completed, trial.measured.tally.unexpected_status) = (completed, refused);
        trial
    };
    let grows = |a: &Trial, b: &Trial| share_grows(&[a, b]);
    let light = trial(100.0, 200, 100);
    assert!(!grows(&light, &trial(1000.0, 2000, 1010)), "half at each load");
    assert!(grows(&light, &trial(1000.0, 2000, 1900)));
    assert!(!grows(&trial(1000.0, 2000, 1000), &trial(100.0, 200, 190)), "more of a lighter load");
}

/// The server fails a fifth of all requests. Other programs disturbed the trial with the lightest load.
#[test]
fn a_share_that_stays_the_same_is_seen_in_disturbed_trials_too() {
    let trial = |rate: f64| {
        let mut trial = Trial::default();
        trial.rates.completed_rate = rate;
        (trial.measured.length_s, trial.measured.tally.completed) = (1.0, rate as u64);
        trial.measured.tally.unexpected_status = trial.measured.tally.completed / 5;
        trial
    };
    let (light, heavy) = (trial(700.0), trial(19_000.0));
    let constant = |completed: &[&Trial]| Refusals::of(std::iter::once(&heavy), completed).share_is_constant;
    assert!(constant(&[&light, &heavy]) && !constant(&[&heavy]));
}
