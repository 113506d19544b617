//! One side (client or server) of one trial, with the figures that rules need: rates, levels, and the CPU use of
//! processes and threads.

mod cpus;
mod stolen;

use run::{CounterId, InstanceFilter, Instances, Side, Trial, Window};

use crate::context::sides::window_of;
use crate::context::ticks;
use crate::number::{finite, positive, ratio};
use crate::thresholds::{OTHERS_USE, WORKS};

/// One side (client or server) of one trial, over the measured window.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Name of the side: `client` or `server`.
    pub role: &'static str,
    /// Trial to which the side belongs.
    pub trial: &'a Trial,
    /// Recorded data of this side.
    pub side: &'a Side,
    /// Time range that the view covers.
    pub window: Window,
    /// Seconds between the first and the last sample in the window; `None` with fewer than two samples.
    pub span_s: Option<f64>,
}

/// CPU use of a process or thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Name of the process or thread: `nginx:1234` or `nginx:1234/1240`.
    pub name: String,
    /// Counter of the CPU time, per process or per thread.
    pub counter: &'static str,
    /// CPU use, in CPUs: 1 is one CPU all the time. The CPU use of a process with several threads may exceed 1.
    pub busy: f64,
    /// Share of the time for which the task was ready to run but had no CPU; absent if unknown.
    pub wait: Option<f64>,
    /// Number of CPUs that the task may use; absent if unknown.
    pub allowed: Option<f64>,
    /// Bit mask of the CPUs that the task may use; absent if unknown.
    pub mask: Option<u64>,
}

impl Task {
    /// Returns the share of the time for which the task ran or waited for a CPU. The returned share is 1 for a thread
    /// that never waits for anything but a CPU.
    pub fn wants(&self) -> f64 {
        self.busy + self.wait.unwrap_or(0.0)
    }
}

/// CPU use of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Number of CPUs that are online.
    pub online: f64,
    /// Busy time per second, in CPUs (0 to `online`).
    pub busy: f64,
    /// Part of `busy` that is soft interrupts, in CPUs.
    pub softirq: f64,
    /// CPUs that were idle while a disk request was outstanding (iowait).
    pub iowait: f64,
    /// Time that the hypervisor gave to other guests (steal), in CPUs.
    pub steal: f64,
}

/// Returns the program of a process instance: `nginx` for `nginx:1234`.
pub(crate) fn program(instance: &str) -> &str {
    instance.rsplit_once(':').map_or(instance, |(name, _)| name)
}

/// Returns true if `named` is the process instance `instance`, or its program: both `nginx:1234` and `nginx` name
/// `nginx:1234`.
pub(crate) fn names(named: &str, instance: &str) -> bool {
    named == instance || named == program(instance)
}

/// Returns the working processes: those with at least 5 % of the CPU time of all these processes. A master process that
/// only waits is left out.
pub(crate) fn busy(processes: &[Task]) -> Vec<Task> {
    let used: f64 = processes.iter().map(|p| p.busy).sum();
    processes.iter().filter(|p| p.busy >= WORKS * used).cloned().collect()
}

/// Returns the bit mask of the CPUs that the processes `busy` may use. Returns `None` if `busy` is empty, or if the
/// mask of any process is unknown.
pub(crate) fn mask(busy: &[Task]) -> Option<u64> {
    let masks: Option<Vec<u64>> = busy.iter().map(|p| p.mask).collect();
    masks.map(|m| m.into_iter().fold(0, |all, one| all | one)).filter(|m| *m != 0)
}

impl<'a> View<'a> {
    /// Makes the view of a side.
    pub fn new(role: &'static str, trial: &'a Trial, side: &'a Side) -> Self {
        let window = window_of(trial);
        Self { role, trial, side, window, span_s: positive(side.recording.span_s(window)) }
    }

    /// Returns the derived figure of a counter in the window: the growth of a cumulative counter, or the mean of a
    /// gauge.
    pub fn value(&self, id: &'static str) -> Option<f64> {
        self.side.counters.get(&CounterId::new(id)).and_then(run::Reading::value).and_then(finite)
    }

    /// Returns the growth of a counter over the whole trial (one load), summed over all instances, such as CPUs. For a
    /// gauge, returns the largest value of any instance. Some events, such as the second try of a lost connection
    /// request after one second, may occur only outside the measured window. For such events, this function includes
    /// the whole trial.
    pub(crate) fn whole_trial(&self, id: &'static str) -> Option<f64> {
        let recording = &self.side.recording;
        if run::counter(id).is_some_and(|spec| spec.kind == run::Kind::Gauge) {
            return recording.columns_of(id).filter_map(|c| recording.most(c, Window::ALL)).reduce(f64::max);
        }
        recording.sum(id, Window::ALL, |_| true).value().and_then(finite)
    }

    /// Returns the growth of a counter per second.
    pub fn per_s(&self, id: &'static str) -> Option<f64> {
        ratio(self.value(id)?, self.span_s?)
    }

    /// Returns the growth of a counter per completed request.
    pub fn per_request(&self, id: &'static str) -> Option<f64> {
        ratio(self.per_s(id)?, crate::context::own_rate::rate_of(self.trial, self.side)?)
    }

    /// Returns the growth of a counter of time, as a share of the elapsed time.
    pub fn share_of_time(&self, id: &'static str) -> Option<f64> {
        self.per_s(id).map(|us| us / 1e6)
    }

    /// Returns the instances of a counter, each with its figure: growth, or the mean of a gauge.
    pub fn instances(&self, id: &'static str) -> Vec<(String, f64)> {
        let columns = self.side.recording.columns_of(id);
        let figure = |c: &run::Column| {
            let value = self.side.recording.over(c, self.window).value();
            value.and_then(finite).map(|v| (c.instance.clone(), v))
        };
        columns.filter_map(figure).collect()
    }

    /// Returns the largest value of any instance of a gauge.
    pub fn max(&self, id: &'static str) -> Option<f64> {
        let columns = self.side.recording.columns_of(id);
        let largest = columns.filter_map(|c| self.side.recording.most(c, self.window));
        largest.filter(|v| v.is_finite()).reduce(f64::max)
    }

    /// Returns the text that says where a counter was read: role, host and instance.
    pub fn place(&self, instance: &str) -> String {
        [self.role, self.side.host.as_str(), instance]
            .into_iter()
            .filter(|s| !s.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Returns the processes of this side (client or server), the busiest process first.
    pub fn processes(&self) -> Vec<Task> {
        self.processes_of(&self.side.instance_filter())
    }

    /// Returns the threads of this side (client or server), the busiest thread first.
    pub fn threads(&self) -> Vec<Task> {
        self.threads_of(&self.side.instance_filter())
    }

    /// Returns the recorded processes that the filter `of` selects, busiest first.
    pub(crate) fn processes_of(&self, of: &InstanceFilter<'_>) -> Vec<Task> {
        self.tasks(of, ["process.cpu", "process.run_delay", "process.cpus_allowed", "process.cpu_mask"])
    }

    /// Returns the recorded threads of the processes that the filter `of` selects, busiest first.
    pub(crate) fn threads_of(&self, of: &InstanceFilter<'_>) -> Vec<Task> {
        self.tasks(of, ["thread.cpu", "thread.run_delay", "thread.cpus_allowed", "thread.cpu_mask"])
    }

    /// Returns the threads if they were read, otherwise the processes.
    pub fn workers(&self) -> Vec<Task> {
        let threads = self.threads();
        if threads.is_empty() { self.processes() } else { threads }
    }

    fn tasks(&self, of: &InstanceFilter<'_>, [cpu, delay, allowed, mask]: [&'static str; 4]) -> Vec<Task> {
        let Some(span_us) = self.span_s.map(|s| s * 1e6) else { return Vec::new() };
        // The instance that sums up all ended processes is left out. Ended processes may have run one after another, so
        // their sum does not describe one worker.
        let own = self.instances(cpu).into_iter().filter(|(name, _)| of.has(name) && name != run::ENDED_PROCESSES);
        let [delays, counts, masks] = [delay, allowed, mask].map(|id| self.side.recording.instances(id));
        let gauge = |of: &Instances<'_>, name: &str| of.value(name, self.window).and_then(finite);
        // A thread does not wait for a CPU while it runs, so its wait is at most the rest of the window. The counter of
        // a thread's wait for a CPU may exceed the rest of the window. The kernel adds a wait to the counter only when
        // the wait ends, and the wait may have begun before the window. The wait of a process is not limited to the
        // window, because the waits of its threads add up.
        let left = |us: f64| if cpu == "thread.cpu" { (span_us - us).max(0.0) } else { f64::INFINITY };
        let task = |(name, us): (String, f64)| Task {
            counter: cpu,
            busy: us / span_us,
            wait: gauge(&delays, &name).map(|delay_us| delay_us.min(left(us)) / span_us),
            allowed: gauge(&counts, &name).and_then(positive),
            mask: gauge(&masks, &name)
                .filter(|m| *m >= 1.0 && *m < 2f64.powi(52) && m.fract() == 0.0)
                .map(|m| m as u64),
            name,
        };
        let mut tasks: Vec<Task> = own.map(task).collect();
        tasks.sort_by(|a, b| b.busy.total_cmp(&a.busy));
        tasks
    }

    /// Returns the CPU use of this side's processes, in CPUs. If the exact counter of CPU time was read, the result
    /// comes from this counter, and otherwise from the counters in clock ticks.
    pub fn cpu_used(&self) -> Option<f64> {
        let sampled = || Some(self.share_of_time("process.user")? + self.share_of_time("process.system")?);
        self.share_of_time("process.cpu").or_else(sampled)
    }

    /// Returns the processes of this side's upstreams on its machine, the busiest process first.
    pub(crate) fn upstream_processes(&self) -> Vec<Task> {
        self.processes_of(&InstanceFilter::new(self.side.behind.iter().flat_map(|behind| &behind.processes)))
    }

    /// Returns the CPU use of this side's upstream processes on its machine, in CPUs.
    pub(crate) fn upstream_cpu(&self) -> f64 {
        self.upstream_processes().iter().map(|p| p.busy).sum()
    }

    /// Returns the number of CPUs that are online.
    pub fn online(&self) -> Option<f64> {
        self.value("cpu.online").and_then(positive)
    }

    /// Returns the name of this side's host.
    pub(crate) fn host_name(&self) -> &'a str {
        &self.side.host
    }

    /// Returns true if this view is long enough for times that the kernel counts in ticks. The rounding error must not
    /// exceed the CPU use that counts as another program ([`OTHERS_USE`]).
    fn resolves_ticks(&self, online: f64) -> bool {
        self.span_s.is_some_and(|span_s| ticks::error_s(&ticks::OF_HOST) <= OTHERS_USE * online * span_s)
    }

    /// Returns the CPU use of this side's host. Returns `None` for a view of a few ticks, because rounding to ticks may
    /// then exceed all of the CPU time.
    pub fn host(&self) -> Option<Host> {
        let idle = self.share_of_time("cpu.idle")?;
        let iowait = self.share_of_time("cpu.iowait").unwrap_or(0.0);
        let steal = self.share_of_time("cpu.steal").unwrap_or(0.0);
        let parts = ticks::OF_HOST.map(|id| self.share_of_time(id).unwrap_or(0.0));
        let busy: f64 = parts.iter().sum();
        let online = self.online().or_else(|| positive((busy + idle + iowait + steal).round()))?;
        self.resolves_ticks(online).then_some(Host { online, busy, softirq: parts[3], iowait, steal })
    }
}
