//! One side of one trial, seen through the questions that the rules ask: rates, levels, who uses which processors.

use run::{CounterId, Side, Trial, Window};

use crate::number::{finite, positive, ratio};
use crate::sides::{is_own, window_of};

/// One side of one trial over its measured window.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// `client` or `server`.
    pub role: &'static str,
    /// The trial.
    pub trial: &'a Trial,
    /// The side.
    pub side: &'a Side,
    /// The stretch of time that counts.
    pub window: Window,
    /// Seconds between the first and the last sample in it; absent with fewer than two samples.
    pub span_s: Option<f64>,
}

/// A process or thread and its use of processors.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// `nginx:1234` or `nginx:1234/1240`.
    pub name: String,
    /// Share of one processor it used (1 = one processor all the time).
    pub busy: f64,
    /// Share of the time that it was ready and had none; absent when unknown.
    pub wait: Option<f64>,
    /// Processors that it may use; absent when unknown.
    pub allowed: Option<f64>,
}

/// The processors of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// How many are online.
    pub online: f64,
    /// Busy time in processors (0 to `online`).
    pub busy: f64,
    /// Share of that in soft interrupts, in processors.
    pub softirq: f64,
    /// Waiting for a disk, in processors.
    pub iowait: f64,
    /// Taken by the hypervisor, in processors.
    pub steal: f64,
}

impl<'a> View<'a> {
    /// The view of a side.
    pub fn new(role: &'static str, trial: &'a Trial, side: &'a Side) -> Self {
        let window = window_of(trial);
        Self { role, trial, side, window, span_s: positive(side.recording.span_s(window)) }
    }

    /// The derived figure of a counter: growth, or the mean of a gauge.
    pub fn value(&self, id: &'static str) -> Option<f64> {
        self.side.counters.get(&CounterId::new(id)).and_then(run::Reading::value).and_then(finite)
    }

    /// Growth per second.
    pub fn per_s(&self, id: &'static str) -> Option<f64> {
        ratio(self.value(id)?, self.span_s?)
    }

    /// Growth per completed request.
    pub fn per_request(&self, id: &'static str) -> Option<f64> {
        ratio(self.per_s(id)?, positive(self.trial.rates.completed_rate)?)
    }

    /// Growth of a counter of time, as a share of the time that passed.
    pub fn share_of_time(&self, id: &'static str) -> Option<f64> {
        self.per_s(id).map(|us| us / 1e6)
    }

    /// The instances of a counter with their figures.
    pub fn instances(&self, id: &'static str) -> Vec<(String, f64)> {
        let columns = self.side.recording.columns_of(id);
        let figure = |c: &run::Column| {
            let value = self.side.recording.reading(id, &c.instance, self.window).value();
            value.and_then(finite).map(|v| (c.instance.clone(), v))
        };
        columns.filter_map(figure).collect()
    }

    /// The largest value that any instance of a gauge took.
    pub fn max(&self, id: &'static str) -> Option<f64> {
        let columns = self.side.recording.columns_of(id);
        let largest = columns.filter_map(|c| self.side.recording.max(id, &c.instance, self.window).value());
        largest.filter(|v| v.is_finite()).reduce(f64::max)
    }

    /// Where a figure was read, for a line of evidence.
    pub fn place(&self, instance: &str) -> String {
        [self.role, self.side.host.as_str(), instance].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The side's processes, busiest first.
    pub fn processes(&self) -> Vec<Task> {
        self.tasks("process.cpu", "process.run_delay", "process.cpus_allowed")
    }

    /// The side's threads, busiest first.
    pub fn threads(&self) -> Vec<Task> {
        self.tasks("thread.cpu", "thread.run_delay", "thread.cpus_allowed")
    }

    /// Threads where they were read, else processes.
    pub fn workers(&self) -> Vec<Task> {
        let threads = self.threads();
        if threads.is_empty() { self.processes() } else { threads }
    }

    fn tasks(&self, cpu: &'static str, delay: &'static str, allowed: &'static str) -> Vec<Task> {
        let Some(span_us) = self.span_s.map(|s| s * 1e6) else { return Vec::new() };
        let own = self.instances(cpu).into_iter().filter(|(name, _)| is_own(self.side, name));
        let gauge = |id, name: &str| self.side.recording.reading(id, name, self.window).value().and_then(finite);
        let task = |(name, us): (String, f64)| Task {
            busy: us / span_us,
            wait: gauge(delay, &name).map(|us| us / span_us),
            allowed: gauge(allowed, &name).and_then(positive),
            name,
        };
        let mut tasks: Vec<Task> = own.map(task).collect();
        tasks.sort_by(|a, b| b.busy.total_cmp(&a.busy));
        tasks
    }

    /// Processors' worth of time that the side's processes used: the exact figure, or the sampled one where it is
    /// larger (processes that ended in the window are only in the latter).
    pub fn cpu_used(&self) -> Option<f64> {
        let exact = self.share_of_time("process.cpu");
        let sampled = self.share_of_time("process.user").zip(self.share_of_time("process.system")).map(|(u, s)| u + s);
        // Two ticks of doubt: a sampled figure must be clearly larger to be believed.
        let doubt = self.span_s.map_or(0.0, |s| 0.02 / s);
        match (exact, sampled) {
            (Some(e), Some(s)) if s > e * 1.1 + doubt => Some(s),
            (Some(e), _) => Some(e),
            (None, s) => s,
        }
    }

    /// How many processors the side's busy processes may use: at most those that are online. Processes that do nearly
    /// nothing (a master that only waits) do not count; several that are held to one each may use as many together.
    pub fn cpu_allowed(&self) -> Option<f64> {
        let processes = self.processes();
        let used: f64 = processes.iter().map(|p| p.busy).sum();
        let busy: Vec<&Task> = processes.iter().filter(|p| p.busy >= 0.05 * used).collect();
        let widest = busy.iter().filter_map(|p| p.allowed).reduce(f64::max);
        let together: f64 = busy.iter().filter_map(|p| p.allowed).sum();
        let online = self.online();
        match (widest, online) {
            (Some(w), Some(o)) if w >= o => Some(o),
            (Some(_), Some(o)) => Some(together.min(o)),
            (Some(w), None) => Some(w),
            (None, o) => o,
        }
    }

    /// Processors that are online.
    pub fn online(&self) -> Option<f64> {
        self.value("cpu.online").and_then(positive)
    }

    /// The processors of this side's host.
    pub fn host(&self) -> Option<Host> {
        let idle = self.share_of_time("cpu.idle")?;
        let iowait = self.share_of_time("cpu.iowait").unwrap_or(0.0);
        let steal = self.share_of_time("cpu.steal").unwrap_or(0.0);
        let parts = ["cpu.user", "cpu.system", "cpu.irq", "cpu.softirq"].map(|id| self.share_of_time(id).unwrap_or(0.0));
        let busy: f64 = parts.iter().sum();
        let online = self.online().or_else(|| positive((busy + idle + iowait + steal).round()))?;
        Some(Host { online, busy, softirq: parts[3], iowait, steal })
    }

    /// How many single processors were busy for all but 4 % of the time.
    pub fn full_processors(&self) -> usize {
        let Some(span_us) = self.span_s.map(|s| s * 1e6) else { return 0 };
        let single = |c: &str| c != "total" && !c.is_empty();
        let idle = self.instances("cpu.idle").into_iter().filter(|(name, _)| single(name));
        let waiting = |name: &str| {
            self.side.recording.reading("cpu.iowait", name, self.window).value().unwrap_or(0.0)
        };
        idle.filter(|(name, idle)| (idle + waiting(name)) / span_us <= 0.04).count()
    }
}
