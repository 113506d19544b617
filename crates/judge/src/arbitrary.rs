//! Tests that no damaged run makes judge panic, loop forever, or write a NaN or an infinity. The test also checks that
//! judging a run twice gives the same findings as judging it once.

use proptest::prelude::*;
use run::{Run, Trial};

use crate::planted::PLANTED;

/// Kind of damage that the test does to a run.
#[derive(Clone, Debug)]
enum Damage {
    DropColumns(usize),
    Value(usize, usize, f64),
    Times(f64),
    Shorten(usize),
    Rate(f64),
    Latency(f64),
    Window(f64, f64),
    Counts(u64),
    DropServer,
    DropTrials(usize),
    Clients(u32),
    Instance(usize, String),
}

fn odd() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::MAX),
        Just(f64::MIN),
        Just(f64::MIN_POSITIVE),
        Just(0.0),
        Just(-1.0),
        any::<f64>(),
    ]
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (1usize..7).prop_map(Damage::DropColumns),
        (any::<usize>(), any::<usize>(), odd()).prop_map(|(a, b, v)| Damage::Value(a, b, v)),
        odd().prop_map(Damage::Times),
        (0usize..5).prop_map(Damage::Shorten),
        odd().prop_map(Damage::Rate),
        odd().prop_map(Damage::Latency),
        (odd(), odd()).prop_map(|(a, b)| Damage::Window(a, b)),
        any::<u64>().prop_map(Damage::Counts),
        Just(Damage::DropServer),
        (0usize..8).prop_map(Damage::DropTrials),
        any::<u32>().prop_map(Damage::Clients),
        (any::<usize>(), ".{0,12}").prop_map(|(a, s)| Damage::Instance(a, s)),
    ]
}

fn hit(run: &mut Run, which: usize, damage: &Damage) {
    if let Damage::DropTrials(n) = damage {
        run.trials.truncate(*n);
    }
    if run.trials.is_empty() {
        return;
    }
    let at = which % run.trials.len();
    let trial = &mut run.trials[at];
    match damage {
        Damage::Rate(v) => (trial.rates.completed_rate, trial.rates.offered_rate) = (*v, *v),
        Damage::Latency(v) => (trial.latency_us.mean, trial.latency_us.p50, trial.latency_us.p99) = (*v, *v, *v),
        Damage::Window(a, b) => (trial.measured.window.begin_s, trial.measured.window.end_s) = (*a, *b),
        Damage::Counts(n) => counts(trial, *n),
        Damage::DropServer => trial.server = None,
        Damage::Clients(n) => {
            trial.intensity =
                run::Intensity::Closed { connections: *n, pipeline: *n, think: run::ThinkTime::default() };
        }
        _ => std::iter::once(&mut trial.client).chain(&mut trial.server).for_each(|side| record(side, damage)),
    }
}

fn counts(trial: &mut Trial, n: u64) {
    trial.tally.attempted = n;
    trial.tally.sent = n;
    trial.measured.tally.completed = n / 2;
    trial.measured.tally.unexpected_status = n;
    trial.measured.tally.unanswered = n;
    trial.tally.errors.0.insert(run::ErrorKind::Reset, n);
}

fn record(side: &mut run::Side, damage: &Damage) {
    let recording = &mut side.recording;
    let columns = recording.columns.len().max(1);
    match damage {
        Damage::DropColumns(n) => {
            let mut i = 0;
            recording.columns.retain(|_| {
                i += 1;
                i % n != 0
            });
        }
        Damage::Value(column, sample, v) => {
            if let Some(c) = recording.columns.get_mut(column % columns) {
                let n = c.values.len().max(1);
                c.values.iter_mut().skip(sample % n).for_each(|old| *old = Some(*v));
            }
        }
        Damage::Times(v) => recording.t_s.iter_mut().skip(1).for_each(|t| *t = *v),
        Damage::Shorten(n) => recording.columns.iter_mut().for_each(|c| c.values.truncate(*n)),
        Damage::Instance(column, name) => {
            if let Some(c) = recording.columns.get_mut(column % columns) {
                c.instance.clone_from(name);
            }
            side.processes.push(name.clone());
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_run_makes_judge_panic_or_write_what_is_no_number(
        which in 0..PLANTED.len(),
        damages in prop::collection::vec((any::<usize>(), damage()), 1..12),
        ceiling in prop::option::of(odd()),
    ) {
        let mut run = PLANTED[which].run();
        run.findings.trust.generator_ceiling = ceiling;
        damages.iter().for_each(|(at, d)| hit(&mut run, *at, d));
        crate::judge(&mut run);
        let once = serde_json::to_string(&run.findings).unwrap();
        // JSON has no NaN, so an undefined figure is written as null and read back as NaN, which does not equal itself.
        let back: run::Findings = serde_json::from_str(&once).unwrap();
        prop_assert!(back == back.clone(), "{}", once);
        let derived: Vec<_> = run.trials.iter().map(|t| serde_json::to_string(&(&t.client.counters, &t.client.costs)).unwrap()).collect();
        prop_assert!(derived.iter().all(|d| !d.contains("null")));
        crate::judge(&mut run);
        prop_assert_eq!(serde_json::to_string(&run.findings).unwrap(), once);
    }
}
