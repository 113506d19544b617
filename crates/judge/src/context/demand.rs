//! Demands: the time for which one request occupies each device. In a closed system (a fixed number of clients), the
//! device with the largest demand becomes the bottleneck. The demands identify the future bottleneck even before any
//! device is full. A device with demand D is full at the rate 1 / D. The decisive trial of a run is the load that
//! represents the run.

use run::Trial;

use crate::Facts;
use crate::context::disks;
use crate::context::quota;
use crate::context::single::{good, server_of, sides_of};
use crate::context::view::View;
use crate::generator::client_limit_threads;
use crate::in_flight::upstreams::on_server_cpus;
use crate::number::{positive, ratio};
use crate::signals::medium::medium_use;
use crate::thresholds::SEVERAL_CPUS;

/// A device, and the demand of a request on this device.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// ID of the device as a bottleneck, from [`run::BOTTLENECKS`].
    pub id: &'static str,
    /// Name of the device, in words.
    pub device: String,
    /// Busy seconds of the device per request, divided by the number of units of the device (such as CPUs).
    pub seconds: f64,
    /// Utilization: share of the time for which the device is busy, 0 to 1.
    pub utilisation: f64,
}

impl Demand {
    /// Returns the rate at which the device would be full, requests per second.
    pub fn limit(&self) -> f64 {
        1.0 / self.seconds
    }
}

/// Returns the demands of the decisive trial (which represents the run). The largest demand comes first.
pub fn demands(facts: &Facts<'_>) -> Vec<Demand> {
    let Some(trial) = facts.decisive else { return Vec::new() };
    let Some(x) = positive(good(trial)) else { return Vec::new() };
    let mut out: Vec<Demand> = Vec::new();
    let mut put = |id, device: String, utilisation: Option<f64>| {
        if let Some(u) = utilisation.and_then(positive)
            && let Some(seconds) = ratio(u, x).and_then(positive)
        {
            out.push(Demand { id, device, seconds, utilisation: u });
        }
    };
    if let Some(server) = facts.server() {
        let used = server.cpu_used();
        put("server-cpu", "the server's CPUs".into(), used.zip(server.cpu_allowed()).and_then(|(u, a)| ratio(u, a)));
        if let Some(first) =
            server.threads().first().filter(|_| server.cpu_allowed().is_some_and(|a| a >= SEVERAL_CPUS))
        {
            put("server-single-thread", format!("the server's busiest thread {}", first.name), Some(first.busy));
        }
        put("server-cpu-quota", "the server's CPU quota".into(), quota::used(&server).map(|used| used.value));
        if let Some((name, busy)) = own_disk(&server) {
            put("server-disk", format!("the server's disk {name}"), Some(busy));
        }
    }
    put("client-cpu", "the generator's threads".into(), client_limit_threads(facts));
    if let Some(medium) = medium_use(trial) {
        put("network-medium", "the link".into(), Some(medium.share));
    }
    if let Some((device, used)) = shared_cpus(facts, trial) {
        put("server-cpu", device, Some(used));
    }
    out.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    out
}

/// Returns the name of the CPUs that the server shares with the generator or with upstreams, and their busy share
/// without other programs. Returns `None` if the server shares its CPUs with neither the generator nor an upstream. The
/// CPU time of other programs belongs to no request, so the busy share leaves this time out.
fn shared_cpus(facts: &Facts<'_>, trial: &Trial) -> Option<(String, f64)> {
    let server = server_of(trial);
    let of_upstreams: f64 = server.iter().flat_map(on_server_cpus).map(|task| task.busy).sum();
    let device = match (facts.shared(), of_upstreams > 0.0) {
        (false, false) => return None,
        (true, false) => "the CPUs that client and server share",
        (false, true) => "the CPUs that server and upstreams share",
        (true, true) => "the CPUs that client, server and upstreams share",
    };
    let sides = if facts.shared() { sides_of(trial) } else { server.into_iter().collect() };
    let own: Option<f64> = sides.iter().map(View::cpu_used).sum();
    let host = sides.iter().find_map(View::host)?;
    let used = ratio((own? + of_upstreams + host.softirq).min(host.busy), host.online)?;
    Some((device.into(), used))
}

/// Returns the busiest disk of a side's host (client or server), and the share of the time for which this disk was
/// busy. Returns `None` if the processes of this side neither read nor wrote.
pub(crate) fn own_disk(view: &View<'_>) -> Option<(String, f64)> {
    let own = ["process.read_bytes", "process.write_bytes"].iter().any(|id| view.value(id).is_some_and(|b| b > 0.0));
    let load = disks::fullest(view, view.span_s? * 1e6).filter(|_| own)?;
    let busy = load.busy();
    Some((load.disk, busy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{PlantedRun, Who};

    /// In this test, the server mostly sleeps, and compilers on the same host fill all CPUs. The server completed 11
    /// requests per second. An earlier version of loadline nevertheless reported that it is "full at 4.22/s".
    #[test]
    fn cpu_time_of_other_programs_is_no_demand_of_a_request() {
        let mut planted_run = PlantedRun::new(90_000.0, 11.0).shared();
        for who in [Who::Client, Who::Server] {
            planted_run =
                planted_run.per_s(who, "cpu.user", "total", |_| 3.9e6).per_s(who, "cpu.idle", "total", |_| 0.0);
        }
        let mut run = planted_run.run();
        crate::judge(&mut run);
        let facts = Facts::of(&run);
        let demands = demands(&facts);
        // On four CPUs, a request takes 8 µs of the server's CPU time, 4 µs of the generator's, and 3 µs of soft
        // interrupts.
        let own = demands.iter().filter(|d| d.id == "server-cpu").map(|d| d.seconds).fold(0.0, f64::max);
        assert!(own > 0.0 && own < 10e-6, "{demands:#?}");
        let next = run.findings.bottleneck.next.and_then(|n| n.rate);
        assert!(next.is_none_or(|rate| rate > 1000.0), "{next:?}");
    }
}
