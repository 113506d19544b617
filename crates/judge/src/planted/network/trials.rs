//! Recorded run of a simulated network: a sweep and the windows of an open loop, as `find` makes them.

use std::collections::BTreeMap;

use run::{Arrival, Intensity, Measured, Rates, Run, Steady, Summary, Tally, ThinkTime, Trial, TrialKind, Window};

use super::recording::{ANSWER_BYTES, REQUEST_BYTES, client, server};
use super::sim::Load;
use super::window::{Seen, measure, summary};
use super::world::World;

/// Target number of requests in a window. Real windows contain more requests, but are about as noisy, because other
/// programs disturb them.
const REQUESTS: f64 = 1200.0;
/// Shortest and longest possible window, seconds.
const WINDOW_S: (f64, f64) = (0.6, 4.0);
/// Minimum relative growth of throughput from one step of the sweep to the next, which has twice the clients. A step of
/// the sweep with a smaller growth of throughput counts as flat. Two flat steps in a row end the sweep.
const FLAT: f64 = 0.05;
/// Offered rates of the open loop, as shares of the highest rate of the sweep.
const OFFERED: [f64; 5] = [0.6, 0.8, 0.92, 1.05, 1.25];
/// Number of connections of an open loop, divided by the number that the load needs if each answer takes as long as the
/// objective allows.
const POOL: f64 = 2.0;
/// Maximum number of connections of an open loop.
const MAX_POOL: f64 = 400.0;

/// A simulated run, and the highest rate of good answers that its sweep reached, per second.
pub(super) struct Recorded {
    pub(super) run: Run,
    pub(super) reached: f64,
}

/// Simulates the trials of one network, and returns them as a run.
pub(super) fn record(world: &World, seed: u64) -> Recorded {
    let mut random = fastrand::Rng::with_seed(seed);
    let sweep = sweep(world, &mut random);
    let reached = sweep.iter().map(Seen::good).fold(0.0, f64::max);
    let unloaded_s = sweep.first().map_or(0.0, |one| one.latency_us().p50 / 1e6);
    // With think times, the load is a number of users, and `find` does not search for a rate, so there is no open loop.
    let offered = if world.think_s > 0.0 { &[][..] } else { &OFFERED[..] };
    let open = offered.iter().map(|share| {
        let rate = share * reached;
        let pool = (POOL * rate * 10.0 * unloaded_s).clamp(16.0, MAX_POOL) as u32;
        measure(world, Load::Open(rate, pool), times(world, rate), random.u64(..))
    });
    let open: Vec<Seen> = open.collect();
    let trials = sweep.iter().chain(&open).map(|seen| trial(world, seen, random.u64(..))).collect();
    Recorded { run: of_trials(world, trials), reached }
}

fn sweep(world: &World, random: &mut fastrand::Rng) -> Vec<Seen> {
    let mut steps: Vec<Seen> = Vec::new();
    let mut n = 1;
    while n <= world.max_connections {
        let least = world.limits.iter().map(|limit| limit.rate).fold(f64::INFINITY, f64::min);
        let rate = least.min(f64::from(n) / (world.alone_s + world.think_s));
        steps.push(measure(world, Load::Closed(n), times(world, rate), random.u64(..)));
        let flat = |pair: &[Seen]| pair[1].good() < (1.0 + FLAT) * pair[0].good();
        let last: Vec<bool> = steps.windows(2).rev().take(2).map(flat).collect();
        if last == [true, true] {
            break;
        }
        n *= 2;
    }
    steps
}

/// Returns the lengths of the warm-up and the window at a rate, seconds.
pub(super) fn times(world: &World, rate: f64) -> (f64, f64) {
    let length_s = (REQUESTS / rate).max(8.0 * (world.alone_s + world.think_s)).clamp(WINDOW_S.0, WINDOW_S.1);
    (0.5 * length_s, length_s)
}

/// Converts a measured window to a trial.
pub(super) fn trial(world: &World, seen: &Seen, seed: u64) -> Trial {
    let (x, good, offered) = (seen.rate(), seen.good(), seen.per_s.due);
    let count = |per_s: f64| (per_s * seen.length_s).round() as u64;
    let (label, kind, intensity) = load(world, seen.load);
    let (completed, refused) = (seen.answers.len() as u64, count(seen.per_s.refused));
    let mut status = BTreeMap::from([("2xx".to_string(), completed - refused.min(completed))]);
    if refused > 0 {
        status.insert("5xx".into(), refused);
    }
    // Connects during the warm-up are left out.
    let connects = if world.listener.is_some() { count(seen.per_s.accepted) } else { 0 };
    let tally = Tally {
        attempted: connects,
        connected: connects,
        sent: count(seen.per_s.sent),
        due: count(offered),
        completed,
        unexpected_status: refused,
        status,
        bytes_sent: (seen.per_s.sent * seen.length_s * REQUEST_BYTES) as u64,
        bytes_received: (completed as f64 * ANSWER_BYTES) as u64,
        ..Tally::default()
    };
    let latency_us = seen.latency_us();
    Trial {
        label,
        kind,
        intensity,
        tally: tally.clone(),
        rates: Rates {
            offered_rate: offered,
            sent_rate: seen.per_s.sent,
            completed_rate: x,
            goodput: good,
            concurrency: seen.per_s.in_flight,
        },
        measured: Measured {
            window: Window { begin_s: 0.0, end_s: seen.length_s },
            length_s: seen.length_s,
            tally,
            series_completed: vec![x; 20],
            ..Measured::default()
        },
        latency_us,
        service_us: latency_us,
        connect_us: connect_us(world, seen),
        steady: Steady {
            steady: true,
            warmup_s: 0.5 * seen.length_s,
            reason: "the rate drifted by 0.500 %".into(),
            too_short: false,
        },
        client: client(world, seen, seed),
        server: Some(server(world, seen, seed ^ 1)),
        ..Trial::default()
    }
}

fn connect_us(world: &World, seen: &Seen) -> Summary {
    let mut all: Vec<f64> = seen.answers.iter().map(|(_, connect_s)| (connect_s + 2.0 * world.way_s) * 1e6).collect();
    all.sort_by(f64::total_cmp);
    let count = if world.listener.is_some() { all.len() as u64 } else { 0 };
    Summary { count, ..summary(&all, 60.0) }
}

fn load(world: &World, load: Load) -> (String, TrialKind, Intensity) {
    match load {
        Load::Closed(n) => {
            let think = ThinkTime { mean_ms: world.think_s * 1e3, exponential: true };
            let label = if n == 1 { "1 connection".into() } else { format!("{n} connections") };
            (label, TrialKind::Sweep, Intensity::Closed { connections: n, pipeline: 1, think })
        }
        Load::Open(rate, max_connections) => {
            let intensity = Intensity::Open { rate, arrival: Arrival::Constant, max_connections, pipeline: 1 };
            (format!("offered {rate:.0}/s"), TrialKind::Search, intensity)
        }
    }
}

fn of_trials(world: &World, trials: Vec<Trial>) -> Run {
    let host = |name: &str, role: &str, at: usize| run::HostInfo {
        name: name.into(),
        role: role.into(),
        cpus: world.hosts[at].cpus,
        kernel: "6.18".into(),
        ..run::HostInfo::default()
    };
    let client_host = if world.shared { "beta" } else { "alpha" };
    let mut run = Run {
        format: run::FORMAT.into(),
        command: "find (simulated)".into(),
        started: "2026-01-01T00:00:00Z".into(),
        trials,
        hosts: vec![host(client_host, "client", world.programs[super::world::CLIENT].host), host("beta", "server", 0)],
        ..Run::default()
    };
    run.plan.target.url = if world.shared { "http://127.0.0.1:8080/".into() } else { "http://10.0.0.2:8080/".into() };
    run.plan.command = "find".into();
    run.plan.load.threads = world.load_threads();
    run.plan.search.max_connections = world.max_connections;
    run.plan.load.new_connections = world.listener.is_some();
    run
}
