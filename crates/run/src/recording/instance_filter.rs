//! Selects the instances of counters that belong to one side. A process or thread belongs to a side (client or server)
//! if the list of processes of this side contains it. Of the instances of CPU counters, only `total` is used. Instances
//! that are neither processes, threads nor CPUs are always used.

use std::collections::HashSet;

use crate::{Aggregation, Instance, Side, counter};

/// Processes of a side, by name and ID.
pub struct InstanceFilter<'a> {
    names: HashSet<&'a str>,
    pids: HashSet<u32>,
}

impl Side {
    /// Returns a filter for this side's own processes.
    pub fn instance_filter(&self) -> InstanceFilter<'_> {
        InstanceFilter::new(&self.processes)
    }

    /// Returns one pair per sample: the sample's time in seconds, and the combined value of the counter's instances.
    /// Leaves out samples without a value.
    pub fn over_time(&self, id: &str) -> Vec<(f64, f64)> {
        let (own, together) = (self.instance_filter(), counter(id).map_or(Aggregation::Sum, |spec| spec.together));
        let columns: Vec<_> = self.recording.columns_of(id).filter(|c| own.counts(id, &c.instance)).collect();
        let at = |row: usize| together.combine(columns.iter().filter_map(|c| c.values.get(row).copied().flatten()));
        self.recording.t_s.iter().enumerate().filter_map(|(row, t_s)| Some((*t_s, at(row)?))).collect()
    }
}

impl<'a> InstanceFilter<'a> {
    /// Makes a filter from the names of process instances, such as `nginx:1234`.
    pub fn new(processes: impl IntoIterator<Item = &'a String>) -> Self {
        let names: HashSet<&str> = processes.into_iter().map(String::as_str).collect();
        let pids = names.iter().copied().filter_map(pid).collect();
        Self { names, pids }
    }

    /// Returns true if an instance `name:pid` or `name:pid/tid` belongs to one of the filter's processes.
    pub fn has(&self, instance: &str) -> bool {
        self.names.contains(instance) || pid(instance).is_some_and(|pid| self.pids.contains(&pid))
    }

    /// Returns true if an instance of a counter belongs to the side.
    pub fn counts(&self, counter: &str, instance: &str) -> bool {
        match counter.split_once('.').map_or("", |(object, _)| object) {
            "cpu" => instance == "total" || instance.is_empty(),
            "process" | "thread" => self.has(instance),
            _ => true,
        }
    }
}

fn pid(instance: &str) -> Option<u32> {
    Instance::read(instance).map(|i| i.pid)
}
