//! Figures of one measured window: the difference between two snapshots of a simulation.

use super::sim::{Load, Sim, Sums};
use super::world::World;

/// Number of samples in a window's recording.
pub(super) const SAMPLES: usize = 5;

/// Snapshot of all counters of a simulation at one time.
#[derive(Clone, Debug)]
pub(super) struct Look {
    at_s: f64,
    sums: Sums,
    /// CPU time of each thread, and time for which it waited for a CPU, seconds.
    threads: Vec<(f64, f64)>,
    /// For each host and program: CPU time of the program's threads, and time for which they were ready, summed over
    /// threads, seconds.
    groups: Vec<Vec<(f64, f64)>>,
    /// Number of periods of each program's quota, and number of periods in which the quota ran out.
    quotas: Vec<(f64, f64)>,
}

/// Results of one measured window.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) load: Load,
    pub(super) length_s: f64,
    /// Time under load before the window, seconds.
    pub(super) warmup_s: f64,
    /// Number of connects that were dropped in the time under load before the window.
    pub(super) dropped_before: f64,
    /// Number of connections that waited to be accepted, for each sample of the window.
    pub(super) backlog: Vec<usize>,
    /// Growth of the simulation's sums in the window, per second.
    pub(super) per_s: Sums,
    /// CPU use of each thread in CPUs, and share of the window for which the thread waited for a CPU.
    pub(super) threads: Vec<(f64, f64)>,
    /// Index of the program of each thread.
    pub(super) program: Vec<usize>,
    /// For each host and program: CPU use of the program's threads in CPUs, and mean number of its ready threads.
    pub(super) groups: Vec<Vec<(f64, f64)>>,
    /// Number of periods of each program's quota, and number of periods in which the quota ran out.
    pub(super) quotas: Vec<(f64, f64)>,
    /// Response time and connect time of each answer, seconds, sorted by response time.
    pub(super) answers: Vec<(f64, f64)>,
}

impl Look {
    pub(super) fn at(sim: &Sim<'_>) -> Self {
        let threads = sim.threads.iter().map(|thread| {
            let host = sim.world.programs.get(thread.program).map_or(0, |program| program.host);
            let (share, speed) = (sim.cpus[host].share(), sim.cpus[host].speed);
            // CPU time that the thread's unfinished work has used so far.
            let under_way = thread.running.map_or(0.0, |(_, from_s, work_s)| {
                let part_s = (sim.now_s - from_s) * share;
                part_s.min(work_s / speed)
            });
            let waits = thread.running.map_or(0.0, |(_, from_s, _)| sim.now_s - from_s - under_way);
            (thread.cpu_s + under_way, thread.wait_s + waits)
        });
        let of = |cpu: &super::cpu::Cpu| cpu.groups.iter().map(|group| (group.work_s, group.ready_s)).collect();
        let quota = |(at, program): (usize, &super::world::Program)| {
            sim.cpus[program.host].groups[at].quota().map_or((0.0, 0.0), |quota| (quota.periods, quota.hit))
        };
        Self {
            at_s: sim.now_s,
            sums: sim.sums,
            threads: threads.collect(),
            groups: sim.cpus.iter().map(of).collect(),
            quotas: sim.world.programs.iter().enumerate().map(quota).collect(),
        }
    }
}

/// Runs a load on a simulated network for `warmup_s` seconds, and then measures a window of `length_s` seconds.
pub(super) fn measure(world: &World, load: Load, (warmup_s, length_s): (f64, f64), seed: u64) -> Seen {
    let mut sim = Sim::new(world, load, seed);
    let speed = (world.noise * stats::normal(&mut sim.random)).exp();
    sim.cpus.iter_mut().for_each(|cpu| cpu.speed = speed);
    sim.until(warmup_s);
    sim.answers.clear();
    let before = Look::at(&sim);
    let mut backlog = vec![sim.backlog.len()];
    for sample in 1..SAMPLES {
        sim.until(warmup_s + length_s * sample as f64 / (SAMPLES - 1) as f64);
        backlog.push(sim.backlog.len());
    }
    Seen { backlog, ..seen(&mut sim, &before) }
}

/// Returns the figures of the time since the snapshot `before`.
pub(super) fn seen(sim: &mut Sim<'_>, before: &Look) -> Seen {
    let after = Look::at(sim);
    let length_s = after.at_s - before.at_s;
    let pair =
        |(a, b): (&(f64, f64), &(f64, f64))| (((a.0 - b.0) / length_s).max(0.0), ((a.1 - b.1) / length_s).max(0.0));
    let pairs = |a: &[(f64, f64)], b: &[(f64, f64)]| a.iter().zip(b).map(pair).collect::<Vec<_>>();
    let mut answers = std::mem::take(&mut sim.answers);
    answers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let quotas = after.quotas.iter().zip(&before.quotas).map(|(a, b)| (a.0 - b.0, a.1 - b.1)).collect();
    Seen {
        load: sim.load,
        length_s,
        warmup_s: before.at_s,
        dropped_before: before.sums.dropped,
        backlog: Vec::new(),
        per_s: after.sums.since(&before.sums, length_s),
        threads: pairs(&after.threads, &before.threads),
        program: sim.threads.iter().map(|thread| thread.program).collect(),
        groups: after.groups.iter().zip(&before.groups).map(|(a, b)| pairs(a, b)).collect(),
        quotas,
        answers,
    }
}

impl Sums {
    fn since(&self, before: &Self, length_s: f64) -> Self {
        let of = |field: fn(&Self) -> f64| (field(self) - field(before)) / length_s;
        Self {
            in_flight: of(|s| s.in_flight),
            unread: of(|s| s.unread),
            answers_unread: of(|s| s.answers_unread),
            backend_connections: of(|s| s.backend_connections),
            backend_unread: of(|s| s.backend_unread),
            due: of(|s| s.due),
            sent: of(|s| s.sent),
            refused: of(|s| s.refused),
            dropped: of(|s| s.dropped),
            accepted: of(|s| s.accepted),
        }
    }
}

impl Seen {
    /// Returns the completed requests per second, including refused requests.
    pub(super) fn rate(&self) -> f64 {
        self.answers.len() as f64 / self.length_s
    }

    /// Returns the good answers per second.
    pub(super) fn good(&self) -> f64 {
        (self.rate() - self.per_s.refused).max(0.0)
    }

    /// Returns the summary of the response times, microseconds.
    pub(super) fn latency_us(&self) -> run::Summary {
        summary(&self.answers.iter().map(|a| a.0 * 1e6).collect::<Vec<_>>(), 0.0)
    }
}

/// Summarizes times that are sorted in ascending order. Adds `more_us` to each time. All times are microseconds.
pub(super) fn summary(times_us: &[f64], more_us: f64) -> run::Summary {
    let place = |share: f64| (share * times_us.len() as f64) as usize;
    let at = |share: f64| times_us.get(place(share)).or(times_us.last()).copied().unwrap_or(0.0) + more_us;
    run::Summary {
        count: times_us.len() as u64,
        mean: times_us.iter().sum::<f64>() / (times_us.len() as f64).max(1.0) + more_us,
        min: at(0.0),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p99_9: at(0.999),
        max: at(1.0),
        ..run::Summary::default()
    }
}
