//! Demands: the time that one request holds each device. The largest is the bottleneck of a closed system, full or not,
//! and 1 / D is the rate at which a device would be full. From this comes what would stop the server next.

use run::NextBottleneck;

use crate::Facts;
use crate::facts::sides_of;
use crate::number::{duration, positive, rate, ratio};
use crate::rules::{client_limit_threads, medium_use};

/// One device and what a request asks of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The bottleneck that it would be, one id of [`run::BOTTLENECKS`].
    pub id: &'static str,
    /// The device in words.
    pub device: String,
    /// Seconds a request, spread over what there is of the device (processors).
    pub seconds: f64,
    /// Share of the time that it was in use, 0 to 1.
    pub utilisation: f64,
}

impl Demand {
    /// The rate at which it would be full, requests per second.
    pub fn limit(&self) -> f64 {
        1.0 / self.seconds
    }
}

/// The demands of the decisive trial, largest first.
pub fn demands(facts: &Facts<'_>) -> Vec<Demand> {
    let Some(trial) = facts.decisive else { return Vec::new() };
    let Some(x) = positive(trial.rates.completed_rate) else { return Vec::new() };
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
        put(
            "server-cpu",
            "the server's processors".into(),
            used.zip(server.cpu_allowed()).and_then(|(u, a)| ratio(u, a)),
        );
        if let Some(first) = server.threads().first().filter(|_| server.cpu_allowed().is_some_and(|a| a >= 1.5)) {
            put("server-single-thread", format!("the server's busiest thread {}", first.name), Some(first.busy));
        }
        let quota = server.value("cgroup.cpu_quota").and_then(positive);
        put("server-cpu-quota", "the server's processor quota".into(), used.zip(quota).and_then(|(u, q)| ratio(u, q)));
        let span_us = server.span_s.unwrap_or(0.0) * 1e6;
        let own =
            ["process.read_bytes", "process.write_bytes"].iter().any(|id| server.value(id).is_some_and(|b| b > 0.0));
        let disks = server.instances("disk.busy").into_iter().filter_map(|(n, us)| Some((n, ratio(us, span_us)?)));
        if let Some((name, busy)) = disks.filter(|_| own).max_by(|a, b| a.1.total_cmp(&b.1)) {
            put("server-disk", format!("the server's disk {name}"), Some(busy));
        }
    }
    put("client-cpu", "the generator's threads".into(), client_limit_threads(facts));
    if let Some(medium) = medium_use(trial) {
        put("network-medium", "the link".into(), Some(medium.share));
    }
    if facts.shared() {
        let host = sides_of(trial).into_iter().find_map(|v| v.host());
        let device = "the processors that client and server share".to_string();
        put("server-cpu", device, host.and_then(|h| ratio(h.busy, h.online)));
    }
    out.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    out
}

/// What would stop the server once the bottleneck `id` is gone.
pub(crate) fn next(facts: &Facts<'_>, id: &str) -> Option<NextBottleneck> {
    let found = demands(facts).into_iter().find(|d| d.id != id && !same_resource(id, d.id))?;
    let limit = positive(found.limit())?;
    Some(NextBottleneck {
        id: found.id.into(),
        rate: Some(limit),
        why: format!(
            "a request holds {} for {}, the largest demand after it: full at {}",
            found.device,
            duration(found.seconds * 1e6),
            rate(limit)
        ),
    })
}

/// Whether `other` is only another view of what binds already.
fn same_resource(id: &str, other: &str) -> bool {
    matches!((id, other), ("server-cpu", "server-single-thread") | ("server-cpu-quota", "server-cpu"))
}
