//! Quotas and limits of the control groups of the followed processes, in cgroup version 1 and 2. Source:
//! Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/, scheduler/sched-bwc.rst.
//!
//! The limits of all ancestor groups apply, too. loadline reads quota, periods and throttling from the group with the
//! smallest quota among a process's group and its ancestors. Of the process's group and its ancestors, the group with
//! the smallest memory limit gives memory limit, limit events and refaults. Several groups may share one memory limit,
//! so the memory use of the group that has the limit is read, too. CPU time and memory use are read from the process's
//! own group.

use super::cgroup_paths::{Controller, Mount, Version, mounts, resolve};
use super::cgroup_quota::quota;
use crate::Scope;
use crate::column_writer::{ColumnWriter, Slots};
use crate::family::Family;
use crate::reread_file::RereadFile;
use crate::source::{Round, Source, none};
use crate::text::{keyed, number, value, words};
use crate::tree::Tree;
use crate::units;

use std::path::{Path, PathBuf};

const IDS: &[&str] = &[
    "cgroup.cpu_time",
    "cgroup.cpu_periods",
    "cgroup.cpu_throttled_periods",
    "cgroup.cpu_throttled_time",
    "cgroup.cpu_quota",
    "cgroup.memory",
    "cgroup.memory_limit",
    "cgroup.memory_max_events",
    "cgroup.oom_kills",
    "cgroup.pids",
    "cgroup.pids_limit",
    "cgroup.refaults",
    "cgroup.limited_memory",
];

struct Cgroups {
    mounts: Option<Vec<Mount>>,
    edition: u64,
    /// Processes whose control groups are known.
    seen: Vec<u32>,
    groups: Vec<Group>,
    family: Family,
}

pub(super) fn open(_: &Scope, _: &Tree) -> Box<dyn Source> {
    let family = Family::new(IDS).at_most(64);
    Box::new(Cgroups { mounts: None, edition: 0, seen: Vec::new(), groups: Vec::new(), family })
}

impl Source for Cgroups {
    fn sample(&mut self, round: &mut Round<'_>) {
        if self.edition != round.process_set.edition() {
            self.edition = round.process_set.edition();
            self.seen.clear();
            self.groups.clear();
        }
        let new: Vec<u32> = round.process_set.pids().filter(|pid| !self.seen.contains(pid)).collect();
        for pid in new {
            self.seen.push(pid);
            self.admit(pid, round);
        }
        for group in &mut self.groups {
            group.sample(round.writer, round.full);
        }
        if self.groups.is_empty() {
            none(round, &self.family, "no process of this side is in a control group that can be read");
        }
    }
}

impl Cgroups {
    fn admit(&mut self, pid: u32, round: &mut Round<'_>) {
        let mounts = self.mounts.get_or_insert_with(|| mounts(round.tree));
        let Ok(text) = std::fs::read(round.tree.process(pid, "cgroup")) else { return };
        let Some(place) = resolve(round.tree, mounts, &text) else { return };
        if self.groups.iter().any(|g| g.name == place.name) {
            return;
        }
        if let Some(slots) = self.family.slots(round.writer, place.name.as_bytes()) {
            self.groups.push(Group::new(place.name, slots, [place.cpu, place.cpuacct, place.memory, place.pids]));
        }
    }
}

struct Group {
    name: String,
    slots: Slots,
    cpu: Option<Controller>,
    memory: Option<Controller>,
    time: Option<Gauge>,
    throttling: Option<(PathBuf, RereadFile, bool)>,
    memory_use: Option<Gauge>,
    /// Folder of the group with the smallest memory limit, and three counters of this group. The counters are the
    /// number of times that the group reached its limit, of processes that the kernel killed, and of evicted pages that
    /// were read again.
    events: Option<(PathBuf, [Gauge; 3])>,
    /// Folder of the group with the smallest memory limit, and the memory use of this group; `None` without a limit.
    limited: Option<(PathBuf, Gauge)>,
    pids: Option<[Gauge; 2]>,
}

/// A number in a file of a control group: the number after `key`, or the file's first number if `key` is `None`.
struct Gauge {
    file: RereadFile,
    key: Option<&'static str>,
    scale: f64,
}

impl Gauge {
    fn new(path: PathBuf, key: Option<&'static str>, scale: f64) -> Self {
        Self { file: RereadFile::new(path), key, scale }
    }

    fn read(&mut self) -> Result<Option<f64>, String> {
        let text = self.file.read()?;
        let told = match self.key {
            Some(key) => keyed(text, key),
            None => words(text).next().and_then(value),
        };
        Ok(told.map(|v| v * self.scale))
    }
}

impl Group {
    fn new(name: String, slots: Slots, [cpu, cpuacct, memory, pids]: [Option<Controller>; 4]) -> Self {
        // In version 1, a process may be in one group for CPU time (cpuacct) and in another group for the quota (cpu).
        // If a process is in different groups for CPU time and for the quota, the source records no CPU time.
        let of_group = |c: &&Controller| cpu.as_ref().is_none_or(|cpu| cpu.path() == c.path());
        let time = cpuacct.as_ref().filter(of_group).map(|c| match c.version {
            Version::One => Gauge::new(c.leaf.join("cpuacct.usage"), None, units::ns_us(1.0)),
            Version::Two => Gauge::new(c.leaf.join("cpu.stat"), Some("usage_usec"), 1.0),
        });
        let used = memory.as_ref().map(|c| memory_use(c, &c.leaf));
        let pids = pids.map(|c| ["pids.current", "pids.max"].map(|file| Gauge::new(c.leaf.join(file), None, 1.0)));
        Self { name, slots, cpu, memory, time, throttling: None, memory_use: used, events: None, limited: None, pids }
    }

    fn sample(&mut self, writer: &mut ColumnWriter, full: bool) {
        self.bind(writer, full);
        let told = ask(&mut self.time);
        self.put(writer, 0, told);
        self.put_throttling(writer);
        let told = ask(&mut self.memory_use);
        self.put(writer, 5, told);
        if let Some((_, [hits, kills, refaults])) = &mut self.events {
            for (at, told) in [(7, hits.read()), (8, kills.read()), (11, refaults.read())] {
                self.put(writer, at, told);
            }
        }
        if let Some(told) = self.limited.as_mut().map(|(_, gauge)| gauge.read()) {
            self.put(writer, 12, told);
        }
        if let Some([now, most]) = &mut self.pids {
            let (now, most) = (now.read(), most.read());
            let most = most.and_then(|v| v.map(Some).ok_or_else(|| "no limit of processes is set".into()));
            self.put(writer, 9, now);
            self.put(writer, 10, most);
        }
    }

    /// Finds the lowest CPU quota and memory limit among the group and its parents. Quota and limit rarely change, so
    /// the source reads them only at phase starts and ends.
    fn bind(&mut self, writer: &mut ColumnWriter, full: bool) {
        if !full && self.throttling.is_some() {
            return;
        }
        self.bind_quota(writer);
        self.bind_memory(writer);
    }

    fn bind_quota(&mut self, writer: &mut ColumnWriter) {
        let Some(cpu) = &self.cpu else { return };
        let (told, folder) = cpu.tightest(quota);
        let told = told.map(Some).ok_or_else(|| "no CPU quota is set".to_owned());
        if self.throttling.as_ref().is_none_or(|(old, ..)| *old != folder) {
            let file = RereadFile::new(folder.join("cpu.stat"));
            self.throttling = Some((folder, file, cpu.version == Version::One));
        }
        self.put(writer, 4, told);
    }

    fn bind_memory(&mut self, writer: &mut ColumnWriter) {
        let Some(memory) = &self.memory else { return };
        let (told, folder) = memory.tightest(memory_limit);
        let told = told.map(Some).ok_or_else(|| "no memory limit is set".to_owned());
        let is_bound = self.limited.as_ref().is_some_and(|(old, _)| *old == folder);
        if !is_bound || told.is_err() {
            self.limited = told.is_ok().then(|| (folder.clone(), memory_use(memory, &folder)));
        }
        if told.is_err() {
            self.put(writer, 12, told.clone());
        }
        if self.events.as_ref().is_none_or(|(old, _)| *old != folder) {
            let gauges = event_gauges(memory.version, &folder);
            self.events = Some((folder, gauges));
        }
        self.put(writer, 6, told);
    }

    fn put_throttling(&mut self, writer: &mut ColumnWriter) {
        let Some((_, file, one)) = &mut self.throttling else {
            return writer.absent_all(&IDS[1..5], &self.name, format_args!("no CPU controller is mounted"));
        };
        let (key, scale) = if *one { ("throttled_time", units::ns_us(1.0)) } else { ("throttled_usec", 1.0) };
        match file.read() {
            Ok(text) => {
                writer.put_some(self.slots, 1, keyed(text, "nr_periods"));
                writer.put_some(self.slots, 2, keyed(text, "nr_throttled"));
                writer.put_some(self.slots, 3, keyed(text, key).map(|v| v * scale));
            }
            Err(reason) => writer.absent_all(&IDS[1..4], &self.name, format_args!("{reason}")),
        }
    }

    fn put(&self, writer: &mut ColumnWriter, at: usize, told: Result<Option<f64>, String>) {
        match told {
            Ok(value) => writer.put_some(self.slots, at, value),
            Err(reason) => writer.absent(IDS[at], &self.name, format_args!("{reason}")),
        }
    }
}

/// Returns counters of the group in `folder`: how often it reached its memory limit, how many of its processes the
/// kernel killed, and how many evicted pages were read again.
fn event_gauges(version: Version, folder: &Path) -> [Gauge; 3] {
    let gauge = |file: &str, key| Gauge::new(folder.join(file), key, 1.0);
    match version {
        Version::One => [
            gauge("memory.failcnt", None),
            gauge("memory.oom_control", Some("oom_kill")),
            gauge("memory.stat", Some("total_workingset_refault_file")),
        ],
        Version::Two => [
            gauge("memory.events", Some("max")),
            gauge("memory.events", Some("oom_kill")),
            gauge("memory.stat", Some("workingset_refault_file")),
        ],
    }
}

/// Returns the memory use of the control group in `folder`, bytes.
fn memory_use(controller: &Controller, folder: &Path) -> Gauge {
    Gauge::new(folder.join(controller.pick("memory.usage_in_bytes", "memory.current")), None, 1.0)
}

fn ask(gauge: &mut Option<Gauge>) -> Result<Option<f64>, String> {
    gauge.as_mut().ok_or_else(|| "its controller is not mounted for this group".to_owned())?.read()
}

/// Returns the memory limit in bytes. If there is no limit, control groups of version 1 write a number near 2^63.
fn memory_limit(version: Version, folder: &Path) -> Option<f64> {
    let file = if version == Version::One { "memory.limit_in_bytes" } else { "memory.max" };
    let text = std::fs::read(folder.join(file)).ok()?;
    words(&text).next().and_then(number).filter(|bytes| *bytes < 1 << 62).map(|bytes| bytes as f64)
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
