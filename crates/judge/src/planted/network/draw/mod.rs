//! Random simulated networks ("worlds"). One part, chosen at random, has the lowest limit. In some simulated networks,
//! a second part has a limit that is only slightly above the lowest limit.

mod choice;
mod limits;
mod parts;
mod story;

use super::limit::Cause;
use super::world::{BACKEND, CLIENT, Host, Limiter, Listener, Program, SERVER, Step, Threads, World};
use choice::{Draw, HOST, Kind, ROOM, kind_for, target};
use limits::limits;
pub(super) use parts::UNLIMITED;
use parts::{GENERATOR_ROOM, Parts, backend, generator, loops, threads, way_s};
use story::story;

/// Range of the lowest limits, requests per second.
const RATES: (f64, f64) = (120.0, 3000.0);
/// Maximum number of connections of `find` on a simulated network.
const MAX_CONNECTIONS: u32 = 256;
/// Share of a request's CPU work that the server does before it checks whether the request exceeds the rate limit.
const PARSES: f64 = 0.2;
/// A randomly drawn listen queue can hold at least the connections that arrive within this time, seconds. A queue of
/// the minimum size can hold all connections that arrive within this time at the rate of the lowest limit.
const SLEEPS_S: f64 = 0.01;

/// Returns the world (a random network) of a seed. With `disturbed`, the server's host has two CPUs, and another
/// program on this host wants `disturbed` CPUs.
pub(super) fn draw(seed: u64, disturbed: Option<f64>) -> World {
    let mut random = fastrand::Rng::with_seed(seed);
    let target = target(&mut random);
    let kind = kind_for(&mut random, target);
    let mut draw = Draw { rate: 0.0, target, kind, cpus: 2, shared: random.bool(), other: 0.0, random };
    draw.rate = draw.between(RATES);
    let several = matches!(target, Cause::ServerLoops | Cause::Serial);
    draw.cpus = if several { draw.one_of(&[2, 2, 4]) } else { draw.one_of(&[1, 2, 2, 4]) };
    draw.other = if draw.chance(0.25) { draw.between((0.1, 0.5)) } else { 0.0 };
    draw.shared &= target != Cause::GeneratorQuota || draw.cpus > 1;
    // On one host, a few clients suffice to fill even a server without a drawn limit. The load therefore cannot be the
    // limit of a network that consists of one host.
    draw.shared &= target != Cause::Load;
    if let Some(other) = disturbed {
        (draw.cpus, draw.other) = (2, other);
    }
    world(&mut draw)
}

fn world(draw: &mut Draw) -> World {
    let backend = backend(draw);
    let (load_threads, generator_s) = generator(draw);
    let free_cpus = f64::from(draw.cpus) - draw.other;
    let elsewhere_s = backend.filter(|b| b.here).map_or(0.0, |b| b.cpu_s) + if draw.shared { generator_s } else { 0.0 };
    // CPU time per request with which the host's CPUs become full at the randomly drawn limit, seconds.
    let host_s = (free_cpus / draw.limit(HOST, ROOM) - elsewhere_s).max(0.02 / draw.rate);
    let loops = if draw.kind == Kind::Loops { loops(draw) } else { 0 };
    let serial_s = match draw.kind {
        Kind::OneAtATime | Kind::Mutex => 1.0 / draw.limit(Cause::Serial, ROOM),
        _ => 0.0,
    };
    let cpu_s = match draw.kind {
        Kind::Loops if draw.target == Cause::ServerLoops || loops < draw.cpus as usize => {
            (loops as f64 / draw.limit(Cause::ServerLoops, ROOM)).min(host_s * 1.2)
        }
        Kind::OneAtATime => 0.05 * serial_s,
        Kind::Mutex => (host_s - serial_s).max(0.1 * serial_s),
        _ => host_s,
    };
    let rare_s = if draw.chance(0.15) { 100.0 * (cpu_s + serial_s) } else { 0.0 };
    let waits_s = backend.map_or(0.0, |b| b.cpu_s + b.sleep_s);
    let busy_s = cpu_s + serial_s + waits_s + 0.01 * rare_s;
    let (threads, sleep_s) = threads(draw, loops, busy_s);
    let quota = (draw.target == Cause::ServerQuota || draw.chance(0.04))
        .then(|| draw.limit(Cause::ServerQuota, ROOM) * (cpu_s + serial_s));
    let client_quota = (draw.target == Cause::GeneratorQuota || draw.chance(0.03))
        .then(|| draw.limit(Cause::GeneratorQuota, GENERATOR_ROOM) * generator_s);
    let limiter = (draw.target == Cause::RateLimit || draw.chance(0.02)).then(|| Limiter {
        rate: draw.limit(Cause::RateLimit, ROOM),
        refuses: draw.kind == Kind::Workers || draw.random.bool(),
        per_address: draw.random.bool(),
    });
    let listener = (draw.target == Cause::AcceptQueue).then(|| {
        let backlog = draw.one_of(&[4, 5, 8, 16, 32]).max((SLEEPS_S * draw.rate) as usize);
        Listener { backlog, every_s: (backlog + 1) as f64 / draw.limit(Cause::AcceptQueue, ROOM) }
    });
    let parts = Parts { backend, cpu_s, serial_s, sleep_s, rare_s, generator_s, limiter, listener };
    let processes = matches!(threads, Threads::Loops(_)) && draw.random.bool();
    let mut programs = vec![
        Program {
            host: usize::from(!draw.shared),
            threads: Threads::Loops(load_threads),
            quota: client_quota,
            processes: false,
        },
        Program { host: 0, threads, quota, processes },
    ];
    let mut hosts = vec![Host { cpus: draw.cpus, other: draw.other }];
    if !draw.shared {
        hosts.push(Host { cpus: draw.one_of(&[1, 2, 4]).max(load_threads as u32), other: 0.0 });
    }
    if let Some(backend) = backend {
        let host = if backend.here { 0 } else { hosts.len() };
        if !backend.here {
            hosts.push(Host { cpus: 4, other: 0.0 });
        }
        let processes = draw.random.bool();
        programs.push(Program { host, threads: backend.threads, quota: None, processes });
    }
    let world = World {
        story: String::new(),
        hosts,
        programs,
        steps: Vec::new(),
        reply: 0,
        semaphores: Vec::new(),
        way_s: way_s(draw),
        think_s: 0.0,
        limiter,
        listener,
        max_connections: MAX_CONNECTIONS,
        noise: draw.between((0.01, 0.04)),
        limits: Vec::new(),
        alone_s: 0.0,
        shared: draw.shared,
    };
    finish(draw, world, &parts)
}

/// Adds the steps of a request, the limits of all parts, and the load.
fn finish(draw: &mut Draw, mut world: World, parts: &Parts) -> World {
    steps(&mut world, parts);
    let backend_s = parts.backend.map_or(0.0, |b| b.cpu_s + b.sleep_s);
    let served_s = parts.cpu_s + parts.serial_s + parts.sleep_s + 0.01 * parts.rare_s + backend_s;
    let accept_s = parts.listener.map_or(0.0, |listener| listener.every_s / 2.0);
    world.alone_s = served_s + 2.0 * world.way_s + parts.generator_s + accept_s;
    world.limits = limits(draw, &world, parts);
    let least = world.limits.iter().map(|limit| limit.rate).fold(f64::INFINITY, f64::min);
    if draw.target != Cause::Load && draw.chance(0.12) {
        world.think_s = draw.between((0.2, 20.0)) * world.alone_s;
    }
    let needed = least * (world.alone_s + world.think_s);
    if draw.target == Cause::Load {
        // In this network, the load itself is the limit. The user allows only a few connections, which are too few for
        // the long network distance.
        let share = draw.between((0.05, 0.7));
        world.max_connections = draw.one_of(&[4, 8, 8, 16, 32, 64]);
        let away_s = (f64::from(world.max_connections) / share / least - world.alone_s).max(0.0);
        world.way_s += away_s / 2.0;
        world.alone_s += away_s;
        let filled = least * world.alone_s * share;
        world.max_connections = world.max_connections.max(filled as u32).min(MAX_CONNECTIONS);
    } else if needed * 2.0 > f64::from(MAX_CONNECTIONS) {
        world.max_connections = (needed * 8.0).min(1024.0) as u32;
    }
    world.story = story(draw, &world, parts);
    world
}

fn steps(world: &mut World, parts: &Parts) {
    let mut steps = vec![Step::Way];
    steps.extend(parts.listener.map(|_| Step::Accept));
    steps.push(Step::Enter(SERVER));
    let parse_s = if parts.limiter.is_some() { PARSES * parts.cpu_s } else { 0.0 };
    if parts.limiter.is_some() {
        steps.extend([Step::Cpu(SERVER, parse_s), Step::Limit]);
    }
    if parts.serial_s > 0.0 {
        world.semaphores.push(1);
        steps.extend([Step::Take(0), Step::Cpu(SERVER, parts.serial_s), Step::Give(0)]);
    }
    steps.push(Step::Cpu(SERVER, parts.cpu_s - parse_s));
    steps.extend((parts.sleep_s > 0.0).then_some(Step::Sleep(parts.sleep_s)));
    steps.extend((parts.rare_s > 0.0).then_some(Step::Rare(parts.rare_s)));
    if let Some(backend) = parts.backend {
        let pool = world.semaphores.len();
        world.semaphores.push(backend.connections);
        steps.extend([Step::Take(pool), Step::Enter(BACKEND), Step::Cpu(BACKEND, backend.cpu_s)]);
        steps.extend((backend.sleep_s > 0.0).then_some(Step::Sleep(backend.sleep_s)));
        steps.extend([Step::Leave(BACKEND), Step::Give(pool)]);
    }
    world.reply = steps.len();
    steps.extend([Step::Leave(SERVER), Step::Way, Step::Cpu(CLIENT, parts.generator_s)]);
    world.steps = steps;
}
