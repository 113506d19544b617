//! Sweeps of `lab event-api` with a fixed number of cold (idle) connections. Two sweeps reproduce figures 6 and 7 of
//! the paper, with the paper's load. Further trials compare the library with the plain system call, and compare
//! backends when calls return many events.

use ::event::{Backend, Options};
use run::Key;

use super::bench::{Timing, calls, side_by_side};
use super::callers::{Bare, Library};
use super::hot::Hot;
use super::relay::{LARGE_BYTES, Relay, Web};
use super::rounds::{Rounds, Sweep};
use super::stand::{Bench, Contender, HOT, PACE, on, trial};
use super::values::{
    ARRAY_MAX, BARE, DECLARED, FULL, REJECTED_ROUNDS, REVOKED, SATURATED, SMALL_DECLARE_US, SMALL_FILE,
    SMALL_REVOKE_US, WHOLE_US,
};
use crate::Parameters;
use lab::{Lab, LabError};

/// Size of the small file in the paper by Banga, Mogul and Druschel, bytes.
const SMALL_BYTES: u64 = 1024;

/// Time to start a proxy with its cold connections, and later to end it, seconds.
const PROXY_S: f64 = 0.8;
/// Time until clients of a proxy have started and are served, seconds.
const CLIENTS_S: f64 = 0.5;

/// Returns the planned duration of the measurements for figures 6 and 7 of the paper, seconds.
pub(super) fn planned_s(parameters: &Parameters, contenders: &[Contender]) -> f64 {
    let plain = contenders.iter().filter(|contender| contender.plain()).count();
    let calls = parameters.count("calls", 10_000).max(10) as usize;
    let sweep = Sweep::of(parameters, calls);
    let around_s = PROXY_S + sweep.clients.len() as f64 * CLIENTS_S;
    let small_file_s = PROXY_S + CLIENTS_S + parameters.number("seconds", 1.0);
    sweep.planned_s(plain) + plain as f64 * (around_s + small_file_s)
}

/// Measures the values of figure 6: the cost of a call for each maximum number of events per call. The measurement is
/// repeated with several numbers of clients, which fetch a large file.
pub(super) fn arrays(bench: &Bench, lab: &mut Lab<'_>, parameters: &Parameters, cold: u32) -> Result<(), LabError> {
    let (sweep, web) =
        (Sweep::of(parameters, bench.amount.calls), Web::start(lab, &bench.cpus, parameters, LARGE_BYTES)?);
    let mut budget = sweep.budget(bench.plain().count());
    for Contender { name, .. } in bench.plain() {
        let relay = Relay::start(lab, (&web, &bench.cpus), name, (cold, PACE))?;
        for &clients in &sweep.clients {
            let _clients = relay.clients(lab, clients)?;
            let arrays = sweep.arrays_for(clients);
            let mut points: Vec<Rounds> = arrays.iter().map(|_| Rounds::default()).collect();
            for round in 0..sweep.rounds + sweep.more {
                for (point, &array) in points.iter_mut().zip(&arrays) {
                    if lab.stopped() {
                        return Ok(());
                    }
                    if let Some(amount) = sweep.amount(array, round, point.calls()) {
                        point.add(relay.calls(array, budget.take(amount)));
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
    let key = Key { clients: Some(clients), ..on(name) }.with(ARRAY_MAX, u32::try_from(array).ok());
    let words = (&*format!("{name} {clients} clients"), &*format!("array_max {array}"));
    let mut trial = trial(words, &point.timing(&bench.clock), key);
    trial.results.put(SATURATED, point.saturated());
    trial.results.put(REJECTED_ROUNDS, point.rejected_rounds as f64);
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

/// Measures the values of figure 7: the times of declaring and revoking interest while S-Clients fetch a small file.
pub(super) fn small_file(bench: &Bench, lab: &mut Lab<'_>, parameters: &Parameters, cold: u32) -> Result<(), LabError> {
    let web = Web::start(lab, &bench.cpus, parameters, SMALL_BYTES)?;
    for Contender { name, .. } in bench.plain() {
        if lab.stopped() {
            return Ok(());
        }
        let relay = Relay::start(lab, (&web, &bench.cpus), name, (cold, PACE))?;
        let group = relay.s_clients(lab, HOT as u32)?;
        let found = relay.declares(bench.amount);
        drop(group);
        end(lab, relay, cold);
        let mut rounds = Rounds::default();
        // Without samples, no value is reported, because a time of zero would be wrong.
        let of =
            |counts: &[u64]| (!counts.is_empty()).then(|| Timing::of(counts.to_vec(), 0, 0, &bench.clock).trimmed_us);
        let (declare_us, revoke_us) = (of(&found.declared), of(&found.revoked));
        let (declared, revoked) = (found.declared.len() as f64, found.revoked.len() as f64);
        rounds.add(found);
        let key = on(name).with(SMALL_FILE, true);
        let mut trial = trial((&format!("{name} small file"), "32 S-Clients"), &rounds.timing(&bench.clock), key);
        trial.results.put(SMALL_DECLARE_US, declare_us);
        trial.results.put(SMALL_REVOKE_US, revoke_us);
        trial.results.put(DECLARED, declared);
        trial.results.put(REVOKED, revoked);
        lab.keep(trial)?;
    }
    Ok(())
}

/// Compares the library with the plain system call. The library and the system call fetch the same events of the same
/// connections, one directly after the other.
pub(super) fn share(bench: &Bench, lab: &mut Lab<'_>) -> Result<(), LabError> {
    let (bare, library) = bench.on_cpu(|bench| {
        let mut hot = Hot::open(HOT)?;
        let mut bare = Bare::new(&mut hot, &bench.cold)?;
        let mut library = Library::new(Options::new(Backend::Epoll), &mut hot, &bench.cold, 10)?;
        Ok(side_by_side((&mut bare, &mut library), &mut hot, 10, bench.amount, &bench.clock))
    })?;
    let key = |bare| on("epoll").with(BARE, bare);
    lab.keep(trial(("share", "bare epoll_pwait2"), &bare, key(true)))?;
    lab.keep(trial(("share", "library"), &library, key(false))).map(drop)
}

/// Measures all edge-triggered backends one after the other, with calls that return 64 events.
pub(super) fn full_array(bench: &Bench, lab: &mut Lab<'_>) -> Result<(), LabError> {
    const ROUNDS: usize = 5;
    const ROOM: usize = 64;
    let part = super::bench::Amount { calls: bench.amount.calls / ROUNDS, ..bench.amount };
    let eventful = |contender: &&Contender| !contender.options.backend.spec().level;
    for round in 0..ROUNDS {
        for Contender { name, options, told } in bench.backends.iter().filter(eventful) {
            let timing = bench.on_cpu(|bench| {
                let mut hot = Hot::open(ROOM)?;
                let library = Library::new(*options, &mut hot, &bench.cold, ROOM)?;
                let mut library = if *told { library } else { library.untold() };
                Ok(calls(&mut library, &mut hot, ROOM, 1, part, &bench.clock))
            })?;
            let key = on(name).with(FULL, u32::try_from(ROOM).ok());
            let mut trial = trial(("full array", &format!("{name}, round {}", round + 1)), &timing, key);
            trial.results.put(WHOLE_US, timing.whole_us);
            lab.keep(trial)?;
        }
    }
    Ok(())
}
