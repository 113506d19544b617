//! Selects the instances of counters that belong to one side. A process or thread belongs to a side (client or server)
//! if the list of processes of this side contains it. Of the instances of CPU counters, only `total` is used. Of the
//! queueing disciplines of an interface, only the outermost ones are used. All other instances are always used.

use std::collections::HashSet;

use crate::{Aggregation, Column, Instance, Kind, Side, counter};

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
    /// For a cumulative counter, the value is the growth since the first value of each instance. Leaves out samples
    /// without a value.
    pub fn over_time(&self, id: &str) -> Vec<(f64, f64)> {
        let (own, together) = (self.instance_filter(), counter(id).map_or(Aggregation::Sum, |spec| spec.together));
        let columns: Vec<_> = self.recording.columns_of(id).filter(|c| own.counts(id, &c.instance)).collect();
        if counter(id).is_some_and(|spec| spec.kind == Kind::Cumulative) {
            return growth_over_time(&self.recording.t_s, &columns);
        }
        let at = |row: usize| together.combine(columns.iter().filter_map(|c| c.values.get(row).copied().flatten()));
        self.recording.t_s.iter().enumerate().filter_map(|(row, t_s)| Some((*t_s, at(row)?))).collect()
    }
}

/// Returns one pair per sample with a value: the sample's time in seconds, and the growth of all columns since the
/// first value of each. A column without a value in a sample counts with its last value.
fn growth_over_time(t_s: &[f64], columns: &[&Column]) -> Vec<(f64, f64)> {
    let mut ends: Vec<Option<(f64, f64)>> = vec![None; columns.len()];
    let growth = |(row, t_s): (usize, &f64)| {
        let mut has_value = false;
        for (end, column) in ends.iter_mut().zip(columns) {
            let Some(value) = column.values.get(row).copied().flatten() else { continue };
            has_value = true;
            *end = Some((end.map_or(value, |(first, _)| first), value));
        }
        has_value.then(|| (*t_s, ends.iter().flatten().map(|(first, last)| last - first).sum()))
    };
    t_s.iter().enumerate().filter_map(growth).collect()
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
            "qdisc" => counter == "qdisc.overlimits" || is_outermost(instance),
            _ => true,
        }
    }
}

/// Returns true if a queueing discipline is in no other discipline of its interface. The counters of a discipline
/// include those of the disciplines in it, except for the number of times that a limit held a packet. Packets that come
/// in have a discipline of their own, which the kernel always calls `ffff:` and places in `ffff:fff1` (TC_H_INGRESS).
fn is_outermost(qdisc: &str) -> bool {
    qdisc.rsplit_once(" in ").is_none_or(|(_, parent)| parent == "ffff:fff1")
}

fn pid(instance: &str) -> Option<u32> {
    Instance::read(instance).map(|i| i.pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CounterId, Recording};

    #[test]
    fn an_instance_that_misses_a_sample_makes_no_jump() {
        let column = |instance: &str, values: [Option<f64>; 3]| Column {
            counter: CounterId::new("process.run_delay"),
            instance: instance.into(),
            values: values.to_vec(),
        };
        let columns = vec![
            column("a:7", [Some(5.0), Some(6.0), Some(7.0)]),
            column("a:8", [Some(1e9), None, Some(1e9 + 2.0)]),
            column("a:9", [None, Some(900.0), Some(901.0)]),
        ];
        let recording = Recording { t_s: vec![0.0, 1.0, 2.0], columns, ..Recording::default() };
        let processes = ["a:7", "a:8", "a:9"].map(String::from).to_vec();
        let side = Side { processes, recording, ..Side::default() };
        assert_eq!(side.over_time("process.run_delay"), [(0.0, 0.0), (1.0, 1.0), (2.0, 5.0)]);
    }
    #[test]
    fn a_discipline_in_another_one_does_not_count_again() {
        let none = InstanceFilter::new(std::iter::empty());
        let counts = |instance| none.counts("qdisc.drops", instance);
        assert!(counts("eth0 mq root") && counts("eth0 ingress ffff: in ffff:fff1"));
        assert!(!counts("eth0 fq_codel root in 0:1") && !counts("eth0 pfifo 8002: in 8001:1"));
        assert!(none.counts("qdisc.overlimits", "eth0 tbf 8002: in 8001:1"), "its parent does not count them");
    }
}
