//! Random simulated networks ("worlds"). One part is drawn to have the lowest limit; in some worlds, two parts have
//! equal limits.

use super::limit::{Cause, Limit};
use super::world::{BACKEND, CLIENT, Host, Limiter, Listener, Program, SERVER, Step, Threads, World};
use stats::queueing::{Servers, Station, closed};

/// Range of the rates at which worlds saturate, per second.
const RATES: (f64, f64) = (120.0, 3000.0);
/// Range of the limits of all other parts, as a factor of the lowest limit.
const ROOM: (f64, f64) = (1.25, 6.0);
/// Range of the generator's limit, as a factor of the lowest limit; it is seldom the limit itself.
const GENERATOR_ROOM: (f64, f64) = (3.0, 40.0);
/// Share of the worlds in which two parts have equal lowest limits.
const TIES: f64 = 0.08;
/// Greatest number of connections of `find` in a simulation.
const MAX_CONNECTIONS: u32 = 256;
/// Share of a server's work that is done before it refuses.
const PARSES: f64 = 0.2;
/// Number of units of a pool that limits nothing.
pub(super) const UNLIMITED: usize = 100_000;
/// Range of the pauses of a server between two batches of accepts, seconds.
const SLEEPS_S: f64 = 0.01;
/// Minimum share of a host's work for a program to count as a cause of its full CPUs.
const LARGE_PART: f64 = 0.35;

/// Architecture of the drawn server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A thread for each connection, all parallel.
    Parallel,
    /// Threads that each run an event loop.
    Loops,
    /// A thread for each connection; only one thread computes at a time.
    OneAtATime,
    /// A thread for each connection; a part of the work is behind a lock.
    Mutex,
    /// Workers that sleep or wait for an upstream.
    Workers,
}

/// Upstream service of the drawn server.
#[derive(Clone, Copy, Debug)]
struct Backend {
    threads: Threads,
    cpu_s: f64,
    sleep_s: f64,
    /// Number of connections to the backend.
    connections: usize,
    here: bool,
}

/// Parameters drawn for one world.
struct Draw {
    random: fastrand::Rng,
    /// Lowest limit, requests per second.
    rate: f64,
    target: Cause,
    kind: Kind,
    cpus: u32,
    shared: bool,
    other: f64,
}

const HOST: Cause = Cause::ServerHost { client: false, backend: false };

impl Draw {
    fn chance(&mut self, share: f64) -> bool {
        self.random.f64() < share
    }

    fn between(&mut self, (low, high): (f64, f64)) -> f64 {
        low * (high / low).powf(self.random.f64())
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.usize(..all.len())]
    }

    /// Returns the rate that a part allows.
    fn limit(&mut self, cause: Cause, room: (f64, f64)) -> f64 {
        if cause == self.target {
            return self.rate;
        }
        let factor = if self.chance(TIES) { self.between((1.0, 1.1)) } else { self.between(room) };
        self.rate * factor
    }
}

fn kind_for(random: &mut fastrand::Rng, target: Cause) -> Kind {
    let all: &[Kind] = match target {
        HOST => &[Kind::Parallel, Kind::Parallel, Kind::Mutex, Kind::Workers, Kind::Loops],
        Cause::ServerLoops => &[Kind::Loops],
        Cause::Serial => &[Kind::OneAtATime, Kind::OneAtATime, Kind::Mutex],
        Cause::Workers => &[Kind::Workers],
        Cause::ServerQuota => &[Kind::Parallel, Kind::Loops, Kind::OneAtATime],
        // Threads that serve a single connection end before they are counted.
        Cause::AcceptQueue => &[Kind::Loops],
        _ => &[Kind::Parallel, Kind::Loops, Kind::Mutex, Kind::Workers],
    };
    all[random.usize(..all.len())]
}

const TARGETS: &[(Cause, u32)] = &[
    (HOST, 20),
    (Cause::ServerLoops, 12),
    (Cause::Serial, 13),
    (Cause::Workers, 14),
    (Cause::Connections, 4),
    (Cause::Backend, 9),
    (Cause::Generator, 8),
    (Cause::ServerQuota, 7),
    (Cause::GeneratorQuota, 3),
    (Cause::RateLimit, 5),
    (Cause::AcceptQueue, 5),
    (Cause::Load, 8),
];

fn target(random: &mut fastrand::Rng) -> Cause {
    let all: u32 = TARGETS.iter().map(|(_, weight)| weight).sum();
    let mut at = random.u32(..all);
    for (cause, weight) in TARGETS {
        if at < *weight {
            return *cause;
        }
        at -= weight;
    }
    HOST
}

/// Returns the world of a seed; `disturbed`: on two CPUs, of which another program wants this many.
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
    // On loopback, a few clients saturate even a server without a drawn limit.
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
    // CPU time per request that the server's host allows.
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

/// Times of the parts of one request.
struct Parts {
    backend: Option<Backend>,
    cpu_s: f64,
    serial_s: f64,
    sleep_s: f64,
    rare_s: f64,
    generator_s: f64,
    limiter: Option<Limiter>,
    listener: Option<Listener>,
}

fn way_s(draw: &mut Draw) -> f64 {
    if draw.shared {
        return 0.0;
    }
    if draw.chance(0.4) { draw.between((0.001, 0.04)) } else { draw.between((50e-6, 200e-6)) }
}

fn backend(draw: &mut Draw) -> Option<Backend> {
    let named = matches!(draw.target, Cause::Backend | Cause::Connections);
    if !named && !draw.chance(0.25) || draw.target == Cause::AcceptQueue {
        return None;
    }
    let here = draw.chance(0.6);
    let limit = draw.limit(Cause::Backend, ROOM);
    let (threads, cpu_s, sleep_s) = match draw.random.usize(..3) {
        // An upstream that computes, on one CPU or on all CPUs of its own host.
        0 => (Threads::Loops(1), 1.0 / limit, 0.0),
        1 if !here => (Threads::PerConnection, 4.0 / limit, 0.0),
        // Child processes that wait for a disk or another service.
        _ => {
            let children = draw.random.usize(1..=8);
            let each_s = children as f64 / limit;
            let cpu_s = each_s * draw.between((0.01, 0.3)) / children as f64;
            (Threads::Pool(children), cpu_s, each_s - cpu_s)
        }
    };
    let at_once = (draw.limit(Cause::Connections, ROOM) * (cpu_s + sleep_s)).ceil().max(1.0);
    let pooled = draw.target == Cause::Connections || draw.chance(0.3);
    Some(Backend { threads, cpu_s, sleep_s, connections: if pooled { at_once as usize } else { UNLIMITED }, here })
}

fn generator(draw: &mut Draw) -> (usize, f64) {
    let threads = if draw.cpus > 1 && draw.chance(0.3) { 2 } else { 1 };
    let room = if draw.target == Cause::GeneratorQuota { ROOM } else { GENERATOR_ROOM };
    let limit = draw.limit(Cause::Generator, room);
    (threads, threads as f64 / limit)
}

fn loops(draw: &mut Draw) -> usize {
    let most = draw.cpus as usize;
    match draw.target {
        Cause::ServerLoops => draw.random.usize(1..most.max(2)),
        HOST | Cause::AcceptQueue => most,
        _ => draw.random.usize(1..=most),
    }
}

/// Returns the threads of the server, and the sleep of a worker.
fn threads(draw: &mut Draw, loops: usize, busy_s: f64) -> (Threads, f64) {
    match draw.kind {
        Kind::Loops => (Threads::Loops(loops), if draw.chance(0.3) { draw.between((0.5, 4.0)) * busy_s } else { 0.0 }),
        Kind::Workers => {
            let hold = draw.limit(Cause::Workers, ROOM);
            // The number of workers is chosen so that each holds a request at least as long as the request's work
            // takes.
            let least = (hold * busy_s * 1.05).ceil().max(1.0) as usize;
            let workers = least.max(draw.random.usize(1..=16));
            (Threads::Pool(workers), workers as f64 / hold - busy_s)
        }
        _ => (Threads::PerConnection, if draw.chance(0.3) { draw.between((0.5, 4.0)) * busy_s } else { 0.0 }),
    }
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
        // The load is the limit: the user's connection limit, or a distance that this number of connections cannot
        // fill.
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

fn limits(draw: &Draw, world: &World, parts: &Parts) -> Vec<Limit> {
    let mut limits = Vec::new();
    let mut put = |cause, rate: f64| limits.push(Limit { cause, rate });
    let here = parts.backend.filter(|b| b.here).map_or(0.0, |b| b.cpu_s);
    let client = if world.shared { parts.generator_s } else { 0.0 };
    let whole = parts.cpu_s + parts.serial_s + here + client;
    let large = |part: f64| part >= LARGE_PART * whole;
    let free = f64::from(draw.cpus) - draw.other;
    put(Cause::ServerHost { client: large(client), backend: large(here) }, free / whole);
    let server = world.programs[SERVER];
    if let Threads::Loops(loops) = server.threads {
        put(Cause::ServerLoops, loops as f64 / parts.cpu_s);
    }
    if parts.serial_s > 0.0 {
        put(Cause::Serial, 1.0 / parts.serial_s);
    }
    let station = |demand_s: f64, servers: usize| Station { demand_s, servers: Servers::Some(servers as u32) };
    let behind: Vec<Station> = parts.backend.map_or(Vec::new(), |b| match b.threads {
        Threads::Loops(n) | Threads::Pool(n) => vec![station(b.cpu_s + b.sleep_s, n)],
        Threads::PerConnection => vec![station(b.cpu_s, 4)],
    });
    if let Some(backend) = parts.backend {
        let rate =
            behind.iter().map(|s| if let Servers::Some(n) = s.servers { f64::from(n) / s.demand_s } else { 0.0 });
        put(Cause::Backend, rate.fold(f64::INFINITY, f64::min));
        if backend.connections < UNLIMITED {
            put(Cause::Connections, closed(&behind, backend.connections as u32).throughput);
        }
    }
    if let Threads::Pool(workers) = server.threads {
        let rest_s = parts.sleep_s + 0.01 * parts.rare_s;
        let own = [station(parts.cpu_s + parts.serial_s, draw.cpus as usize), Station::delay(rest_s)];
        put(Cause::Workers, closed(&[&own[..], &behind[..]].concat(), workers as u32).throughput);
    }
    put(Cause::Generator, world.load_threads() as f64 / parts.generator_s);
    if let Some(quota) = server.quota {
        put(Cause::ServerQuota, quota / (parts.cpu_s + parts.serial_s));
    }
    if let Some(quota) = world.programs[CLIENT].quota {
        put(Cause::GeneratorQuota, quota / parts.generator_s);
    }
    if let Some(limiter) = parts.limiter {
        put(Cause::RateLimit, limiter.rate);
    }
    if let Some(listener) = parts.listener {
        put(Cause::AcceptQueue, (listener.backlog + 1) as f64 / listener.every_s);
    }
    limits
}

impl World {
    pub(super) fn load_threads(&self) -> u32 {
        match self.programs[CLIENT].threads {
            Threads::Loops(n) | Threads::Pool(n) => n as u32,
            Threads::PerConnection => 1,
        }
    }
}

fn story(draw: &Draw, world: &World, parts: &Parts) -> String {
    let ms = |s: f64| format!("{:.3} ms", s * 1e3);
    let mut all = vec![
        format!("{:?} {:?}", draw.kind, world.programs[SERVER].threads),
        format!("{} CPUs{}", draw.cpus, if draw.shared { " shared with the generator" } else { "" }),
        format!("CPU {}", ms(parts.cpu_s)),
    ];
    let mut part = |is: bool, text: String| all.extend(is.then_some(text));
    part(parts.serial_s > 0.0, format!("behind a lock {}", ms(parts.serial_s)));
    part(parts.sleep_s > 0.0, format!("sleep {}", ms(parts.sleep_s)));
    part(parts.rare_s > 0.0, format!("1 % sleep {}", ms(parts.rare_s)));
    if let Some(b) = parts.backend {
        let place = if b.here { "here" } else { "elsewhere" };
        part(
            true,
            format!(
                "backend {place} {:?} CPU {} sleep {} by {} connections",
                b.threads,
                ms(b.cpu_s),
                ms(b.sleep_s),
                b.connections
            ),
        );
    }
    part(true, format!("generator {} threads {}", world.load_threads(), ms(parts.generator_s)));
    part(world.way_s > 0.0, format!("way {}", ms(world.way_s)));
    part(world.think_s > 0.0, format!("think {}", ms(world.think_s)));
    part(draw.other > 0.0, format!("another program {:.2} CPUs", draw.other));
    for (at, name) in [(SERVER, "server"), (CLIENT, "generator")] {
        part(
            world.programs[at].quota.is_some(),
            format!("{name} quota {:.2}", world.programs[at].quota.unwrap_or(0.0)),
        );
    }
    part(world.limiter.is_some(), format!("{:?}", world.limiter));
    part(world.listener.is_some(), format!("{:?}", world.listener));
    part(true, format!("at most {} connections", world.max_connections));
    all.join(", ")
}
