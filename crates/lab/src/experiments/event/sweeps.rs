//! The sweeps of `lab event-api` at a fixed number of cold connections: the source's figures 6 and 7 with its own load,
//! the hot rate, and the library beside the bare system call.

use ::event::{Backend, Options};

use super::api::{Bench, HOT, PACE, UNTOLD, trial};
use super::bench::{Timing, calls, side_by_side};
use super::callers::{Bare, Library};
use super::hot::Hot;
use super::relay::{LARGE_BYTES, Relay, Web};
use super::rounds::{Rounds, Sweep};
use crate::experiments::Parameters;
use crate::{Lab, LabError};

/// The small file of the source, bytes.
const SMALL_BYTES: u64 = 1024;

/// Figure 6: a call against array_max, for several numbers of clients on a large file.
pub(super) fn arrays(bench: &Bench, lab: &mut Lab<'_>, parameters: &Parameters, cold: u32) -> Result<(), LabError> {
    let (sweep, web) =
        (Sweep::of(parameters, bench.amount.calls), Web::start(lab, &bench.cpus, parameters, LARGE_BYTES)?);
    let mut purse = sweep.purse(bench.checked().count());
    for (name, _) in bench.checked() {
        let relay = Relay::start(lab, (&web, &bench.cpus), name, (cold, PACE))?;
        for &clients in &sweep.clients {
            let _crew = relay.clients(lab, clients)?;
            let arrays = sweep.arrays_for(clients);
            let mut points: Vec<Rounds> = arrays.iter().map(|_| Rounds::default()).collect();
            for round in 0..sweep.rounds + sweep.more {
                for (point, &array) in points.iter_mut().zip(&arrays) {
                    if lab.stopped() {
                        return Ok(());
                    }
                    if let Some(amount) = sweep.amount(array, round, point.calls()) {
                        point.add(relay.calls(array, purse.take(amount)));
                    }
                }
            }
            for (point, &array) in points.iter().zip(&arrays) {
                keep_relayed(bench, lab, point, (name, clients, array))?;
            }
        }
        end(lab, relay, cold);
    }
    Ok(())
}

fn keep_relayed(
    bench: &Bench,
    lab: &mut Lab<'_>,
    point: &Rounds,
    (name, clients, array): (&str, u32, usize),
) -> Result<(), LabError> {
    let axes = [
        ("array_max", array as f64),
        ("clients", f64::from(clients)),
        ("saturated", f64::from(u8::from(point.saturated()))),
        ("rejected_rounds", point.rejected_rounds as f64),
    ];
    let mut trial = trial(format!("{name} {clients} clients, array_max {array}"), &point.timing(&bench.clock), &axes);
    if !point.saturated() {
        trial.notes.push("in every round a call would have blocked: shown, and in no fit or check".into());
    }
    lab.keep(trial).map(drop)
}

fn end(lab: &mut Lab<'_>, relay: Relay, cold: u32) {
    let (held, lost) = relay.end();
    if held < u64::from(cold) || lost > 0 {
        lab.note(format!("of {cold} cold connections of the proxy {held} were up and {lost} were lost"));
    }
}

/// Figure 7: declaring and revoking while S-Clients fetch a small file.
pub(super) fn small_file(bench: &Bench, lab: &mut Lab<'_>, parameters: &Parameters, cold: u32) -> Result<(), LabError> {
    let web = Web::start(lab, &bench.cpus, parameters, SMALL_BYTES)?;
    for (name, _) in bench.checked() {
        if lab.stopped() {
            return Ok(());
        }
        let relay = Relay::start(lab, (&web, &bench.cpus), name, (cold, PACE))?;
        let crew = relay.s_clients(lab, HOT as u32)?;
        let found = relay.declares(bench.amount);
        drop(crew);
        end(lab, relay, cold);
        let mut rounds = Rounds::default();
        let of = |counts: &[u64]| Timing::of(counts.to_vec(), 0, 0, &bench.clock).trimmed_us;
        let values = [
            ("small_file", 1.0),
            ("small_declare_us", of(&found.declared)),
            ("small_revoke_us", of(&found.revoked)),
            ("declared", found.declared.len() as f64),
            ("revoked", found.revoked.len() as f64),
        ];
        rounds.add(found);
        lab.keep(trial(format!("{name} small file, 32 S-Clients"), &rounds.timing(&bench.clock), &values))?;
    }
    Ok(())
}

/// The library beside the bare system call: the same connections, the same events, one right after the other.
pub(super) fn share(bench: &Bench, lab: &mut Lab<'_>) -> Result<(), LabError> {
    let (bare, library) = bench.on_cpu(|bench| {
        let mut hot = Hot::open(HOT)?;
        let mut bare = Bare::new(&mut hot, &bench.cold)?;
        let mut library = Library::new(Options::new(Backend::Epoll), &mut hot, &bench.cold, 10)?;
        Ok(side_by_side((&mut bare, &mut library), &mut hot, 10, bench.amount, &bench.clock))
    })?;
    lab.keep(trial("share, bare epoll_pwait2".into(), &bare, &[("bare", 1.0)]))?;
    lab.keep(trial("share, library".into(), &library, &[("bare", 0.0)])).map(drop)
}

/// All back ends that know events with a full array of 64, in turn.
pub(super) fn full_array(bench: &Bench, lab: &mut Lab<'_>) -> Result<(), LabError> {
    const ROUNDS: usize = 5;
    const ROOM: usize = 64;
    let part = super::bench::Amount { calls: bench.amount.calls / ROUNDS, ..bench.amount };
    let eventful = |name: &str| name == "epoll" || name.starts_with("uring");
    for round in 0..ROUNDS {
        for (name, options) in bench.backends.iter().filter(|(name, _)| eventful(name)) {
            let timing = bench.on_cpu(|bench| {
                let mut hot = Hot::open(ROOM)?;
                let library = Library::new(*options, &mut hot, &bench.cold, ROOM)?;
                let mut library = if name.ends_with(UNTOLD) { library.untold() } else { library };
                Ok(calls(&mut library, &mut hot, ROOM, 1, part, &bench.clock))
            })?;
            let axes = [("full", ROOM as f64), ("whole_us", timing.whole_us)];
            lab.keep(trial(format!("full array, {name}, round {}", round + 1), &timing, &axes))?;
        }
    }
    Ok(())
}
