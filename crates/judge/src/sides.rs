//! Fills [`run::Side::counters`]: every counter of a side over the measured window, one reading each.
//!
//! Instances are put together so that the figure means something: growth and sizes add up over instances; limits and
//! means (how many processors a process may use, what a link carries) take the largest. `process.*` and `thread.*` count
//! only the side's own processes; `cpu.*` takes the instance `total`.

use std::collections::{BTreeMap, BTreeSet};

use run::{CounterId, Kind, Reading, Recording, Run, Side, Window, counter};

/// Gauges that are limits, levels of one thing, or means: adding instances up would make no sense.
const NOT_ADDED: &[&str] = &[
    "process.fd_limit",
    "process.cpus_allowed",
    "process.cpu_mask",
    "thread.cpus_allowed",
    "thread.cpu_mask",
    "interface.speed",
    "listen.limit",
    "connection.rtt",
    "connection.cwnd",
    "connection.unacked",
    "connection.retrans",
    "connection.send_queue",
    "connection.receive_queue",
    "connection.rwnd_limited",
    "connection.sndbuf_limited",
    "connection.min_rtt",
    "connection.mss",
    "connection.peer_window",
    "connection.delivery_rate",
    "connection.ato",
    "connection.waiting",
    "connection.write_full",
    "cgroup.cpu_quota",
    "cgroup.memory",
    "cgroup.memory_limit",
    "cgroup.pids",
    "cgroup.pids_limit",
    "medium.rate",
];

/// The measured window of a trial; everything, if the trial has none.
pub(crate) fn window_of(trial: &run::Trial) -> Window {
    let w = trial.measured.window;
    if w.length_s() > 0.0 && w.begin_s.is_finite() && w.end_s.is_finite() { w } else { Window::ALL }
}

/// Fills the counters of all sides of all trials, and those at rest.
pub(crate) fn derive(run: &mut Run) {
    for side in &mut run.at_rest {
        side.counters = counters(side, Window::ALL);
    }
    for trial in &mut run.trials {
        let window = window_of(trial);
        trial.client.counters = counters(&trial.client, window);
        if let Some(server) = &mut trial.server {
            server.counters = counters(server, window);
        }
    }
}

fn counters(side: &Side, window: Window) -> BTreeMap<CounterId, Reading> {
    let recorded = side.recording.columns.iter().map(|c| &c.counter);
    let told = side.recording.absent.iter().filter(|a| a.instance.is_empty()).map(|a| &a.counter);
    let ids: BTreeSet<CounterId> = recorded.chain(told).cloned().collect();
    ids.into_iter().map(|id| (id.clone(), reading(side, id.as_str(), window))).collect()
}

fn reading(side: &Side, id: &str, window: Window) -> Reading {
    let belongs = |instance: &str| belongs(side, id, instance);
    let gauge = counter(id).is_none_or(|spec| spec.kind == Kind::Gauge);
    let found = if gauge && NOT_ADDED.contains(&id) {
        largest(&side.recording, id, window, belongs)
    } else {
        side.recording.sum(id, window, belongs)
    };
    match found {
        Reading::Value(v) if !v.is_finite() => Reading::absent(format!("{id} is not a number")),
        other => other,
    }
}

fn belongs(side: &Side, id: &str, instance: &str) -> bool {
    match id.split_once('.').map_or("", |(object, _)| object) {
        "cpu" => instance == "total" || instance.is_empty(),
        "process" | "thread" => is_own(side, instance),
        _ => true,
    }
}

/// Whether an instance `name:pid` or `name:pid/tid` is one of the side's processes.
pub(crate) fn is_own(side: &Side, instance: &str) -> bool {
    let pid = pid(instance);
    side.processes.iter().any(|p| p == instance || (pid.is_some() && self::pid(p) == pid))
}

fn pid(instance: &str) -> Option<&str> {
    let process =
        instance.rsplit_once('/').map_or(instance, |(p, tid)| if tid.parse::<u32>().is_ok() { p } else { instance });
    process.rsplit_once(':').map(|(_, pid)| pid).filter(|pid| pid.parse::<u32>().is_ok())
}

fn largest(recording: &Recording, id: &str, window: Window, keep: impl Fn(&str) -> bool) -> Reading {
    let instances = recording.columns_of(id).filter(|c| keep(&c.instance)).map(|c| c.instance.as_str());
    let values = instances.filter_map(|i| recording.reading(id, i, window).value());
    values.reduce(f64::max).map_or_else(|| recording.why_absent(id, ""), Reading::Value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::Column;

    fn column(id: &'static str, instance: &str, values: &[f64]) -> Column {
        Column {
            counter: CounterId::new(id),
            instance: instance.into(),
            values: values.iter().copied().map(Some).collect(),
        }
    }

    fn side(columns: Vec<Column>) -> Side {
        let recording = Recording { t_s: vec![0.0, 1.0], columns, absent: vec![] };
        Side { processes: vec!["nginx:7".into(), "nginx:8".into()], recording, ..Side::default() }
    }

    #[test]
    fn only_own_processes_count_and_they_add_up() {
        let s = side(vec![
            column("process.cpu", "nginx:7", &[0.0, 5.0]),
            column("process.cpu", "nginx:8", &[0.0, 6.0]),
            column("process.cpu", "other:77", &[0.0, 100.0]),
            column("thread.cpu", "worker:8/9", &[0.0, 3.0]),
        ]);
        let c = counters(&s, Window::ALL);
        assert_eq!(c[&CounterId::new("process.cpu")], Reading::Value(11.0));
        assert_eq!(c[&CounterId::new("thread.cpu")], Reading::Value(3.0));
    }

    #[test]
    fn processors_take_the_total_and_limits_the_largest() {
        let s = side(vec![
            column("cpu.user", "0", &[0.0, 5.0]),
            column("cpu.user", "total", &[0.0, 9.0]),
            column("process.fd_limit", "nginx:7", &[10.0, 10.0]),
            column("process.fd_limit", "nginx:8", &[20.0, 20.0]),
        ]);
        let c = counters(&s, Window::ALL);
        assert_eq!(c[&CounterId::new("cpu.user")], Reading::Value(9.0));
        assert_eq!(c[&CounterId::new("process.fd_limit")], Reading::Value(20.0));
    }

    #[test]
    fn what_could_not_be_read_stays_absent_with_its_reason() {
        let mut s = side(vec![]);
        let reason = "no permission".to_string();
        s.recording.absent.push(run::Absence {
            counter: CounterId::new("process.fds"),
            instance: String::new(),
            reason,
        });
        assert_eq!(counters(&s, Window::ALL)[&CounterId::new("process.fds")], Reading::absent("no permission"));
    }
}
