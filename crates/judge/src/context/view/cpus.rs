//! CPUs that one side's processes may use: their number, and how busy they are.

use super::{Task, View, busy, mask};
use crate::number::{positive, ratio};
use crate::thresholds::{CHARGED_APART, CPU_WAIT, WORKS};
use stats::average;

/// Returns true if the bit mask `mask` of CPUs contains the CPU with the number `cpu`. Returns false for other names of
/// instances, such as `total`.
pub(super) fn is_in(mask: u64, cpu: &str) -> bool {
    cpu.parse::<u32>().is_ok_and(|n| n < 64 && mask & (1 << n) != 0)
}

impl View<'_> {
    /// Returns the number of CPUs that this side's processes used, divided by the number of CPUs that these processes
    /// may use, 0 to 1.
    pub(crate) fn cpu_share(&self) -> Option<f64> {
        ratio(self.cpu_used()?, self.cpu_allowed()?)
    }

    /// Returns a bit mask of the CPUs that the busy processes of this side (client or server) may use. Returns `None`
    /// if the mask is unknown.
    pub fn mask(&self) -> Option<u64> {
        mask(&busy(&self.processes()))
    }

    /// Returns the number of CPUs that the busy processes of this side (client or server) may use.
    /// [`View::cpu_allowed_of`] computes this number.
    pub fn cpu_allowed(&self) -> Option<f64> {
        self.cpu_allowed_of(&busy(&self.processes()))
    }

    /// Returns the CPU quota of the control group of this side (client or server), in CPUs. Returns `None` if no quota
    /// is set, or if it is unknown.
    pub(crate) fn cpu_quota(&self) -> Option<f64> {
        self.value("cgroup.cpu_quota").and_then(positive)
    }

    /// Returns the number of CPUs that the processes `busy` may use, at most the number that is online. If only the
    /// number of CPUs of each process is known, returns the sum, unless the processes share one set of CPUs
    /// ([`View::share_one_set`]). If the number of online CPUs is unknown, too, returns the largest number that a
    /// single process may use.
    pub(crate) fn cpu_allowed_of(&self, busy: &[Task]) -> Option<f64> {
        let online = self.online();
        if let Some(mask) = mask(busy) {
            let bits = f64::from(mask.count_ones());
            return Some(online.map_or(bits, |o| bits.min(o)));
        }
        // A process that is not pinned to CPUs may use all possible CPUs, although many of them may be offline.
        let at_most_online = |cpus: f64| online.map_or(cpus, |o| cpus.min(o));
        let widest = busy.iter().filter_map(|p| p.allowed).reduce(f64::max).map(at_most_online);
        if let Some(one) = widest.filter(|one| self.share_one_set(busy, *one)) {
            return Some(one);
        }
        let together: f64 = busy.iter().filter_map(|p| p.allowed).sum();
        match (widest, online) {
            (Some(_), Some(o)) => Some(together.min(o)),
            (Some(w), None) => Some(w),
            (None, o) => o,
        }
    }

    /// Returns true if the processes `busy` share one set of `cpus` CPUs. The processes together use no more CPUs than
    /// the set has, and often wait for a CPU, or hardly run on CPUs outside the set. If each process had its own set of
    /// CPUs, a waiting process would find a free CPU.
    fn share_one_set(&self, busy: &[Task], cpus: f64) -> bool {
        let used: f64 = busy.iter().map(|p| p.busy).sum();
        let waited: f64 = busy.iter().filter_map(|p| p.wait).sum();
        let wait = used + waited > cpus && waited > CPU_WAIT * (used + waited);
        let run_on_few = || self.busy_beyond(cpus).is_some_and(|beyond| beyond <= WORKS * used);
        busy.len() > 1 && used <= (1.0 + CHARGED_APART) * cpus && (wait || run_on_few())
    }

    /// Returns the CPU use on all CPUs except the `cpus` busiest ones, in CPUs. Returns `None` if only the sum over all
    /// CPUs was read.
    fn busy_beyond(&self, cpus: f64) -> Option<f64> {
        let span_us = self.span_s? * 1e6;
        let single = self.instances("cpu.idle").into_iter().filter(|(name, _)| name != "total");
        let mut each: Vec<f64> = single.map(|(_, idle_us)| (1.0 - idle_us / span_us).max(0.0)).collect();
        each.sort_by(|a, b| b.total_cmp(a));
        (!each.is_empty()).then(|| each.iter().skip(cpus as usize).sum())
    }

    /// Returns the share of the time (0 to 1) for which the CPUs that the side may use were busy with work of any
    /// program. If only the sum over all CPUs was read, returns the busy share of the whole host. Returns `None` for a
    /// view of a few ticks, as [`View::host`] does.
    pub fn processors_busy(&self) -> Option<f64> {
        self.busy_share_of(self.mask().unwrap_or(0))
    }

    /// Returns the busy share (0 to 1) of the CPUs in `mask`. If only the sum over all CPUs was read, returns the busy
    /// share of the whole host.
    pub(crate) fn busy_share_of(&self, mask: u64) -> Option<f64> {
        let span_us = self.span_s? * 1e6;
        let iowait = self.side.recording.instances("cpu.iowait");
        let waiting = |name: &str| iowait.value(name, self.window).unwrap_or(0.0);
        let idle = self.instances("cpu.idle").into_iter().filter(|(name, _)| is_in(mask, name));
        let idle: Vec<f64> = idle.map(|(name, us)| (us + waiting(&name)) / span_us).collect();
        if idle.is_empty() {
            let host = self.host()?;
            return ratio(host.busy + host.steal, host.online).map(|b| b.min(1.0));
        }
        self.resolves_ticks(idle.len() as f64).then(|| (1.0 - average(&idle)).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use run::{CounterId, Side, Trial};

    use super::*;

    fn column(id: &'static str, instance: &str, values: [f64; 2]) -> run::Column {
        run::Column { counter: CounterId::new(id), instance: instance.into(), values: values.map(Some).to_vec() }
    }

    /// On a virtual machine to which CPUs can be added while it runs, an unpinned process may use 128 CPUs, of which 4
    /// are online.
    #[test]
    fn cpus_that_are_not_online_are_not_allowed() {
        let mut columns = vec![column("cpu.online", "", [4.0, 4.0])];
        columns.extend(["0", "1", "2", "3"].map(|cpu| column("cpu.idle", cpu, [0.0, 5e4])));
        let recording = run::Recording { t_s: vec![0.0, 1.0], columns, ..run::Recording::default() };
        let mut trial = Trial { server: Some(Side { recording, ..Side::default() }), ..Trial::default() };
        crate::context::sides::derive_trial(&mut trial);
        let view = View::new("server", &trial, trial.server.as_ref().unwrap());
        let task = |name: &str| Task {
            name: name.into(),
            counter: "process.cpu",
            busy: 1.9,
            wait: Some(1.9),
            allowed: Some(128.0),
            mask: None,
        };
        assert_eq!(view.cpu_allowed_of(&[task("nginx:7"), task("nginx:8")]), Some(4.0));
    }
}
