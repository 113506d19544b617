//! A run as a queueing network: what a request holds, for how long, and how much of it there is.
//!
//! A CPU quota is no slower CPU but a cap: requests are served at full speed until the period's time is used up, then none
//! is. So it makes no request longer as long as the others leave it room, and lets no more through than it gives CPU for.

use run::{Intensity, Trial};

use super::contention::Contention;
use crate::Facts;
use crate::demand::own_disk;
use crate::generator::load_threads;
use crate::number::{positive, ratio};
use crate::rules::{carried, medium_use};
use crate::single::{clients, good, r1_us, refused, server_of};
use crate::thresholds::WORKS;
use crate::view::View;
use stats::queueing::{Servers, Station};

/// The verdict that the number of places stops a server.
const CONCURRENCY: &str = "server-concurrency";
/// The verdict that the link is full.
const MEDIUM: &str = "network-medium";
/// The verdicts of the server's CPU.
const CPUS: &str = "server-cpu";
const THREADS: &str = "server-single-thread";
const QUOTA: &str = "server-cpu-quota";
/// Share from which a link whose rate is known is the one that is full.
const FULL: f64 = 0.5;

/// The server's CPU: what a request takes, and the least of three says how much there is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServerCpu {
    /// CPU time per request, seconds.
    pub(super) work_s: f64,
    /// CPU time per request of the generator where it lives on the same CPUs, seconds.
    pub(super) beside_s: f64,
    /// CPUs that it may use.
    pub(super) cpus: f64,
    /// Threads that work; infinite where they are not known.
    pub(super) threads: f64,
    /// CPUs that its control group allows it; infinite without one.
    pub(super) quota: f64,
}

/// One place where a request spends time.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) id: &'static str,
    pub(super) device: String,
    /// Time that one request holds one unit, seconds.
    pub(super) work_s: f64,
    /// Units; infinite where nothing waits.
    pub(super) units: f64,
    /// Whether it caps the rate and slows nothing below that.
    pub(super) cap: bool,
}

impl Part {
    /// Requests per second at which it is full.
    pub(super) fn limit(&self) -> f64 {
        self.units / self.work_s
    }

    /// Of a share of a unit, as the link of a container may be, a request holds all for so much longer.
    pub(super) fn station(&self) -> Station {
        if self.units.is_infinite() {
            return Station::delay(self.work_s);
        }
        let servers = self.units.ceil().clamp(1.0, 4096.0);
        Station { demand_s: self.work_s * servers / self.units, servers: Servers::Some(servers as u32) }
    }
}

/// The network of a trial.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) server_cpu: Option<ServerCpu>,
    /// Disk, generator and link, each one unit or more.
    pub(super) others: Vec<Part>,
    /// What the link carries, bytes per second.
    pub(super) link_bytes_per_s: Option<f64>,
    /// Requests that the server works on at a time where that is what stops it.
    pub(super) places: Option<f64>,
    /// Response time with one client, seconds, without what a quota held.
    pub(super) unloaded_s: f64,
    /// What a request waits for elsewhere: a distance, a sleep, a wake-up; seconds.
    pub(super) elsewhere_s: f64,
    pub(super) users: u32,
    pub(super) think_s: f64,
    /// Requests per second that arrive at random, in place of users.
    pub(super) arrivals: Option<f64>,
    /// What clients cost each other beyond that; absent where it is not told from nothing.
    pub(super) contention: Option<Contention>,
    /// Good answers per second that the trial completed.
    pub(super) rate: f64,
    /// Good answers in the time that was measured: its weight beside other trials.
    pub(super) requests: f64,
}

impl Model {
    /// The network of one trial of a run with this verdict; `None` where it completed nothing.
    pub(super) fn of(facts: &Facts<'_>, trial: &Trial, verdict: &str) -> Option<Self> {
        let rate = positive(good(trial))?;
        let server = server_of(trial);
        let shared = facts.shared();
        let client = View::new("client", trial, &trial.client);
        let beside_s = client.cpu_used().filter(|_| shared).map_or(0.0, |used| used / rate);
        let mut model = Self {
            server_cpu: server.as_ref().and_then(|view| server_cpu(view, rate, beside_s)),
            users: clients(trial).round().clamp(1.0, f64::from(u32::MAX)) as u32,
            think_s: think_s(trial),
            rate,
            requests: trial.measured.tally.completed as f64 * (1.0 - refused(trial)),
            ..Self::default()
        };
        model.others.extend(server.as_ref().and_then(|view| disk(view, rate)));
        if !shared {
            model.others.extend(generator(facts, &client, rate));
        }
        if let Some((carries, share)) = link(facts, trial, verdict) {
            model.link_bytes_per_s = Some(carries);
            model.others.extend(part(MEDIUM, "the link".into(), share / rate, 1.0));
        }
        model.unloaded_s = facts.unloaded.and_then(unloaded_s).unwrap_or(0.0);
        model.leave_elsewhere();
        // As many places as the knee shows, where the verdict is that their number stops the server.
        let unloaded_us = facts.unloaded.and_then(r1_us).filter(|_| verdict == CONCURRENCY);
        model.places = unloaded_us.map(|us| (rate * us / 1e6).round().max(1.0));
        Some(model)
    }

    /// What the devices leave of the response time of one client, a request spends elsewhere.
    pub(super) fn leave_elsewhere(&mut self) {
        self.elsewhere_s = 0.0;
        let busy_s: f64 = self.parts().iter().filter(|p| !p.cap).map(|p| p.station().demand_s).sum();
        self.elsewhere_s = (self.unloaded_s - busy_s).max(0.0);
    }

    /// So many times as much of a resource.
    pub(super) fn times(&mut self, id: &str, factor: f64) {
        match (id, &mut self.server_cpu) {
            (CPUS, Some(cpu)) => cpu.cpus *= factor,
            (THREADS, Some(cpu)) => cpu.threads *= factor,
            (QUOTA, Some(cpu)) => cpu.quota *= factor,
            (CONCURRENCY, _) => self.places = self.places.map(|places| places * factor),
            // What a link carries faster is on it for a shorter time; of all else there are more.
            (MEDIUM, _) => self.others.iter_mut().filter(|p| p.id == id).for_each(|p| p.work_s /= factor),
            _ => self.others.iter_mut().filter(|p| p.id == id).for_each(|p| p.units *= factor),
        }
    }

    /// All that can be full, each by itself: a CPU that no thread uses is no help, and a thread without one neither.
    pub(super) fn resources(&self) -> Vec<Part> {
        let cpu = self.server_cpu.iter().flat_map(ServerCpu::resources);
        let others = self.parts().into_iter().filter(|p| ![CPUS, THREADS, QUOTA].contains(&p.id));
        cpu.chain(others).filter(|p| p.units.is_finite()).collect()
    }

    /// All places, those of the server's workers included.
    pub(super) fn parts(&self) -> Vec<Part> {
        let cpu = self.server_cpu.iter().flat_map(ServerCpu::parts);
        let mut parts: Vec<Part> = cpu.chain(self.others.iter().cloned()).collect();
        let (device, units) = self.places.map_or(("elsewhere", f64::INFINITY), |units| ("the server's workers", units));
        parts.extend(part(CONCURRENCY, device.into(), self.elsewhere_s, units));
        parts
    }
}

impl ServerCpu {
    /// The CPUs or the threads, whichever are fewer, and the quota where there is one.
    fn parts(&self) -> Vec<Part> {
        let [cpus, threads, quota] = self.each();
        let worked = if self.threads < self.cpus { threads } else { cpus };
        worked.into_iter().chain(quota.filter(|p| p.units.is_finite())).collect()
    }

    /// CPUs, threads and quota, whichever is known.
    fn resources(&self) -> Vec<Part> {
        self.each().into_iter().flatten().collect()
    }

    fn each(&self) -> [Option<Part>; 3] {
        let cpus = if self.beside_s > 0.0 { "the CPUs that server and generator share" } else { "the server's CPUs" };
        let quota = part(QUOTA, "the server's CPU quota".into(), self.work_s, self.quota);
        [
            part(CPUS, cpus.into(), self.work_s + self.beside_s, self.cpus),
            part(THREADS, "the server's threads".into(), self.work_s, self.threads),
            quota.map(|p| Part { cap: true, ..p }),
        ]
    }
}

/// What the link carries, bytes per second, and the share of it that a trial used. Of a link that is full and whose rate
/// nobody told (a shaper, something on the way), what it carried when it was full is its rate.
fn link(facts: &Facts<'_>, trial: &Trial, verdict: &str) -> Option<(f64, f64)> {
    let known = medium_use(trial).and_then(|medium| Some((medium.evidence.limit?, medium.share)));
    let full = facts.decisive.filter(|_| verdict == MEDIUM && known.is_none_or(|(_, share)| share < FULL));
    let unnamed = full.and_then(carried).and_then(|rate| Some((rate, carried(trial)? / rate)));
    unnamed.or(known)
}

/// The response time with one client in seconds, without what a quota held: that is no part of a request.
fn unloaded_s(unloaded: &Trial) -> Option<f64> {
    let held = server_of(unloaded).and_then(|view| view.share_of_time("cgroup.cpu_throttled_time")).unwrap_or(0.0);
    Some(r1_us(unloaded)? / 1e6 * (1.0 - held.clamp(0.0, 1.0)))
}

fn part(id: &'static str, device: String, work_s: f64, units: f64) -> Option<Part> {
    positive(work_s).map(|work_s| Part { id, device, work_s, units, cap: false })
}

fn server_cpu(view: &View<'_>, rate: f64, beside_s: f64) -> Option<ServerCpu> {
    let working = view.workers().iter().filter(|t| t.busy >= WORKS).count();
    Some(ServerCpu {
        work_s: ratio(view.cpu_used()?, rate).and_then(positive)?,
        beside_s,
        cpus: view.cpu_allowed()?,
        threads: if working == 0 { f64::INFINITY } else { working as f64 },
        quota: view.value("cgroup.cpu_quota").and_then(positive).unwrap_or(f64::INFINITY),
    })
}

/// Mean time that a client thought between an answer and the next request, seconds.
fn think_s(trial: &Trial) -> f64 {
    match &trial.intensity {
        Intensity::Closed { think, .. } | Intensity::SClients { think, .. } => think.mean_ms / 1e3,
        Intensity::Open { .. } => 0.0,
    }
}

fn disk(view: &View<'_>, rate: f64) -> Option<Part> {
    let (name, busy) = own_disk(view)?;
    part("server-disk", format!("the server's disk {name}"), busy / rate, 1.0)
}

fn generator(facts: &Facts<'_>, client: &View<'_>, rate: f64) -> Option<Part> {
    let threads = load_threads(facts, client);
    let busy: f64 = threads.iter().map(|t| t.busy).sum();
    part("client-cpu", "the generator's threads".into(), busy / rate, threads.len().max(1) as f64)
}
