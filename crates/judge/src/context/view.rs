//! One side (client or server) of one trial, with the figures that rules need: rates, levels, and the CPU use of
//! processes and threads.

use run::{CounterId, InstanceFilter, Instances, Side, Trial, Window};

use crate::context::sides::window_of;
use crate::context::ticks;
use crate::number::{finite, positive, ratio};
use crate::thresholds::{CHARGED_APART, CPU_WAIT, MAX_STOLEN, WORKS};
use stats::average;

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

/// Maximum number of CPUs of a machine for which only the sum of the stolen time over all CPUs is known.
const MAX_CPUS: usize = 4096;

/// Returns the program of a process instance: `nginx` for `nginx:1234`.
pub(crate) fn program(instance: &str) -> &str {
    instance.rsplit_once(':').map_or(instance, |(name, _)| name)
}

/// Returns true if `named` is the process instance `instance`, or its program: both `nginx:1234` and `nginx` name
/// `nginx:1234`.
pub(crate) fn names(named: &str, instance: &str) -> bool {
    named == instance || named == program(instance)
}

/// Returns true if the bit mask `mask` of CPUs contains the CPU with the number `cpu`. Returns false for other names of
/// instances, such as `total`.
fn is_in(mask: u64, cpu: &str) -> bool {
    cpu.parse::<u32>().is_ok_and(|n| n < 64 && mask & (1 << n) != 0)
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

    /// Returns the number of CPUs that this side's processes used, divided by the number of CPUs that these processes
    /// may use, 0 to 1.
    pub(crate) fn cpu_share(&self) -> Option<f64> {
        ratio(self.cpu_used()?, self.cpu_allowed()?)
    }

    /// Returns the processes of this side's upstreams on its machine, the busiest process first.
    pub(crate) fn upstream_processes(&self) -> Vec<Task> {
        self.processes_of(&InstanceFilter::new(self.side.behind.iter().flat_map(|behind| &behind.processes)))
    }

    /// Returns the CPU use of this side's upstream processes on its machine, in CPUs.
    pub(crate) fn upstream_cpu(&self) -> f64 {
        self.upstream_processes().iter().map(|p| p.busy).sum()
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
    /// program. If only the sum over all CPUs was read, returns the busy share of the whole host.
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
        Some((1.0 - average(&idle)).clamp(0.0, 1.0))
    }

    /// Returns the number of CPUs that are online.
    pub fn online(&self) -> Option<f64> {
        self.value("cpu.online").and_then(positive)
    }

    /// Returns the share of the time for which the hypervisor gave this machine the CPUs that the side may use. No
    /// program on this machine can use time that the hypervisor gave to other guests.
    pub(crate) fn given(&self) -> f64 {
        1.0 - average(&self.stolen_each(self.mask()))
    }

    /// Returns the share of the time for which the hypervisor took away the CPUs that the side may use. Unlike
    /// [`View::given`], does not limit the share to [`MAX_STOLEN`].
    pub(crate) fn withheld(&self) -> f64 {
        let each = self.steal_of_cpus(self.mask());
        let all = || self.steal_of(|cpu| cpu == "total").first().and_then(|sum| ratio(*sum, self.online()?));
        if each.is_empty() { all().unwrap_or(0.0) } else { average(&each) }
    }

    /// Returns, for each CPU of `mask`, the share of the time for which the hypervisor took the CPU away from this
    /// host. A share above [`MAX_STOLEN`] counts as [`MAX_STOLEN`]. Without a mask, returns the shares of all CPUs. If
    /// only the sum over all CPUs was read, a single CPU may have lost all of the stolen time. The result is empty if
    /// nothing was read.
    pub(crate) fn stolen_each(&self, mask: Option<u64>) -> Vec<f64> {
        let mut shares = self.steal_of_cpus(mask);
        if shares.is_empty() {
            shares = self.steal_of(|cpu| cpu == "total");
            let cpus = mask.map_or(self.online().unwrap_or(1.0), |mask| f64::from(mask.count_ones()));
            shares.resize(shares.len() * (cpus as usize).clamp(1, MAX_CPUS), 0.0);
        }
        shares.into_iter().map(|share| share.clamp(0.0, MAX_STOLEN)).collect()
    }

    /// Returns the share of the time for which the hypervisor took a CPU away from this host, for the CPU that lost the
    /// most. Reads the recording itself, so trials need no derived figures.
    pub fn stolen(&self) -> Option<f64> {
        let most = self.steal_of_cpus(None).into_iter().reduce(f64::max);
        // A run of an older version of loadline may contain only the sum over all CPUs.
        most.or_else(|| self.steal_of(|cpu| cpu == "total").first().copied())
    }

    /// Returns the share of the time that the hypervisor took away, for each single CPU of `mask`, or for all single
    /// CPUs without a mask. The result is empty if only the sum over all CPUs was read.
    fn steal_of_cpus(&self, mask: Option<u64>) -> Vec<f64> {
        self.steal_of(|cpu| cpu != "total" && mask.is_none_or(|mask| is_in(mask, cpu)))
    }

    /// Returns the share of the time that the hypervisor took away, for each instance of the counter that `of` selects.
    fn steal_of(&self, of: impl Fn(&str) -> bool) -> Vec<f64> {
        let recording = &self.side.recording;
        let columns = recording.columns.iter().filter(|c| c.counter.as_str() == "cpu.steal" && of(&c.instance));
        let share =
            |c: &run::Column| ratio(recording.over(c, self.window).value().and_then(finite)? / 1e6, self.span_s?);
        columns.filter_map(share).collect()
    }

    /// Returns the name of this side's host.
    pub(crate) fn host_name(&self) -> &'a str {
        &self.side.host
    }

    /// Returns the CPU use of this side's host.
    pub fn host(&self) -> Option<Host> {
        let idle = self.share_of_time("cpu.idle")?;
        let iowait = self.share_of_time("cpu.iowait").unwrap_or(0.0);
        let steal = self.share_of_time("cpu.steal").unwrap_or(0.0);
        let parts = ticks::OF_HOST.map(|id| self.share_of_time(id).unwrap_or(0.0));
        let busy: f64 = parts.iter().sum();
        let online = self.online().or_else(|| positive((busy + idle + iowait + steal).round()))?;
        Some(Host { online, busy, softirq: parts[3], iowait, steal })
    }
}

#[cfg(test)]
mod tests;
