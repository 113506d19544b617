//! Figures of the newest counter samples for the view: CPU time by kind, resources that the processes use, and the
//! busiest devices.

use run::{Side, Window};

/// Shares of a host's CPU time by kind, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CpuKinds {
    pub(crate) user: f64,
    pub(crate) system: f64,
    /// Share of time in hardware and software interrupts.
    pub(crate) interrupts: f64,
    /// Share that the hypervisor gave to other virtual machines (steal).
    pub(crate) stolen: f64,
    /// Share of time in which the CPUs waited for a disk. The time of waiting for a disk is also a part of the idle
    /// time.
    pub(crate) waiting: f64,
}

impl CpuKinds {
    /// Returns the shares of CPU time from the newest samples of one side (client or server), or `None` if there are
    /// fewer than two samples.
    pub(crate) fn of(side: &Side) -> Option<Self> {
        let times = side.recording.cpu_times("total", Window::ALL)?;
        let share = |us: f64| times.share_of(us).unwrap_or(0.0);
        Some(Self {
            user: share(times.user_us),
            system: share(times.system_us),
            interrupts: share(times.irq_us + times.softirq_us),
            stolen: share(times.steal_us),
            waiting: share(times.iowait_us),
        })
    }

    /// Returns the share of CPU time that is not idle.
    pub(crate) fn busy(&self) -> f64 {
        self.user + self.system + self.interrupts + self.stolen
    }
}

/// Resources that the processes of one side use.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Uses {
    /// CPU time per second, in CPUs.
    pub(crate) cpus: Option<f64>,
    /// Resident memory, bytes.
    pub(crate) memory: Option<f64>,
    /// Number of open file descriptors.
    pub(crate) descriptors: Option<f64>,
}

impl Uses {
    /// Returns the sum of each resource over two hosts of the same side.
    fn with(self, other: &Self) -> Self {
        let sum = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(|a, b| a + b);
        Self {
            cpus: sum(self.cpus, other.cpus),
            memory: sum(self.memory, other.memory),
            descriptors: sum(self.descriptors, other.descriptors),
        }
    }

    pub(crate) fn of(side: &Side) -> Self {
        let recording = &side.recording;
        let own = |instance: &str| side.processes.iter().any(|process| process == instance);
        let last = |id: &str| {
            let newest = |column: &run::Column| column.values.iter().rev().flatten().next().copied();
            let columns = recording.columns_of(id).filter(|column| own(&column.instance));
            columns.filter_map(newest).reduce(|a, b| a + b)
        };
        let span_s = recording.span_s(Window::ALL);
        let time_us = recording.sum("process.cpu", Window::ALL, own).value();
        Self {
            cpus: time_us.map(|us| us / 1e6 / span_s).filter(|cpus| cpus.is_finite()),
            memory: last("process.rss"),
            descriptors: last("process.fds"),
        }
    }
}

/// Current state of one side: the clients or the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SideNow {
    /// Role of the side: `client` or `server`.
    pub(crate) role: &'static str,
    pub(crate) cpu: Option<CpuKinds>,
    pub(crate) uses: Uses,
}

impl SideNow {
    pub(crate) fn of(role: &'static str, side: &Side) -> Self {
        Self { role, cpu: CpuKinds::of(side), uses: Uses::of(side) }
    }

    /// Returns the state of the clients' side: CPU times of the busiest host, and resources of the processes on all
    /// hosts.
    pub(crate) fn of_clients(hosts: &[Side]) -> Option<Self> {
        let all = hosts.iter().map(|side| Self::of("client", side)).filter(|host| host.cpu.is_some());
        all.reduce(|a, b| {
            let busy = |side: &Self| side.cpu.map_or(0.0, |cpu| cpu.busy());
            let cpu = if busy(&b) > busy(&a) { b.cpu } else { a.cpu };
            Self { role: a.role, cpu, uses: a.uses.with(&b.uses) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Column, CounterId, Recording};

    fn one_host(columns: &[(&'static str, &str, [f64; 2])]) -> Side {
        let column = |(id, instance, values): &(&'static str, &str, [f64; 2])| Column {
            counter: CounterId::new(id),
            instance: (*instance).to_string(),
            values: values.iter().copied().map(Some).collect(),
        };
        let recording =
            Recording { t_s: vec![1.0, 3.0], columns: columns.iter().map(column).collect(), ..Recording::default() };
        Side { processes: vec!["nginx:7".into()], recording, ..Side::default() }
    }

    #[test]
    fn kinds_are_shares_of_all_cpu_time_and_only_own_processes_count() {
        let side = one_host(&[
            ("cpu.user", "total", [0.0, 2e6]),
            ("cpu.system", "total", [0.0, 1e6]),
            ("cpu.softirq", "total", [5.0, 5.0]),
            ("cpu.idle", "total", [0.0, 1e6]),
            ("process.cpu", "nginx:7", [0.0, 1e6]),
            ("process.cpu", "other:8", [0.0, 9e6]),
            ("process.rss", "nginx:7", [5.0, 7.0]),
        ]);
        let now = SideNow::of("server", &side);
        let cpu = now.cpu.unwrap();
        assert_eq!((cpu.user, cpu.system, cpu.interrupts), (0.5, 0.25, 0.0));
        assert_eq!(now.uses, Uses { cpus: Some(0.5), memory: Some(7.0), descriptors: None });
        assert_eq!(SideNow::of("server", &Side::default()).cpu, None);

        let idle = Side {
            processes: side.processes.clone(),
            ..one_host(&[
                ("cpu.user", "total", [0.0, 1e6]),
                ("cpu.idle", "total", [0.0, 3e6]),
                ("process.rss", "nginx:7", [1.0, 1.0]),
            ])
        };
        let clients = SideNow::of_clients(&[idle, Side::default(), side]).unwrap();
        assert_eq!((clients.role, clients.cpu, clients.uses.memory), ("client", now.cpu, Some(8.0)));
        assert_eq!(SideNow::of_clients(&[]), None);
    }
}
