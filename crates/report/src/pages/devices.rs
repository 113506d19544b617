//! How busy each device was in a trial's window, from the raw recordings: busy time over time, bytes over speed, level
//! over limit. Judge weighs these; this page only shows them.

use run::{Recording, Side, Trial, Window};

/// One device and the share of its time that it was busy.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Device {
    /// Side and instance: `server nginx:1234`.
    pub(super) name: String,
    /// Which side it is on.
    pub(super) side: &'static str,
    /// 0 to 1; a process may use several processors, then its share is that of all that it may use.
    pub(super) busy: f64,
}

/// The devices of a trial, busiest first.
pub(super) fn of(trial: &Trial) -> Vec<Device> {
    let window = trial.measured.window;
    let mut all = side("client", &trial.client, window);
    if let Some(server) = &trial.server {
        all.extend(side("server", server, window));
    }
    all.retain(|d| d.busy.is_finite() && d.busy >= 0.0);
    all.sort_by(|a, b| b.busy.total_cmp(&a.busy).then_with(|| a.name.cmp(&b.name)));
    all
}

fn side(name: &'static str, side: &Side, window: Window) -> Vec<Device> {
    let rec = &side.recording;
    let span = rec.span_s(window);
    if span.is_nan() || span <= 0.0 {
        return Vec::new();
    }
    let device = |what: String, busy: f64| Device { name: format!("{name} {what}"), side: name, busy };
    let mut found = Vec::new();
    if let Some(busy) = processors(rec, "total", window) {
        found.push(device("processors".into(), busy));
    }
    for process in &side.processes {
        found.extend(
            full_thread(rec, process, window, span).map(|(thread, busy)| device(format!("thread {thread}"), busy)),
        );
    }
    for column in rec.columns_of("interface.speed") {
        let bytes = |id: &str| rec.reading(id, &column.instance, window).value().unwrap_or(0.0);
        let speed = rec.reading("interface.speed", &column.instance, window).value().unwrap_or(f64::NAN);
        let most = bytes("interface.rx_bytes").max(bytes("interface.tx_bytes"));
        found.push(device(format!("interface {}", column.instance), most / span / speed));
    }
    for (id, kind) in [("disk.busy", "disk"), ("medium.busy", "medium")] {
        for column in rec.columns_of(id) {
            let busy = rec.reading(id, &column.instance, window).value().unwrap_or(f64::NAN);
            found.push(device(format!("{kind} {}", column.instance), busy / 1e6 / span));
        }
    }
    for (level, limit, kind) in LEVELS {
        for column in rec.columns_of(limit).filter(|c| ours(limit, &c.instance, &side.processes)) {
            let of = |id: &str| rec.max(id, &column.instance, window).value().unwrap_or(f64::NAN);
            found.push(device(format!("{kind} {}", column.instance).trim_end().into(), of(level) / of(limit)));
        }
    }
    found
}

/// Levels that have a limit.
const LEVELS: &[(&str, &str, &str)] = &[
    ("listen.queue", "listen.limit", "accept queue"),
    ("process.fds", "process.fd_limit", "descriptors"),
    ("conntrack.entries", "conntrack.limit", "conntrack"),
    ("cgroup.memory", "cgroup.memory_limit", "cgroup memory"),
];

fn ours(id: &str, instance: &str, processes: &[String]) -> bool {
    !id.starts_with("process.") || processes.iter().any(|p| p == instance)
}

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
