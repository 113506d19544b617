//! Tests of the growth of the CPU time per answer.

use run::{Run, Side};

use super::*;
use crate::planted::PlantedRun;

/// Makes each CPU time of a side `factor` times as long.
fn lengthen(side: &mut Side, factor: f64) {
    for column in side.recording.columns.iter_mut().filter(|column| column.counter.as_str() == "process.cpu") {
        let first = column.values.first().copied().flatten().unwrap_or(0.0);
        column.values.iter_mut().flatten().for_each(|value| *value = first + factor * (*value - first));
    }
}

/// Offered rates of the windows, as shares of the highest rate.
const RATES: [f64; 12] = [0.8, 0.9, 0.85, 0.95, 0.8, 0.9, 0.92, 0.88, 0.8, 0.85, 0.9, 0.95];

/// Makes a search of windows that begin 2.5 s apart. `change` changes each window, whose number is its second
/// argument.
fn search_with(rates: &[f64], change: impl Fn(&mut Trial, usize)) -> Run {
    let mut run = PlantedRun::new(1000.0, 2000.0).steps(&[]).rates(rates).run();
    for (i, trial) in run.trials.iter_mut().enumerate() {
        trial.measured.load_began_unix_s = Some(1000.0 + 2.5 * i as f64);
        trial.measured.others = vec![0.0; 20];
        change(trial, i);
    }
    crate::judge(&mut run);
    run
}

/// Makes each CPU time of the server `factor` times as long.
fn lengthen_server(trial: &mut Trial, factor: f64) {
    trial.server.iter_mut().for_each(|side| lengthen(side, factor));
}

/// Makes a search of twelve windows, in which the CPU time per answer grows: by the factors `server` and
/// `generator` from the first to the last.
fn search(server: f64, generator: f64) -> Run {
    search_with(&RATES, |trial, i| {
        let share = i as f64 / (RATES.len() - 1) as f64;
        lengthen(&mut trial.client, generator.powf(share));
        lengthen_server(trial, server.powf(share));
    })
}

fn slower(run: &Run) -> Option<Slower> {
    CostDrift::of(&Facts::of(run)).map(|drift| drift.slower())
}

/// A list of the server grew with each request. An earlier version of loadline said that the machine's speed
/// changed.
#[test]
fn a_server_that_becomes_slower_is_told_from_a_slower_machine() {
    let server = search(2.0, 1.0);
    assert_eq!(slower(&server), Some(Slower::Server));
    let warns = |run: &Run, what: &str| run.findings.trust.warnings.iter().any(|text| text.contains(what));
    assert!(warns(&server, "the server became slower during the run, not the machine"), "{:?}", server.findings.trust);
    assert!(warns(&server, "to 16.0 µs at the server (grew by 100 %)"), "{:?}", server.findings.trust);
    let machine = search(1.5, 1.5);
    assert_eq!(slower(&machine), Some(Slower::Machine));
    assert!(warns(&machine, "the machine became slower"), "{:?}", machine.findings.trust);
    assert_eq!(slower(&search(1.0, 1.0)), None);
    assert_eq!(slower(&search(1.1, 1.0)), None, "a tenth may be chance");
    assert_eq!(slower(&search(0.5, 1.0)), None, "the server warms up");
}

/// Under a light load, server and generator need more CPU time per answer even if the server does not change. Light
/// loads at the end of a run must not look like a drift.
#[test]
fn light_loads_show_no_drift() {
    let mut run = search(1.0, 1.0);
    for (i, trial) in run.trials.iter_mut().enumerate().skip(6) {
        trial.rates.completed_rate /= i as f64;
        trial.server.iter_mut().for_each(|side| lengthen(side, 2.0 / i as f64));
    }
    crate::judge(&mut run);
    assert_eq!(slower(&run), None);
}

/// Other programs disturb a window for all of its time.
fn disturb(trial: &mut Trial) {
    trial.measured.others = vec![0.6; 20];
}

/// Other programs disturbed five of twelve windows. The seven sound windows alone are too few for a trend.
#[test]
fn disturbed_loads_show_that_the_server_becomes_slower() {
    let grows = |disturbed: &'static [usize], beside: f64| {
        search_with(&RATES, move |trial, i| {
            lengthen_server(trial, 2.0_f64.powf(i as f64 / 11.0));
            if disturbed.contains(&i) {
                disturb(trial);
                lengthen_server(trial, beside);
            }
        })
    };
    let several = grows(&[1, 4, 6, 9, 11], 1.0);
    assert_eq!(Facts::of(&several).spoiled.len(), 5);
    assert_eq!(slower(&several), Some(Slower::Server));
    let warnings = &several.findings.trust.warnings;
    assert!(warnings.iter().any(|text| text.contains("the server became slower during the run")), "{warnings:?}");
    assert_eq!(slower(&grows(&[1], 3.0)), Some(Slower::Server), "a single disturbed load hides no growth");
}

/// Other programs run during the second half of a search. These programs use the caches and hyper-threads of the
/// server, which therefore needs more CPU time per answer. The generator runs on another host.
#[test]
fn other_programs_that_begin_during_a_search_make_no_slower_server() {
    let run = search_with(&RATES.repeat(2), |trial, i| {
        if i >= 12 {
            disturb(trial);
            lengthen_server(trial, 1.4);
        }
    });
    assert_eq!(Facts::of(&run).spoiled.len(), 12);
    assert_eq!(slower(&run), None);
}
