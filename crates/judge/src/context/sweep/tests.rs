//! Tests of sweeps whose throughput stops growing.

use super::*;
use crate::Facts;
use crate::planted::PlantedRun;

#[test]
fn the_first_step_that_reaches_the_top_decides() {
    let run = PlantedRun::new(1000.0, 4000.0).rates(&[0.5, 1.15]).run();
    let facts = Facts::of(&run);
    assert_eq!(facts.decisive.map(clients), Some(4.0));
    assert_eq!(facts.plateau, Plateau::Flat { from: 4.0, to: 128.0, growth: 0.0 });
    assert!(facts.failing.is_some_and(|t| t.rates.offered_rate == 4600.0));
    assert_eq!(facts.full().map(clients), Some(128.0), "the last step at the top shows what is full");
}

#[test]
fn the_load_that_was_asked_for_is_a_step_beside_one_client() {
    let mut run = PlantedRun::new(1000.0, 4000.0).steps(&[1, 8]).rates(&[]).run();
    run.trials[1].kind = TrialKind::Fixed;
    let facts = Facts::of(&run);
    assert_eq!((facts.sweep.len(), facts.decisive.map(clients)), (2, Some(8.0)));
}

/// In this test, one client keeps an application with a single thread busy for 94 % of the time. Eight clients keep the
/// application busy for all of the time. An earlier version of this module treated the 6.5 % that eight clients added
/// as growth, not as a plateau.
#[test]
fn growth_from_one_to_eight_clients_counts_as_three_doublings() {
    let mut run = PlantedRun::new(1000.0, 4000.0).steps(&[1, 8]).rates(&[]).run();
    run.trials[1].kind = TrialKind::Fixed;
    for (eight, flat) in [(229.0, true), (260.0, false)] {
        (run.trials[0].rates.completed_rate, run.trials[1].rates.completed_rate) = (215.0, eight);
        assert_eq!(matches!(Facts::of(&run).plateau, Plateau::Flat { .. }), flat, "{eight}");
    }
}

/// The server handles one request of 18 ms at a time. The sweep ended after two steps, at 52.2/s and 55.3/s, because
/// starting the hosts took most of the time. Of 83 offered requests per second, 54.1 completed. The requests of the
/// first step took longer only because each of them woke up the server.
#[test]
fn a_sweep_that_ended_early_is_flat_where_an_overload_brought_no_more() {
    let told = |overload: f64, in_flight: f64| {
        let mut run = PlantedRun::new(18_000.0, 55.0).steps(&[1, 2]).rates(&[1.5]).run();
        for (trial, rate) in run.trials.iter_mut().zip([52.2, 55.3, overload]) {
            trial.rates.completed_rate = rate;
        }
        run.trials[2].latency_us.mean = in_flight / overload * 1e6;
        Facts::of(&run).plateau
    };
    assert!(matches!(told(54.1, 18.0), Plateau::Flat { from: 2.0, .. }), "{:?}", told(54.1, 18.0));
    for (overload, in_flight) in [(60.0, 18.0), (40.0, 18.0), (54.1, 3.0)] {
        assert_eq!(told(overload, in_flight), Plateau::Grows, "{overload} with {in_flight}");
    }
}

/// One worker takes 180 ms per request. In windows of 1.3 s, 7 and 8 requests completed. One more request in a window
/// is no growth of throughput.
#[test]
fn one_answer_more_in_a_short_window_is_no_growth() {
    let told = |completed: u64| {
        let mut run = PlantedRun::new(180_000.0, 5.5).steps(&[1, 2]).rates(&[1.2, 1.5]).run();
        for (trial, rate) in run.trials.iter_mut().zip([4.98, 5.53, 5.53, 6.18]) {
            trial.rates.completed_rate = rate;
        }
        run.trials[3].measured.tally.completed = completed;
        (run.trials[2].latency_us.mean, run.trials[3].latency_us.mean) = (400_000.0, 900_000.0);
        Facts::of(&run).plateau
    };
    assert!(matches!(told(8), Plateau::Flat { .. }), "{:?}", told(8));
    assert_eq!(told(800), Plateau::Grows);
}

/// Each request waits 40 ms for a delayed acknowledgement, and then holds a lock for 4 ms. Nine clients did not
/// saturate the lock, but both open loops did.
#[test]
fn two_open_loops_that_complete_the_same_are_a_plateau() {
    let told = |second: f64| {
        let mut run = PlantedRun::new(48_000.0, 230.0).steps(&[1, 2, 9]).rates(&[1.1, 1.4]).run();
        for (trial, rate) in run.trials.iter_mut().zip([20.4, 40.2, 183.1, 217.0, second]) {
            trial.rates.completed_rate = rate;
        }
        (run.trials[3].latency_us.mean, run.trials[4].latency_us.mean) = (106_000.0, 436_000.0);
        Facts::of(&run).plateau
    };
    assert!(matches!(told(213.0), Plateau::Flat { from, .. } if from > 9.0), "{:?}", told(213.0));
    assert_eq!(told(260.0), Plateau::Grows);
    // The second open loop offered a far higher rate than the first, but had only a few more requests in flight.
    let mut run = PlantedRun::new(48_000.0, 230.0).steps(&[1, 2, 9]).rates(&[1.3, 1.7]).run();
    for (trial, rate) in run.trials.iter_mut().zip([20.4, 40.2, 183.1, 236.0, 238.0]) {
        trial.rates.completed_rate = rate;
    }
    (run.trials[3].latency_us.mean, run.trials[4].latency_us.mean) = (220_000.0, 260_000.0);
    assert!(matches!(Facts::of(&run).plateau, Plateau::Flat { .. }), "{:?}", Facts::of(&run).plateau);
}

/// This test repeats a situation that was observed with three synchronous workers on a quiet machine. The start of the
/// overload itself used CPU time of other programs for 0.4 s. An earlier version of loadline left out the whole
/// overload. That version therefore did not see that twice the clients did not raise the rate.
#[test]
fn an_overload_whose_start_was_disturbed_shows_a_plateau() {
    let told = |disturbed: usize| {
        let mut run = PlantedRun::new(13_200.0, 228.0).steps(&[1, 2, 15]).rates(&[0.8, 0.96, 1.5]).run();
        run.trials.iter_mut().for_each(|trial| trial.measured.others = vec![0.02; 20]);
        let overload = run.trials.last_mut().unwrap();
        overload.kind = run::TrialKind::Overload;
        overload.measured.others[..disturbed].fill(0.5);
        Facts::of(&run).plateau
    };
    for disturbed in [0, 4] {
        assert!(matches!(told(disturbed), Plateau::Flat { from: 15.0, .. }), "{disturbed}: {:?}", told(disturbed));
    }
    assert_eq!(told(12), Plateau::Grows, "other programs may have lowered the rate");
}

/// The rates come from a real sweep: a server with four sleeping workers on a busy machine. The last step has the
/// highest rate.
#[test]
fn a_sweep_that_find_would_end_is_flat() {
    let mut run = PlantedRun::new(1000.0, 4000.0).rates(&[]).run();
    run.trials.truncate(5);
    for (trial, rate) in run.trials.iter_mut().zip([47.0, 99.0, 190.0, 190.0, 196.0]) {
        trial.rates.completed_rate = rate;
    }
    let facts = Facts::of(&run);
    assert_eq!(facts.decisive.map(clients), Some(16.0));
    assert!(matches!(facts.plateau, Plateau::Flat { from: 4.0, to: 16.0, .. }), "{:?}", facts.plateau);
    run.trials[4].rates.completed_rate = 201.0;
    assert_eq!(Facts::of(&run).plateau, Plateau::Grows);
}
