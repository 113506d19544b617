//! Queueing network of one trial, made from the counters and the rate of the trial.

use run::{Intensity, Trial};

use super::{CONCURRENCY, MEDIUM, Model, Part, ServerCpu, part};
use crate::Facts;
use crate::context::demand::own_disk;
use crate::context::laws::service_us;
use crate::context::single::{clients, good, r1_us, refused, server_of};
use crate::context::view::View;
use crate::generator::load_threads;
use crate::in_flight::upstreams::{cpus_with, on_server_cpus};
use crate::number::{positive, ratio};
use crate::signals::medium::{carried, medium_use};
use crate::thresholds::{LINK_USED, WORKS};

impl Model {
    /// Makes the queueing network of one trial of a run with this verdict. The time that no device explains is set
    /// later, by `leave_elsewhere`. Returns `None` if the trial has no good answers.
    pub(crate) fn of(facts: &Facts<'_>, trial: &Trial, verdict: &str) -> Option<Self> {
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
        let lighter =
            facts.unloaded.zip(facts.decisive).is_some_and(|(u, d)| clients(u) <= 1.0 || clients(u) < clients(d));
        model.one_level = !lighter || model.unloaded_s <= 0.0;
        let open = matches!(trial.intensity, Intensity::Open { .. });
        model.arriving_s = positive(trial.latency_us.mean / 1e6).filter(|_| open);
        // If the number of workers limits the server, Little's law gives the number of workers: the rate, multiplied by
        // the response time without waiting. An answer that waits for a delayed acknowledgement occupies no worker.
        let unloaded_us =
            service_us(facts).or_else(|| facts.unloaded.and_then(r1_us)).filter(|_| verdict == CONCURRENCY);
        model.places = unloaded_us.map(|us| (rate * us / 1e6).round().max(1.0));
        Some(model)
    }
}

/// Returns the rate of the link in bytes per second, and the share of this rate that a trial used.
///
/// A full link may have an unknown rate, because of a shaper or a device on the path. An unknown rate of a full link is
/// assumed to be the rate that the link carried in the decisive trial (which represents the run).
fn link(facts: &Facts<'_>, trial: &Trial, verdict: &str) -> Option<(f64, f64)> {
    let known = medium_use(trial).and_then(|medium| Some((medium.evidence.limit?, medium.share)));
    let full = facts.decisive.filter(|_| verdict == MEDIUM && known.is_none_or(|(_, share)| share < LINK_USED));
    let unnamed = full.and_then(carried).and_then(|rate| Some((rate, carried(trial)? / rate)));
    unnamed.or(known)
}

/// Returns the response time with one client in seconds. The wait for a CPU quota is left out, because a request does
/// no work while it waits for the quota.
fn unloaded_s(unloaded: &Trial) -> Option<f64> {
    let held = server_of(unloaded).and_then(|view| view.share_of_time("cgroup.cpu_throttled_time")).unwrap_or(0.0);
    Some(r1_us(unloaded)? / 1e6 * (1.0 - held.clamp(0.0, 1.0)))
}

fn server_cpu(view: &View<'_>, rate: f64, beside_s: f64) -> Option<ServerCpu> {
    let workers = view.workers();
    let working: Vec<f64> = workers.iter().map(|t| t.busy).filter(|busy| *busy >= WORKS).collect();
    let busiest = working.iter().copied().fold(0.0, f64::max);
    let alone = ServerCpu {
        work_s: ratio(view.cpu_used()?, rate).and_then(positive)?,
        beside_s,
        behind_s: 0.0,
        cpus: view.cpu_allowed()?,
        // The busiest thread is full first, however many others do a little work.
        threads: ratio(working.iter().sum(), busiest).unwrap_or(f64::INFINITY),
        quota: view.cpu_quota().unwrap_or(f64::INFINITY),
    };
    Some(with_upstreams(alone, view, rate))
}

/// Adds the CPU time of the upstreams on the server's CPUs. The upstreams may also run on further CPUs. Returns `alone`
/// unchanged if the server's own CPUs are full at a lower rate than all these CPUs together.
fn with_upstreams(alone: ServerCpu, view: &View<'_>, rate: f64) -> ServerCpu {
    let behind = on_server_cpus(view);
    let used: f64 = behind.iter().map(|task| task.busy).sum();
    let together = cpus_with(view, &behind).zip(ratio(used, rate).and_then(positive));
    let together = together.map(|(cpus, behind_s)| ServerCpu { behind_s, cpus, ..alone });
    let limit = |cpu: &ServerCpu| cpu.cpus / cpu.on_cpus_s();
    together.filter(|together| limit(together) <= limit(&alone)).unwrap_or(alone)
}

/// Returns the mean think time between an answer and the next request, seconds.
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
