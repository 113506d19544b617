//! Tests of stretches of time with failed requests.

use run::{Failure, TENTH_S};

use super::*;
use crate::planted::{PlantedRun, Point};

/// Turns the answers of a trial into refusals between the tenths of a second `from` and `to` of its window.
fn refuse(trial: &mut Trial, from: usize, to: usize) {
    let measured = &mut trial.measured;
    let rates = measured.series_completed.clone();
    let refused: Vec<f64> = (0..rates.len()).map(|i| if (from..to).contains(&i) { rates[i] } else { 0.0 }).collect();
    let n = (refused.iter().sum::<f64>() * TENTH_S) as u64;
    for tally in [&mut measured.tally, &mut trial.tally] {
        tally.unexpected_status = n;
        tally.unexpected_statuses = [("401".to_string(), n)].into();
        tally.status = [("2xx".to_string(), tally.completed - n), ("4xx".to_string(), n)].into();
    }
    (measured.series_failed, measured.series_refused) = (refused.clone(), refused);
}

fn judged(planted: &PlantedRun, change: impl Fn(&mut Run)) -> Run {
    let mut run = planted.run();
    change(&mut run);
    crate::judge(&mut run);
    run
}

/// In this test, a token expires in the step with 8 clients, 0.7 s after the start of the window. All requests of the
/// later loads fail, too.
#[test]
fn a_token_that_expires_in_a_search_is_no_limit_of_the_load() {
    let run = judged(&PlantedRun::new(1000.0, 4000.0), |run| {
        refuse(&mut run.trials[3], 7, 20);
        run.trials[4..].iter_mut().for_each(|trial| refuse(trial, 0, 20));
    });
    let (found, b) = (&run.findings, &run.findings.bottleneck);
    assert!(b.id == "unknown" && b.sentence.contains("from 0.7 s into the load of 8 clients on"), "{b:#?}");
    assert!(b.sentence.contains("401: ") && b.ruled_out.is_empty(), "{b:#?}");
    assert_eq!(found.failure, Some(Failure::FailedStretch));
    let capacity = found.capacity.as_ref().unwrap();
    assert!(capacity.rate <= 4000.0 * 1.01 && capacity.failed_at.is_none(), "{capacity:?}");
    assert!(found.picks.at_capacity.is_none_or(|at| at < 3), "only what was measured before it: {:?}", found.picks);
    assert!(found.trust.warnings[0].contains("the server changed"), "{:#?}", found.trust);
}

/// The run has a single load. The failures begin or end within the load's window, as with a database that still
/// loads its data.
#[test]
fn one_load_tells_a_moment_by_its_tenths() {
    let one = PlantedRun::new(1000.0, 4000.0).steps(&[8]).rates(&[]);
    let of = |from, to| {
        let run = judged(&one, |run| {
            run.trials[0].kind = run::TrialKind::Fixed;
            refuse(&mut run.trials[0], from, to);
        });
        run.findings.bottleneck.sentence
    };
    assert!(of(10, 20).starts_with("every request failed from 1.0 s into the load of 8 clients on"), "{}", of(10, 20));
    assert!(of(0, 10).contains("until 1.0 s into the load"), "{}", of(0, 10));
    assert!(of(5, 10).contains("from 0.5 s to 1.0 s into the load of 8 clients"), "{}", of(5, 10));
    assert!(!of(0, 20).contains("every request failed"), "{}", of(0, 20));
}

/// From 1 s on, a rate limit refuses every request, as when a quota of requests per minute is used up.
#[test]
fn a_stretch_of_429_is_a_rate_limit_and_no_expired_token() {
    let told = |status: &str| {
        let run = judged(&PlantedRun::new(1000.0, 4000.0).steps(&[8]).rates(&[]), |run| {
            let trial = &mut run.trials[0];
            trial.kind = run::TrialKind::Fixed;
            refuse(trial, 10, 20);
            trial.measured.tally.unexpected_statuses =
                [(status.to_string(), trial.measured.tally.unexpected_status)].into();
        });
        let b = &run.findings.bottleneck;
        format!("{} {}", b.sentence, b.advice.join(" "))
    };
    let limited = told("429");
    assert!(limited.contains("limits the rate") && limited.contains("--rate"), "{limited}");
    assert!(!limited.contains("token") && told("401").contains("token"), "{limited} {}", told("401"));
}

/// Makes the server end 1 s after the start of a window of 2 s. After the server has ended, the clients try to connect
/// in vain, with pauses that double.
fn crash(trial: &mut Trial) {
    let clients = trial.intensity.in_flight().unwrap() as u64;
    let measured = &mut trial.measured;
    measured.series_completed[10..].fill(0.0);
    measured.series_failed = vec![0.0; 20];
    for at in [10, 11, 13, 16] {
        measured.series_failed[at] = clients as f64 / TENTH_S;
    }
    for tally in [&mut measured.tally, &mut trial.tally] {
        tally.completed /= 2;
        tally.errors.0.extend([(ErrorKind::ConnectRefused, 3 * clients), (ErrorKind::Reset, clients)]);
    }
}

/// The observer sees no process of the server, as if the host's counters could not be read.
#[test]
fn a_server_that_ends_is_told_with_the_moment_and_the_refused_connects() {
    for (clients, words) in [(1, "1 client on"), (8, "8 clients on")] {
        for gone in [false, true] {
            let run = judged(&PlantedRun::new(1000.0, 8000.0).steps(&[clients]).rates(&[]).no_server(), |run| {
                let trial = &mut run.trials[0];
                trial.kind = run::TrialKind::Fixed;
                crash(trial);
                let kind = if gone { IncidentKind::ServerUnreachable } else { IncidentKind::Silence };
                trial.incidents.push(run::Incident { kind, begin_s: 1.0, end_s: None, text: "it ended".into() });
            });
            let told = &run.findings.bottleneck.sentence;
            assert!(told.starts_with("every request failed from 1.0 s into the load of"), "{told}");
            assert!(told.contains(words) && told.contains("had ended or no longer listened"), "{told}");
            assert!(told.contains(&format!("connects refused: {}", 3 * clients)), "{told}");
            let failure = if gone { Failure::Died } else { Failure::FailedStretch };
            assert_eq!(run.findings.failure, Some(failure), "{told}");
        }
    }
}

/// In an open loop, requests that are due while connects are refused wait for a connection, so it is possible that none
/// of them fails.
#[test]
fn refused_connects_of_an_open_loop_fail_no_request() {
    let run = judged(&PlantedRun::new(1000.0, 8000.0).steps(&[8]).rates(&[]).no_server(), |run| {
        let trial = &mut run.trials[0];
        trial.kind = run::TrialKind::Fixed;
        crash(trial);
        let rate = trial.rates.completed_rate;
        trial.intensity =
            run::Intensity::Open { rate, arrival: run::Arrival::Poisson, max_connections: 8, pipeline: 1 };
        trial.tally.sent = trial.tally.completed;
    });
    let told = &run.findings.bottleneck.sentence;
    assert!(told.starts_with("every connect failed from 1.0 s"), "{told}");
}

/// The loads grow, and every request fails from 16 clients on, so the load may be the reason.
#[test]
fn failures_that_begin_with_a_larger_load_may_depend_on_it() {
    let planted = PlantedRun::new(1000.0, 4000.0).rates(&[]).change(|t: &mut Trial, p: &Point| {
        if p.n >= 16.0 {
            refuse(t, 0, 20);
        }
    });
    assert!(FailedStretch::of(&planted.run()).is_none());
    let mut run = planted.run();
    let text = "a single request after the load failed, too".to_string();
    run.trials[4].incidents.push(run::Incident { kind: IncidentKind::RefusedAtRest, begin_s: 2.0, end_s: None, text });
    assert!(FailedStretch::of(&run).is_some(), "a request without load failed, too");
}

#[test]
fn an_edge_of_the_stretch_has_at_most_three_mixed_steps() {
    let is_found = |mixed: usize| {
        let mut run = PlantedRun::new(1000.0, 4000.0).steps(&[8]).rates(&[]).run();
        let measured = &mut run.trials[0].measured;
        let share = |i: usize| match i {
            0..8 => 0.0,
            i if i < 8 + mixed => 0.5,
            _ => 1.0,
        };
        measured.series_refused =
            measured.series_completed.iter().enumerate().map(|(i, rate)| share(i) * rate).collect();
        measured.series_failed = measured.series_refused.clone();
        FailedStretch::of(&run).is_some()
    };
    assert_eq!([0, 3, 4].map(is_found), [true, true, false]);
}

/// In half of the simulated runs, answers fail at random the whole time. In the other half, a rate limiter's token
/// bucket becomes empty, and then lets requests pass at a fixed rate.
#[test]
fn failures_beside_good_answers_are_no_stretch() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut found = 0;
    for draw in 0..300 {
        let mut run = PlantedRun::new(1000.0, 4000.0).steps(&[8]).rates(&[]).run();
        let measured = &mut run.trials[0].measured;
        let each = |i: usize, random: &mut fastrand::Rng| match draw % 2 {
            0 => 4000.0 * (0.3 + 0.4 * random.f64()),
            _ if i < 10 => 0.0,
            _ => 3000.0,
        };
        measured.series_refused = (0..20).map(|i| each(i, &mut random)).collect();
        measured.series_failed = measured.series_refused.clone();
        found += usize::from(FailedStretch::of(&run).is_some());
    }
    assert_eq!(found, 0, "of 300");
}
