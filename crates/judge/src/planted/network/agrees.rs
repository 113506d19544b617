//! Tests that the simulation agrees with exact results, and that simulated queueing networks do not exceed their
//! limits.

use stats::queueing::{Servers, Station, closed};

use super::draw::draw;
use super::limit::Cause;
use super::sim::Load;
use super::trials::record;
use super::window::measure;
use super::world::{CLIENT, Host, Program, SERVER, Step, Threads, World};

/// Makes a server on two CPUs with a thread per connection, and a generator with one thread. Each request first
/// computes and then sleeps in the server.
fn plain(cpu_s: f64, sleep_s: f64, generator_s: f64) -> World {
    let program = |host, threads| Program { host, threads, quota: None, processes: false };
    World {
        story: String::new(),
        hosts: vec![Host { cpus: 2, other: 0.0 }, Host { cpus: 1, other: 0.0 }],
        programs: vec![program(1, Threads::Loops(1)), program(0, Threads::PerConnection)],
        steps: vec![
            Step::Enter(SERVER),
            Step::Cpu(SERVER, cpu_s),
            Step::Sleep(sleep_s),
            Step::Cpu(CLIENT, generator_s),
        ],
        reply: 4,
        semaphores: Vec::new(),
        way_s: 0.0,
        think_s: 0.0,
        limiter: None,
        listener: None,
        max_connections: 64,
        noise: 0.0,
        limits: Vec::new(),
        alone_s: cpu_s + sleep_s + generator_s,
        shared: false,
    }
}

/// Two CPUs that ready threads share equally, with at most one CPU per thread, correspond to a queue with two servers.
/// The simulated network of this test therefore has an exact (product-form) solution. Service times in the simulation
/// vary less than exponential times, so the simulated queues are slightly shorter than the exact solution says.
#[test]
fn the_simulation_agrees_with_mean_value_analysis() {
    let world = plain(0.004, 0.01, 0.001);
    let cpus = Station { demand_s: 0.004, servers: Servers::Some(2) };
    let stations = [cpus, Station::delay(0.01), Station::queue(0.001)];
    for n in [1, 2, 4, 8, 16, 64] {
        let exact = closed(&stations, n).throughput;
        let seen = measure(&world, Load::Closed(n), (2.0, 40.0), 7).rate();
        assert!((seen / exact - 1.0).abs() < 0.06, "{n}: {seen} and {exact}");
    }
}

/// A quota of half a CPU allows half of the throughput of one CPU. The quota runs out in nearly every period.
#[test]
fn a_quota_is_used_up_and_not_exceeded() {
    let mut world = plain(0.004, 0.0, 0.0001);
    world.programs[SERVER].quota = Some(0.5);
    let seen = measure(&world, Load::Closed(16), (1.0, 10.0), 3);
    assert!((seen.rate() / 125.0 - 1.0).abs() < 0.05, "{}", seen.rate());
    let (periods, hit) = seen.quotas[SERVER];
    assert!((99.0..=101.0).contains(&periods) && hit >= 0.95 * periods, "{periods} {hit}");
}

/// No simulated network completes more than 1.2 times its lowest limit; the margin covers noise in the machine's speed.
/// If a sweep ends although more clients were possible, the number of clients was not the limit.
#[test]
fn simulated_worlds_reach_and_do_not_exceed_their_lowest_limit() {
    for seed in 0..60 {
        let world = draw(seed, None);
        let recorded = record(&world, seed);
        let least = world.limits.iter().map(|limit| limit.rate).fold(f64::INFINITY, f64::min);
        assert!(recorded.reached <= 1.2 * least, "{seed}: {} of {least}; {}", recorded.reached, world.story);
        let steps: Vec<&run::Trial> = recorded.run.trials.iter().filter(|t| t.kind == run::TrialKind::Sweep).collect();
        let most = steps.last().map_or(0.0, |t| crate::context::single::clients(t));
        let truth = world.truth(recorded.reached);
        let ended = most * 2.0 <= f64::from(world.max_connections);
        assert!(!ended || truth.cause != Cause::Load, "{seed}: {} of {least}; {}", recorded.reached, world.story);
    }
}
