//! How busy each device was in a trial's window, from the raw recordings: busy time over time, bytes over speed, level
//! over limit. Judge weighs these; this page only shows them.

use run::{Recording, Side, Trial, Window};

/// One device and the share of its time that it was busy.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Device {
    /// `server`, `client`, or `host` where both are one.
    pub(super) side: &'static str,
    /// What it is: `processors`, `thread`, `interface`, ….
    pub(super) kind: &'static str,
    /// Which one: `nginx:1234/1240`, `eth0`; may be empty.
    pub(super) instance: String,
    /// 0 to 1: the share of its time, or of its limit.
    pub(super) busy: f64,
}

impl Device {
    /// Side, kind and instance.
    pub(super) fn name(&self) -> String {
        format!("{} {} {}", self.side, self.kind, self.instance).trim_end().into()
    }

    /// Side and kind, for where room is short.
    pub(super) fn short(&self) -> String {
        let kind = if self.kind == "processors" { "cpus" } else { self.kind };
        format!("{} {kind}", self.side)
    }
}

/// The devices of a trial, busiest first. Where both sides are one host, its devices are told once.
pub(super) fn of(trial: &Trial) -> Vec<Device> {
    let window = trial.measured.window;
    let client = &trial.client;
    let mut all = match &trial.server {
        Some(server) => {
            let one_host = !server.host.is_empty() && server.host == client.host;
            let mut all = own("server", server, window);
            all.extend(own("client", client, window));
            all.extend(host(if one_host { "host" } else { "server" }, server, window));
            if !one_host {
                all.extend(host("client", client, window));
            }
            all
        }
        None => {
            let mut all = own("client", client, window);
            all.extend(host("client", client, window));
            all
        }
    };
    all.retain(|d| d.busy.is_finite() && d.busy >= 0.0);
    all.sort_by(|a, b| b.busy.total_cmp(&a.busy).then_with(|| a.name().cmp(&b.name())));
    all
}

/// What belongs to the side's processes.
fn own(side: &'static str, from: &Side, window: Window) -> Vec<Device> {
    let rec = &from.recording;
    let span = rec.span_s(window);
    let mut found = Vec::new();
    for process in &from.processes {
        let thread = full_thread(rec, process, window, span);
        found.extend(thread.map(|(instance, busy)| Device { side, kind: "thread", instance, busy }));
        let of = |id: &str| rec.max(id, process, window).value().unwrap_or(f64::NAN);
        let busy = of("process.fds") / of("process.fd_limit");
        found.push(Device { side, kind: "descriptors", instance: process.clone(), busy });
    }
    found
}

/// What belongs to the host.
fn host(side: &'static str, from: &Side, window: Window) -> Vec<Device> {
    let rec = &from.recording;
    let span = rec.span_s(window);
    let mut found = Vec::new();
    if let Some(busy) = processors(rec, "total", window) {
        found.push(Device { side, kind: "processors", instance: String::new(), busy });
    }
    for column in rec.columns_of("interface.speed") {
        let of = |id: &str| rec.reading(id, &column.instance, window).value().unwrap_or(0.0);
        let most = of("interface.rx_bytes").max(of("interface.tx_bytes"));
        let busy = most / span / of("interface.speed");
        found.push(Device { side, kind: "interface", instance: column.instance.clone(), busy });
    }
    for (id, kind) in [("disk.busy", "disk"), ("medium.busy", "medium")] {
        for column in rec.columns_of(id) {
            let busy = rec.reading(id, &column.instance, window).value().unwrap_or(f64::NAN) / 1e6 / span;
            found.push(Device { side, kind, instance: column.instance.clone(), busy });
        }
    }
    for (level, limit, kind) in LEVELS {
        for column in rec.columns_of(limit) {
            let of = |id: &str| rec.max(id, &column.instance, window).value().unwrap_or(f64::NAN);
            // An accept queue holds one more than its limit.
            let busy = (of(level) / of(limit)).min(1.0);
            found.push(Device { side, kind, instance: column.instance.clone(), busy });
        }
    }
    found
}

/// Levels of the host that have a limit.
const LEVELS: &[(&str, &str, &str)] = &[
    ("listen.queue", "listen.limit", "accept queue"),
    ("conntrack.entries", "conntrack.limit", "conntrack"),
    ("cgroup.memory", "cgroup.memory_limit", "cgroup memory"),
];

/// Busy share of one processor or of all.
fn processors(rec: &Recording, instance: &str, window: Window) -> Option<f64> {
    let part = |id: &str| rec.reading(id, instance, window).value();
    let busy: f64 =
        ["cpu.user", "cpu.system", "cpu.irq", "cpu.softirq", "cpu.steal"].iter().filter_map(|id| part(id)).sum();
    let idle = part("cpu.idle")? + part("cpu.iowait").unwrap_or(0.0);
    (busy + idle > 0.0).then(|| busy / (busy + idle))
}

/// The busiest thread of a process, in shares of one processor.
fn full_thread(rec: &Recording, process: &str, window: Window, span: f64) -> Option<(String, f64)> {
    let prefix = format!("{process}/");
    let threads = rec.columns_of("thread.cpu").filter(|c| c.instance.starts_with(&prefix));
    let used =
        threads.filter_map(|c| Some((c.instance.clone(), rec.reading("thread.cpu", &c.instance, window).value()?)));
    let (name, us) = used.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((name, us / 1e6 / span))
}
