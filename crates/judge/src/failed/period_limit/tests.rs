//! Tests of limits on the number of requests per period.

use run::{Run, TENTH_S, Trial};

use super::hold::{knows_period, refuses_for_a_time};
use super::*;
use crate::planted::PlantedRun;

/// Moment at which the first load of a made-up run begins, seconds since 1970.
const BEGIN_S: f64 = 1003.7;
/// Time between two loads, seconds.
const BETWEEN_S: f64 = 0.12;

/// Requests that a server answers and refuses in a tenth of a second.
type Answered = (f64, f64);

/// Replaces the answers of all loads by those of a server. For each tenth of a second, `answer` gets the moment
/// (seconds since 1970) and the number of requests. `answer` returns the numbers of answered and of refused requests.
fn answered_by(run: &mut Run, status: &str, mut answer: impl FnMut(f64, f64) -> Answered) {
    let mut now_s = BEGIN_S;
    for trial in &mut run.trials {
        let requests = TENTH_S * trial.rates.offered_rate.max(trial.rates.completed_rate);
        let steps = (trial.measured.window.length_s() / TENTH_S).round() as usize;
        let answers: Vec<Answered> = (0..steps).map(|i| answer(now_s + TENTH_S * i as f64, requests)).collect();
        trial.measured.load_began_unix_s = Some(now_s);
        now_s += trial.measured.window.end_s + BETWEEN_S;
        fill(trial, status, &answers);
    }
}

/// Writes the answers of each tenth of a second into a trial.
fn fill(trial: &mut Trial, status: &str, answers: &[Answered]) {
    let measured = &mut trial.measured;
    let refused: Vec<f64> = answers.iter().map(|(_, refused)| refused / TENTH_S).collect();
    measured.series_completed = answers.iter().map(|(good, refused)| (good + refused) / TENTH_S).collect();
    let sum = |rates: &[f64]| (TENTH_S * rates.iter().sum::<f64>()).round() as u64;
    let (all, bad) = (sum(&measured.series_completed), sum(&refused));
    if bad > 0 {
        (measured.series_failed, measured.series_refused) = (refused.clone(), refused);
    }
    for tally in [&mut measured.tally, &mut trial.tally] {
        (tally.completed, tally.unexpected_status) = (all, bad);
        tally.unexpected_statuses = [(status.to_owned(), bad)].into_iter().filter(|(_, n)| *n > 0).collect();
    }
    trial.rates.completed_rate = all as f64 / measured.length_s;
    trial.rates.goodput = (all - bad) as f64 / measured.length_s;
}

/// Makes a server that answers `limit` requests per period of `period_s` seconds, and refuses all others.
fn per_period(limit: f64, period_s: f64) -> impl FnMut(f64, f64) -> Answered {
    let (mut period, mut used) = (0.0, 0.0);
    move |now_s, requests| {
        let current = (now_s / period_s).floor();
        if current > period {
            (period, used) = (current, 0.0);
        }
        let good = requests.min(limit - used);
        used += good;
        (good, requests - good)
    }
}

/// Makes the run of a search on a server that can answer 3,000 requests per second. The search lowers the rate in steps
/// to 9 % of this rate, and then raises it again.
fn search() -> PlantedRun {
    PlantedRun::new(330.0, 3000.0).steps(&[1, 2]).rates(&[0.8, 0.56, 0.39, 0.27, 0.19, 0.13, 0.09, 0.11, 0.13, 0.16])
}

fn judged(status: &str, answer: impl FnMut(f64, f64) -> Answered) -> Run {
    let mut run = search().run();
    answered_by(&mut run, status, answer);
    crate::judge(&mut run);
    run
}

/// Each window of 0.5 to 2 s sees only good answers or only refusals. An earlier version of loadline named no cause,
/// and reported a capacity of 565/s.
#[test]
fn a_limit_of_requests_per_period_is_told_with_its_rate_over_a_long_time() {
    for (status, least) in [("429", 0.9), ("503", 0.8)] {
        let run = judged(status, per_period(2000.0, 10.0));
        let (verdict, capacity) = (&run.findings.bottleneck, run.findings.capacity.as_ref().unwrap());
        assert!(verdict.id == "server-rate-limit" && verdict.confidence >= least, "{verdict:#?}");
        assert!(verdict.sentence.contains("2,000 requests per 10 s (200/s)"), "{}", verdict.sentence);
        assert!(verdict.advice.len() == 1 && verdict.advice[0].contains("2,000 requests per 10 s"), "{verdict:#?}");
        assert!(capacity.held && (capacity.rate - 200.0).abs() < 1.0, "{capacity:?}");
        assert!(capacity.low.is_some_and(|low| low > 180.0) && capacity.high.is_some_and(|high| high < 220.0));
        assert!(capacity.method.contains("2,000 requests per 10 s"), "{}", capacity.method);
    }
}

/// A period of 1 s is shorter than a window.
#[test]
fn a_short_period_is_told_too() {
    for (limit, period_s, text) in [(100.0, 1.0, "100 requests per 1 s"), (60.0, 0.5, "60 requests per 0.5 s")] {
        let run = judged("429", per_period(limit, period_s));
        let verdict = &run.findings.bottleneck;
        assert!(verdict.sentence.contains(text), "{verdict:#?}");
        let capacity = run.findings.capacity.as_ref().unwrap();
        assert!((capacity.rate * period_s / limit - 1.0).abs() < 0.02, "{capacity:?}");
    }
}

/// A token bucket lets 200 requests per second pass at any time, so good answers come between the refusals.
#[test]
fn a_limit_that_lets_some_requests_pass_at_any_time_has_no_period() {
    for burst in [0.0, 500.0] {
        let mut tokens = burst;
        let run = judged("429", |_, requests| {
            tokens = (tokens + 20.0_f64).min(burst.max(20.0));
            let good = requests.min(tokens);
            tokens -= good;
            (good, requests - good)
        });
        assert_eq!(PeriodLimit::of(&run, None), None, "with a burst of {burst}");
        let is_limit = run.findings.bottleneck.id == "server-rate-limit";
        assert!(is_limit || burst > 0.0, "{:#?}", run.findings.bottleneck);
    }
}

/// A server that fails from time to time has bursts of different length, or answers different numbers of requests.
#[test]
fn refusals_from_time_to_time_are_no_limit_per_period() {
    let mut random = fastrand::Rng::with_seed(5);
    let mut wrong = 0;
    for _ in 0..200 {
        let (mut fails, mut until_s) = (false, BEGIN_S);
        let mut run = search().run();
        answered_by(&mut run, "503", |now_s, requests| {
            while now_s >= until_s {
                fails = !fails;
                until_s += 0.3 + 5.0 * random.f64();
            }
            if fails { (0.0, requests) } else { (requests, 0.0) }
        });
        wrong += u32::from(PeriodLimit::of(&run, None).is_some());
    }
    assert!(wrong <= 2, "{wrong} of 200");
}

/// No second period begins during the run. Only an upper bound of the rate over a long time is then known.
#[test]
fn a_period_longer_than_the_run_gives_an_upper_bound() {
    let run = judged("429", per_period(2000.0, 100.0));
    let (verdict, capacity) = (&run.findings.bottleneck, run.findings.capacity.as_ref().unwrap());
    assert!(verdict.id == "server-rate-limit" && verdict.confidence < 0.9, "{verdict:#?}");
    assert!(verdict.sentence.contains("2,000 requests per at least 25"), "{}", verdict.sentence);
    assert!(!capacity.held && capacity.rate < 100.0 && capacity.rate > 20.0, "{capacity:?}");
}

/// One more answer arrives among the refusals, to a request that the server accepted before.
#[test]
fn a_slow_answer_among_refusals_begins_no_period() {
    let mut limit = per_period(2000.0, 10.0);
    let mut refused = 0;
    let run = judged("429", |now_s, requests| {
        let (good, bad) = limit(now_s, requests);
        refused = if good > 0.0 { 0 } else { refused + 1 };
        if refused == 4 { (1.0, bad - 1.0) } else { (good, bad) }
    });
    assert!(run.findings.bottleneck.sentence.contains("2,000 requests per 10 s"), "{:#?}", run.findings.bottleneck);
}

/// A search that meets refusals for a time keeps its rate, because lower rates would be refused as well.
#[test]
fn a_search_sees_that_refusals_do_not_depend_on_its_rate() {
    let mut run = search().run();
    answered_by(&mut run, "429", per_period(2000.0, 10.0));
    let refuses = |trials: usize| refuses_for_a_time(&Run { trials: run.trials[..trials].to_vec(), ..run.clone() });
    let is_refused = |at: usize| refused(&run.trials[at]) >= 1.0;
    let first = (0..run.trials.len()).find(|at| is_refused(*at)).unwrap();
    assert!(!refuses(first) && refuses(first + 1), "{first}");
    assert!(knows_period(&run) && !knows_period(&Run { trials: run.trials[..first].to_vec(), ..run.clone() }));
    let mut failing = search().run();
    answered_by(&mut failing, "429", |_, requests| if requests > 200.0 { (0.0, requests) } else { (requests, 0.0) });
    failing.trials.truncate(3);
    assert!(!refuses_for_a_time(&failing), "a larger load was refused");
}
