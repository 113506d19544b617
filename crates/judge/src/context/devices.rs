//! Utilization of each device in a trial's window, from the raw recordings. Depending on the device, the utilization is
//! the busy time divided by the elapsed time, the bytes divided by the bytes that the link's speed allows, or a level
//! divided by its limit. The list of devices is only for display. Each rule judges its device itself.

use crate::network::link_speed;
use crate::thresholds::NEARLY_FULL;
use std::collections::HashMap;

use run::{Device, Instances, Measured, Recording, Side, Trial, Window};

/// Returns the devices of a trial, the busiest first. A device that client and server share appears once.
pub fn devices(trial: &Trial) -> Vec<Device> {
    let window = trial.measured.window;
    let client = &trial.client;
    let mut all = own("client", client, window);
    if let Some(server) = &trial.server {
        let (one_host, one_network) = (trial.one_host(), server.same_network(client));
        let name = |one: bool| if one { "host" } else { "server" };
        all.extend(own("server", server, window));
        all.extend(machine(name(one_host), server, window));
        all.extend(network(name(one_network), server, window));
        if !one_host {
            all.extend(machine("client", client, window));
        }
        if !one_network {
            all.extend(network("client", client, window));
        }
    } else {
        all.extend(machine("client", client, window).into_iter().chain(network("client", client, window)));
    }
    all.retain(|d| d.busy.is_finite() && d.busy >= 0.0);
    all.iter_mut().for_each(|d| d.full = d.busy > NEARLY_FULL);
    all.sort_by(|a, b| b.busy.total_cmp(&a.busy).then_with(|| a.name().cmp(&b.name())));
    all
}

/// Returns the devices of a trial that is still running, from all samples so far.
pub fn devices_of_sides(client: &Side, server: Option<&Side>) -> Vec<Device> {
    let measured = Measured { window: Window::ALL, ..Measured::default() };
    devices(&Trial { client: client.clone(), server: server.cloned(), measured, ..Trial::default() })
}

/// Makes a device that is not marked as full yet.
fn device(side: &'static str, kind: &'static str, instance: &str, busy: f64) -> Device {
    Device { side, kind, instance: instance.into(), busy, full: false }
}

/// Returns the devices of a side's processes: the busiest thread and the file descriptors of each process.
fn own(side: &'static str, from: &Side, window: Window) -> Vec<Device> {
    let rec = &from.recording;
    let span = rec.span_s(window);
    let mut threads = full_threads(rec, window, span);
    let [held, limits] = ["process.fds", "process.fd_limit"].map(|id| rec.instances(id));
    let mut found = Vec::new();
    for process in &from.processes {
        let thread = run::Instance::read(process).and_then(|i| threads.remove(&i.pid));
        found.extend(thread.map(|(instance, busy)| device(side, "thread", instance, busy)));
        let of = |all: &Instances<'_>| all.max(process, window).unwrap_or(f64::NAN);
        let busy = of(&held) / of(&limits);
        found.push(device(side, "descriptors", process, busy));
    }
    found
}

/// Returns the devices of a side's machine: its CPUs and its disks.
fn machine(side: &'static str, from: &Side, window: Window) -> Vec<Device> {
    let rec = &from.recording;
    let all = rec.cpu_times("total", window).and_then(|times| times.busy());
    let all = all.map(|busy| device(side, "CPUs", "", busy));
    all.into_iter().chain(timed(side, from, ("disk.busy", "disk"), window)).collect()
}

/// Returns the devices of a side's network namespace and control group.
fn network(side: &'static str, from: &Side, window: Window) -> Vec<Device> {
    let rec = &from.recording;
    let span = rec.span_s(window);
    let mut found = timed(side, from, ("medium.busy", "medium"), window);
    let [received, sent] = ["interface.rx_bytes", "interface.tx_bytes"].map(|id| rec.instances(id));
    for column in rec.columns_of("interface.speed").filter(|column| !link_speed::is_nominal(rec, &column.instance)) {
        let of = |all: &Instances<'_>| all.value(&column.instance, window).unwrap_or(0.0);
        let busy = of(&received).max(of(&sent)) / span / rec.over(column, window).value().unwrap_or(0.0);
        found.push(device(side, "interface", &column.instance, busy));
    }
    for (levels, limit, kind) in LEVELS {
        let Some(level) = levels.iter().find(|level| rec.columns_of(level).next().is_some()) else { continue };
        let levels = rec.instances(level);
        for column in rec.columns_of(limit) {
            let of = |most: Option<f64>| most.unwrap_or(f64::NAN);
            // An accept queue can hold one connection more than its limit. A quotient of length and limit above 1 is
            // therefore reduced to 1.
            let busy = (of(levels.max(&column.instance, window)) / of(rec.most(column, window))).min(1.0);
            found.push(device(side, kind, &column.instance, busy));
        }
    }
    found
}

/// Returns the devices whose busy time is in the counter `id`.
fn timed(side: &'static str, from: &Side, (id, kind): (&str, &'static str), window: Window) -> Vec<Device> {
    let rec = &from.recording;
    let busy =
        |instance: &str| rec.reading(id, instance, window).value().unwrap_or(f64::NAN) / 1e6 / rec.span_s(window);
    let of = |c: &run::Column| device(side, kind, &c.instance, busy(&c.instance));
    rec.columns_of(id).map(of).collect()
}

/// Counters of levels that have a limit: names of the level's counter (the first recorded one is used), counter of the
/// limit, and device. Runs of older versions have no memory use of the group with the limit.
const LEVELS: &[(&[&str], &str, &str)] = &[
    (&["listen.queue"], "listen.limit", "accept queue"),
    (&["conntrack.entries"], "conntrack.limit", "conntrack"),
    (&["cgroup.limited_memory", "cgroup.memory"], "cgroup.memory_limit", "cgroup memory"),
];

/// Returns the busiest thread of each process, and the share of one CPU that it used.
fn full_threads(rec: &Recording, window: Window, span: f64) -> HashMap<u32, (&str, f64)> {
    let mut busiest: HashMap<u32, (&str, f64)> = HashMap::new();
    for column in rec.columns_of("thread.cpu") {
        let pid = run::Instance::read(&column.instance).map(|i| i.pid);
        let busy = rec.over(column, window).value().map(|us| us / 1e6 / span);
        let Some((pid, busy)) = pid.zip(busy) else { continue };
        let most = busiest.entry(pid).or_insert((&column.instance, busy));
        if busy >= most.1 {
            *most = (&column.instance, busy);
        }
    }
    busiest
}
