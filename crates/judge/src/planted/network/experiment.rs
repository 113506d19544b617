//! Simulation of the experiment that `find` makes on its verdict. A lever is a temporary change that an experiment
//! makes, such as slowing a CPU. The decisive trial of a run is the load that represents the run.

use run::{CPU_COUNT_LEVER, LOAD_LEVER, LeverSlots, Proof, ProofTrial, Run, SOURCES_LEVER, SwitchTrial};

use super::sim::{Load, Sim};
use super::trials::times;
use super::window::{Look, Seen, measure, seen};
use super::world::{CLIENT, SERVER, Step, World};
use crate::context::single::{clients, closed, good};
use crate::prove::{may_be_rate_limit, may_be_unsaturated, predicted, runner_up, suspects_of};

/// Levers of every experiment: the resource that is slowed, and the program that uses it. The experiment switches each
/// lever on or off at the start of every slot (a fraction of a second).
const SLOWED: [(&str, usize); 2] = [("server-cpu", SERVER), ("client-cpu", CLIENT)];
/// Share of each CPU that a lever takes, 0 to 1.
const DOSE: f64 = 0.25;
/// Total length of the time slots, seconds, if the experiment consists of time slots only. Of a budget of 30 s, the
/// experiment gets 9 s, and starting the agents takes 1 s of this time.
const TIME_S: f64 = 7.5;
/// Total time of the time slots of an experiment that also has a trial with fewer CPUs, or trials with more load,
/// seconds.
const TIME_BEFORE_MORE_S: f64 = 3.5;
/// Time of load before the first time slot, seconds.
const FIRST_S: f64 = 0.4;
/// Shortest possible time slot, seconds.
const SHORTEST_SLOT_S: f64 = 0.015;
/// Longest possible time slot, seconds.
const LONGEST_SLOT_S: f64 = 0.5;
/// Shortest time slot, and total time of the slots, in a trial with fewer CPUs, seconds.
const COUNT_SLOTS_S: (f64, f64) = (0.17, 3.4);
/// Minimum and maximum number of time slots in a trial with fewer CPUs.
const COUNT_SLOTS: (usize, usize) = (20, 24);
/// Share of the requested CPU time that the lever's busy loops really get.
const HOGS_GET: f64 = 0.92;
/// IDs of the verdicts that are tested with more load.
const MORE_LOAD_FOR: [&str; 3] = ["server-concurrency", "not-saturated", "unknown"];
/// IDs of the verdicts that are tested with fewer CPUs.
const FEWER_CPUS_FOR: [&str; 3] = ["server-cpu", "server-single-thread", "server-concurrency"];
/// Minimum elasticity (relative change of throughput per relative change of speed) of the server's CPU. If the measured
/// elasticity is lower than this minimum, no trial with fewer CPUs follows.
const FOLLOWS: f64 = 0.5;
/// Factor by which a turn (one trial with or without a lever) has fewer requests than a window of the sweep.
const TURN_REQUESTS: f64 = 4.0;
/// Minimum number of requests in a time slot.
const REQUESTS: f64 = 100.0;
/// Minimum length of a time slot, as a multiple of the median response time.
const RESPONSES: f64 = 10.0;
/// Minimum and maximum number of time slots. A real experiment has up to 800 time slots, but the same total number of
/// requests.
const SLOTS: (usize, usize) = (40, 120);
/// Number of time slots in a block. A lever is on in half of each block's time slots. In the last block, the lever is
/// always off.
const BLOCK: usize = 8;
/// Minimum number of connections of an experiment. The minimum number of connections does not apply if no step with so
/// many connections reaches the share [`AS_GOOD`] of the decisive trial's rate.
const CONNECTIONS: f64 = 8.0;
/// Minimum share of the decisive trial's rate that the connections of an experiment must reach.
const AS_GOOD: f64 = 0.85;
/// Maximum number of connections of an experiment.
const MAX_CONNECTIONS: f64 = 1024.0;
/// Number of pairs of turns. Each pair has a load without the lever and a load with the lever.
const PAIRS: usize = 5;

/// Returns the simulated experiment on the verdict of a run.
pub(super) fn prove(world: &World, run: &Run, seed: u64) -> Proof {
    let mut random = fastrand::Rng::with_seed(seed);
    let verdict = &run.findings.bottleneck;
    let can = |lever: &&str| SLOWED.iter().any(|(id, _)| id == lever) || in_turns(world, lever).is_some();
    let levers: Vec<&str> = suspects_of(verdict).map(|suspect| suspect.lever).collect();
    let own = levers.iter().copied().find(can).or(levers.first().copied()).unwrap_or("server-cpu");
    let mut proof = predicted(run, own, DOSE);
    proof.runner_up = SLOWED.iter().filter(|(id, _)| *id != own).find_map(|(id, _)| runner_up(run, id, DOSE));
    let connections = connections(run);
    if let Some(changed) = in_turns(world, own) {
        let (off, on) = ((world, connections), (&changed, connections));
        proof.switched.push(turns(own, (off, on), &mut random));
    }
    if may_be_rate_limit(run) && world.shared {
        let changed = in_turns(world, SOURCES_LEVER).unwrap_or_else(|| world.clone());
        let (off, on) = ((world, connections), (&changed, connections));
        proof.switched.push(turns(SOURCES_LEVER, (off, on), &mut random));
    } else if may_be_unsaturated(run) || MORE_LOAD_FOR.contains(&verdict.id.as_str()) && verdict.waits_for.is_none() {
        let n = run.picked(|picks| picks.decisive).map_or(connections, |decisive| clients(decisive) as u32);
        proof.switched.push(turns(LOAD_LEVER, ((world, n), (world, 2 * n)), &mut random));
    }
    let tests = FEWER_CPUS_FOR.contains(&verdict.id.as_str()) && verdict.waits_for.is_none() && world.server_cpus() > 1;
    let more = tests || proof.switched.iter().any(|switched| switched.lever == LOAD_LEVER);
    let time_s = if more { TIME_BEFORE_MORE_S } else { TIME_S };
    let slots = slots(world, run, (connections, time_s), &mut random);
    let matters = crate::prove::estimate(&slots).map_or(true, |found| found.elasticities[0].value >= FOLLOWS);
    proof.trials.push(slots);
    if tests && matters {
        proof.trials.push(fewer_cpus(world, run, connections, &mut random));
    }
    proof
}

/// Returns the simulated network with `lever` on, if this lever is tested in turns (loads without and with the lever
/// alternate). Returns `None` for a lever that is tested in another way.
fn in_turns(world: &World, lever: &str) -> Option<World> {
    let mut changed = world.clone();
    match lever {
        SOURCES_LEVER => {
            changed.limiter.iter_mut().filter(|limiter| limiter.per_address).for_each(|limiter| limiter.rate *= 2.0);
        }
        "keep-alive" if world.listener.is_some() => {
            changed.steps.retain(|step| *step != Step::Accept);
            changed.reply -= 1;
            changed.listener = None;
        }
        _ => return None,
    }
    Some(changed)
}

/// Returns the smallest number of connections with about the highest rate, but not fewer than the decisive trial had.
/// Returns at least eight if a sweep step with eight or more connections had about the highest rate.
fn connections(run: &Run) -> u32 {
    let Some(decisive) = run.picked(|picks| picks.decisive) else { return CONNECTIONS as u32 };
    let as_good = |t: &&run::Trial| closed(t) && good(t) >= AS_GOOD * good(decisive);
    let more = run.trials.iter().filter(as_good).map(clients).filter(|n| *n >= CONNECTIONS.max(clients(decisive)));
    more.min_by(f64::total_cmp).unwrap_or_else(|| clients(decisive)).clamp(1.0, MAX_CONNECTIONS) as u32
}

/// Measures two worlds (simulated networks) in turns, each with its number of connections. In each pair of turns, the
/// network without the lever (`off`) is measured first, then the network with the lever (`on`).
fn turns(lever: &str, (off, on): ((&World, u32), (&World, u32)), random: &mut fastrand::Rng) -> SwitchTrial {
    let one = |(world, n): (&World, u32), random: &mut fastrand::Rng| {
        let rate = world.limits.iter().map(|limit| limit.rate).fold(f64::INFINITY, f64::min);
        let (warmup_s, length_s) = times(world, TURN_REQUESTS * rate.min(f64::from(n) / world.alone_s));
        measure(world, Load::Closed(n), (warmup_s, length_s), random.u64(..)).good()
    };
    let pairs = (0..PAIRS).map(|_| (one(off, random), one(on, random)));
    let (off, on) = pairs.unzip();
    SwitchTrial { lever: lever.into(), dose: -1.0, off, on, ..SwitchTrial::default() }
}

/// Returns for each of `count` time slots whether a lever is on. The lever is on in a random half of each block's time
/// slots, and off in the whole last block.
fn order(count: usize, random: &mut fastrand::Rng) -> Vec<bool> {
    let mut on = Vec::with_capacity(count);
    while on.len() + BLOCK < count {
        let mut block: Vec<bool> = (0..BLOCK).map(|at| at < BLOCK / 2).collect();
        random.shuffle(&mut block);
        on.extend(block);
    }
    on.truncate(count - BLOCK);
    on.resize(count, false);
    on
}

/// Number and lengths of the time slots of an experiment.
struct Slots {
    count: usize,
    slot_s: f64,
    settle_s: f64,
    connections: u32,
}

impl Slots {
    fn of(run: &Run, connections: u32, (shortest_s, time_s): (f64, f64), (fewest, most): (usize, usize)) -> Self {
        let like = run.trials.iter().rfind(|t| closed(t) && clients(t) == f64::from(connections));
        let (rate, response_s) = like.map_or((1000.0, 0.001), |t| (good(t), t.latency_us.p50 / 1e6));
        let slot_s = (REQUESTS / rate).max(RESPONSES * response_s).clamp(shortest_s, LONGEST_SLOT_S);
        let count = ((time_s / slot_s) as usize).clamp(fewest, most);
        Self { count, slot_s, settle_s: (2.0 * response_s).clamp(0.15 * slot_s, 0.5 * slot_s), connections }
    }

    /// Simulates one load, and returns the counts of each of its time slots. At the start of each time slot, `pull`
    /// switches the levers on or off.
    fn run(&self, world: &World, random: &mut fastrand::Rng, pull: impl Fn(&mut Sim<'_>, usize, f64)) -> Vec<Seen> {
        let mut sim = Sim::new(world, Load::Closed(self.connections), random.u64(..));
        sim.until(FIRST_S.max(2.0 * (world.alone_s + world.think_s)));
        let mut speed = Speed::default();
        let one = |slot| {
            pull(&mut sim, slot, speed.next(world.noise, random));
            let from_s = sim.now_s;
            sim.until(from_s + self.settle_s);
            sim.answers.clear();
            let before = Look::at(&sim);
            sim.until(from_s + self.slot_s);
            seen(&mut sim, &before)
        };
        (0..self.count).map(one).collect()
    }

    fn trial(&self, seen: &[Seen], levers: Vec<LeverSlots>) -> ProofTrial {
        ProofTrial {
            label: format!("proof, {} connections", self.connections),
            slot_s: self.slot_s,
            completed_rate: seen.iter().map(Seen::good).collect(),
            levers,
            ..ProofTrial::default()
        }
    }
}

/// Simulates time slots in which the CPUs of server and generator are slowed.
fn slots(world: &World, run: &Run, (n, time_s): (u32, f64), random: &mut fastrand::Rng) -> ProofTrial {
    let slots = Slots::of(run, n, (SHORTEST_SLOT_S, time_s), SLOTS);
    let on: Vec<Vec<bool>> = SLOWED.iter().map(|_| order(slots.count, random)).collect();
    let all = slots.run(world, random, |sim, slot, speed| {
        for host in 0..sim.cpus.len() {
            let taken = SLOWED.iter().zip(&on).filter(|((_, p), on)| world.programs[*p].host == host && on[slot]);
            sim.cpus[host].left = 1.0 - DOSE * taken.count() as f64;
            sim.cpus[host].speed = speed;
        }
    });
    let levers = SLOWED.iter().zip(on).map(|((id, program), on)| lever(world, (id, *program), on, &all)).collect();
    slots.trial(&all, levers)
}

/// Simulates time slots in which half of the CPUs of the server's host are taken away.
fn fewer_cpus(world: &World, run: &Run, n: u32, random: &mut fastrand::Rng) -> ProofTrial {
    let slots = Slots::of(run, n, COUNT_SLOTS_S, COUNT_SLOTS);
    let (host, on) = (world.programs[SERVER].host, order(slots.count, random));
    let all = world.server_cpus() as f64;
    let taken = (all / 2.0).floor() * HOGS_GET;
    let seen = slots.run(world, random, |sim, slot, speed| {
        sim.cpus.iter_mut().for_each(|cpu| cpu.speed = speed);
        sim.cpus[host].cpus = all - if on[slot] { taken } else { 0.0 };
    });
    let read = |on: &bool, random: &mut fastrand::Rng| {
        1.0 - if *on { taken / all * (1.0 + 0.02 * stats::normal(random)) } else { 0.0 }
    };
    let lever = LeverSlots {
        lever: CPU_COUNT_LEVER.into(),
        host: "beta".into(),
        speed: on.iter().map(|on| read(on, random)).collect(),
        taken: Some(taken / all),
        ordered: Some((all / 2.0).floor() / all),
        on,
        ..LeverSlots::default()
    };
    slots.trial(&seen, vec![lever])
}

/// Speed of the machine, which drifts slowly at random.
#[derive(Default)]
struct Speed {
    ln: f64,
}

impl Speed {
    fn next(&mut self, noise: f64, random: &mut fastrand::Rng) -> f64 {
        self.ln = 0.8 * self.ln + 0.6 * noise * stats::normal(random);
        self.ln.exp()
    }
}

fn lever(world: &World, (id, program): (&str, usize), on: Vec<bool>, seen: &[Seen]) -> LeverSlots {
    let host = world.programs[program].host;
    let cpus = f64::from(world.hosts[host].cpus);
    let of = |seen: &Seen| seen.groups[host][program];
    let speed = |(seen, on): (&Seen, &bool)| {
        let (work, ready) = of(seen);
        if ready > 0.0 { (work / ready).min(1.0) } else { 1.0 - if *on { DOSE } else { 0.0 } }
    };
    let wanted = |seen: &Seen| {
        let (work, ready) = of(seen);
        (ready / cpus).max(work).min(1.0)
    };
    let off: Vec<f64> = seen.iter().zip(&on).filter(|(_, on)| !**on).map(|(seen, _)| wanted(seen)).collect();
    LeverSlots {
        lever: id.into(),
        host: "beta".into(),
        speed: seen.iter().zip(&on).map(speed).collect(),
        taken: Some(DOSE),
        wanted: Some(stats::average(&off)),
        ordered: Some(DOSE),
        on,
        work: None,
    }
}
