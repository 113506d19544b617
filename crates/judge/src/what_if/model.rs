//! A run as a queueing network. For each resource, the queueing network contains the number of units, and the time for
//! which a request occupies one unit. The decisive trial of a run is the load that represents the run.
//!
//! A CPU quota limits the CPU time in each period, but does not make the CPU slower. Requests run at full speed until
//! the CPU time of the period is used up, and then no request runs until the next period. A quota therefore limits the
//! requests per second, but slows no request while CPU time is left.

mod of_trial;

use std::collections::BTreeMap;

use super::contention::Contention;
use crate::number::positive;
use stats::queueing::{Servers, Station};

/// ID of the verdict that the number of workers limits the server.
pub(super) const CONCURRENCY: &str = "server-concurrency";
/// ID of the verdict that the link is full.
const MEDIUM: &str = "network-medium";
/// ID of the verdict that the server's CPUs are full.
pub(super) const CPUS: &str = "server-cpu";
/// ID of the verdict that one thread of the server is full.
const THREADS: &str = "server-single-thread";
/// ID of the verdict that the server's CPU quota runs out.
const QUOTA: &str = "server-cpu-quota";

/// CPU of the server: the demand of a request, and three limits. The lowest of the three limits on the CPU use applies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServerCpu {
    /// CPU time of the server per request, seconds.
    pub(super) work_s: f64,
    /// CPU time of the generator per request, seconds; 0 if the generator does not share the server's CPUs.
    pub(super) beside_s: f64,
    /// CPU time of the upstreams on the server's CPUs per request, seconds.
    pub(super) behind_s: f64,
    /// CPUs that the server may use, together with the upstreams in `behind_s`.
    pub(super) cpus: f64,
    /// Number of the server's threads that work; infinite if unknown.
    pub(super) threads: f64,
    /// CPUs of the control group's quota; infinite without a quota.
    pub(super) quota: f64,
}

/// Resource in the queueing network, such as a disk or the link.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) id: &'static str,
    pub(super) device: String,
    /// Time for which a request occupies one unit, seconds.
    pub(super) work_s: f64,
    /// Number of units of the resource; infinite if requests never wait.
    pub(super) units: f64,
    /// True if the resource limits the rate, but slows no request at lower rates.
    pub(super) cap: bool,
}

impl Part {
    /// Returns the requests per second at which the resource is full.
    pub(super) fn limit(&self) -> f64 {
        self.units / self.work_s
    }

    /// Returns the queue of the resource, with the nearest whole number of servers. If the number of servers is
    /// rounded, their speed is scaled so that the total capacity stays the same. For example, half of a link becomes
    /// one server at half speed.
    pub(super) fn station(&self) -> Station {
        if self.units.is_infinite() {
            return Station::delay(self.work_s);
        }
        let servers = self.units.round().clamp(1.0, 4096.0);
        Station { demand_s: self.work_s * servers / self.units, servers: Servers::Some(servers as u32) }
    }
}

/// Queueing network of a trial.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) server_cpu: Option<ServerCpu>,
    /// Disk of the server, threads of the generator, and link.
    pub(super) others: Vec<Part>,
    /// Maximum rate of the link, bytes per second; `None` if unknown.
    pub(super) link_bytes_per_s: Option<f64>,
    /// Number of requests that the server can handle at the same time; `None` if this number does not limit the server.
    pub(super) places: Option<f64>,
    /// Response time with one client, seconds, without the wait for a quota.
    pub(super) unloaded_s: f64,
    /// Part of a request's time that no device explains, seconds: network path, sleeps and wake-ups.
    pub(super) elsewhere_s: f64,
    /// True if no trial has a lighter load than the decisive trial (which represents the run). A single load level does
    /// not show how much of the response time is waiting.
    pub(super) one_level: bool,
    /// Mean response time of the trial in seconds, if the load was an open loop.
    pub(super) arriving_s: Option<f64>,
    pub(super) users: u32,
    pub(super) think_s: f64,
    /// Requests per second that arrive at random, if requests come at a rate rather than from users.
    pub(super) arrivals: Option<f64>,
    /// Contention between clients; `None` if the contention may be zero.
    pub(super) contention: Option<Contention>,
    /// Good answers per second of the trial.
    pub(super) rate: f64,
    /// Weight of the trial among other trials: the trial's number of good answers.
    pub(super) requests: f64,
    /// For a resource's ID, the factor that adjusts the resource's limit to the highest measured rate.
    pub(super) usable: BTreeMap<&'static str, f64>,
}

impl Model {
    /// Returns this model with a limited number of workers, which requests occupy during the time that no device
    /// explains ([`Self::elsewhere_s`]). In the returned model, all workers are in use, so further clients wait for a
    /// worker.
    ///
    /// If a run has a single load level, a limited number of workers and a delay of each request look the same. Returns
    /// `None` if the run has several load levels, no unexplained time, or a known number of workers.
    pub(super) fn in_places(&self) -> Option<Self> {
        let some = self.one_level && self.places.is_none() && self.elsewhere_s > 0.0;
        some.then(|| Self { places: Some((self.rate * self.elsewhere_s).round().max(1.0)), ..self.clone() })
    }

    /// Adjusts the limits of the resources to the highest measured rate, `most`. After the adjustment, no resource is
    /// full below `most`, and the bottleneck is full at `most`.
    pub(super) fn calibrated(mut self, most: f64, full: Option<&'static str>) -> Self {
        for part in self.resources() {
            let share = most / part.limit();
            if share.is_finite() && share > 0.0 && (share > 1.0 || full == Some(part.id)) {
                *self.usable.entry(part.id).or_insert(1.0) *= share;
            }
        }
        self
    }

    /// Multiplies the amount of a resource by a factor.
    pub(super) fn times(&mut self, id: &str, factor: f64) {
        match (id, &mut self.server_cpu) {
            (CPUS, Some(cpu)) => cpu.cpus *= factor,
            (THREADS, Some(cpu)) => cpu.threads *= factor,
            (QUOTA, Some(cpu)) => cpu.quota *= factor,
            (CONCURRENCY, _) => self.places = self.places.map(|places| places * factor),
            // A faster link carries a request in less time. A change of any other resource changes its number of units.
            (MEDIUM, _) => self.others.iter_mut().filter(|p| p.id == id).for_each(|p| p.work_s /= factor),
            _ => self.others.iter_mut().filter(|p| p.id == id).for_each(|p| p.units *= factor),
        }
    }

    /// Returns all resources that can be full. CPUs and threads are separate resources: a CPU without a thread does not
    /// help, nor does a thread without a CPU.
    pub(super) fn resources(&self) -> Vec<Part> {
        let cpu = self.server_cpu.iter().flat_map(ServerCpu::resources);
        cpu.chain(self.others()).map(|part| self.used_part(part)).filter(|p| p.units.is_finite()).collect()
    }

    /// Returns all resources, including the server's workers. Of the CPUs and the threads, returns only the resource
    /// that is full first. If the threads are full first, the CPU time of a generator and of upstreams on the same CPUs
    /// counts as a delay of each request.
    pub(super) fn parts(&self) -> Vec<Part> {
        let cpu: Vec<Part> = self.server_cpu.iter().flat_map(ServerCpu::resources).map(|p| self.used_part(p)).collect();
        let computes = |part: &&Part| [CPUS, THREADS].contains(&part.id);
        let first = cpu.iter().filter(computes).min_by(|a, b| a.limit().total_cmp(&b.limit())).cloned();
        let quota = cpu.iter().filter(|part| part.id == QUOTA).cloned();
        let [beside_s, behind_s] = self.server_cpu.map_or([0.0; 2], |cpu| [cpu.beside_s, cpu.behind_s]);
        let threads = first.as_ref().filter(|part| part.id == THREADS);
        let delay = |device: &str, work_s| threads.and_then(|_| part("", device.into(), work_s, f64::INFINITY));
        let beside: Vec<Part> =
            delay("the generator", beside_s).into_iter().chain(delay("the upstreams", behind_s)).collect();
        first
            .clone()
            .into_iter()
            .chain(beside)
            .chain(quota)
            .chain(self.others().map(|part| self.used_part(part)))
            .collect()
    }

    /// Returns the resources other than the server's CPU.
    fn others(&self) -> impl Iterator<Item = Part> {
        let (device, units) = self.places.map_or(("elsewhere", f64::INFINITY), |units| ("the server's workers", units));
        self.others.iter().cloned().chain(part(CONCURRENCY, device.into(), self.elsewhere_s, units))
    }

    /// Returns a resource with its number of units adjusted to the highest measured rate.
    fn used_part(&self, part: Part) -> Part {
        Part { units: part.units * self.usable.get(part.id).copied().unwrap_or(1.0), ..part }
    }
}

impl ServerCpu {
    /// Returns the CPUs, the threads and the quota, as far as known.
    fn resources(&self) -> Vec<Part> {
        let [cpus, threads, quota] = self.each();
        let known = |p: &Part| p.units.is_finite();
        cpus.into_iter().chain(threads.filter(known)).chain(quota.filter(known)).collect()
    }

    /// Returns the CPU time per request of all programs of the load on the server's CPUs, seconds.
    fn on_cpus_s(&self) -> f64 {
        self.work_s + self.beside_s + self.behind_s
    }

    fn each(&self) -> [Option<Part>; 3] {
        let cpus = match (self.beside_s > 0.0, self.behind_s > 0.0) {
            (false, false) => "the server's CPUs",
            (true, false) => "the CPUs that server and generator share",
            (false, true) => "the CPUs that server and upstreams share",
            (true, true) => "the CPUs that server, upstreams and generator share",
        };
        let quota = part(QUOTA, "the server's CPU quota".into(), self.work_s, self.quota);
        [
            part(CPUS, cpus.into(), self.on_cpus_s(), self.cpus),
            part(THREADS, "the server's threads".into(), self.work_s, self.threads),
            quota.map(|p| Part { cap: true, ..p }),
        ]
    }
}

fn part(id: &'static str, device: String, work_s: f64, units: f64) -> Option<Part> {
    positive(work_s).map(|work_s| Part { id, device, work_s, units, cap: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link may carry 6 % more than its nominal rate. An earlier version of loadline modelled such a link as two
    /// links of half the speed, and predicted half of the real throughput for one client.
    #[test]
    fn a_link_with_slightly_more_than_its_nominal_rate_is_still_one_link() {
        let demand_s =
            |units: f64| Part { units, ..part(MEDIUM, String::new(), 0.01, 1.0).unwrap() }.station().demand_s;
        assert!((demand_s(1.06) - 0.01 / 1.06).abs() < 1e-9 && (demand_s(0.5) - 0.02).abs() < 1e-9);
    }
}
