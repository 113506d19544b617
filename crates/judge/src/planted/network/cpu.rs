//! CPUs with processor sharing: every ready thread of a host gets an equal share of its CPUs, but at most one CPU. A
//! lever is a temporary change that an experiment makes, such as slowing a CPU.
//!
//! The threads of one program form a group. Each group has a virtual clock, which advances by the work that each of the
//! group's ready threads has done. A thread finishes when its group's clock has advanced by the thread's work since the
//! thread started. The thread that finishes next is therefore at the top of a heap. The cost of an event grows only
//! with the logarithm of the number of threads.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Length of a CPU quota's period, seconds (the kernel's default).
const PERIOD_S: f64 = 0.1;
/// Tolerance for rounding errors of the simulated clocks, seconds.
const EPSILON_S: f64 = 1e-12;

/// CPUs of one host.
#[derive(Clone, Debug)]
pub(super) struct Cpu {
    /// Number of CPUs of the host.
    pub(super) cpus: f64,
    /// Share of each CPU that the experiment's levers leave to the programs, 0 to 1. A lever takes CPU time away from
    /// all programs.
    pub(super) left: f64,
    /// Speed of the machine: seconds of work done per second of CPU time.
    pub(super) speed: f64,
    pub(super) groups: Vec<Group>,
}

/// Threads of one program that run or wait for a CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    clock_s: f64,
    tasks: BinaryHeap<Task>,
    quota: Option<Quota>,
    /// CPU time used by all threads, seconds.
    pub(super) work_s: f64,
    /// Time for which threads ran or waited for a CPU, seconds, summed over all threads.
    pub(super) ready_s: f64,
}

/// CPU quota of a control group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quota {
    pub(super) cpus: f64,
    used_s: f64,
    ends_s: f64,
    throttled: bool,
    /// Number of quota periods that ended so far.
    pub(super) periods: f64,
    /// Number of periods in which the quota ran out.
    pub(super) hit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Task {
    done_s: f64,
    thread: usize,
}

impl Eq for Task {}

impl Ord for Task {
    fn cmp(&self, other: &Self) -> Ordering {
        other.done_s.total_cmp(&self.done_s).then(other.thread.cmp(&self.thread))
    }
}

impl PartialOrd for Task {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Cpu {
    pub(super) fn new(cpus: f64, groups: usize) -> Self {
        Self { cpus, left: 1.0, speed: 1.0, groups: vec![Group::default(); groups] }
    }

    /// Starts work of a thread that takes `work_s` seconds at full speed.
    pub(super) fn start(&mut self, group: usize, thread: usize, work_s: f64) {
        let group = &mut self.groups[group];
        group.tasks.push(Task { done_s: group.clock_s + work_s, thread });
    }

    /// Returns the share of a CPU that each ready thread gets.
    pub(super) fn share(&self) -> f64 {
        let ready: usize = self.groups.iter().map(Group::running).sum();
        self.left * (self.cpus / ready.max(1) as f64).min(1.0)
    }

    /// Returns the time of the next event: a thread finishes its work, a quota is used up, or a quota's period ends.
    pub(super) fn next_s(&self, now_s: f64) -> f64 {
        let share = self.share();
        self.groups.iter().map(|group| group.next_s(now_s, share, self.speed)).fold(f64::INFINITY, f64::min)
    }

    /// Advances the time from `from_s` to `to_s`. No event may lie between `from_s` and `to_s`.
    pub(super) fn advance(&mut self, from_s: f64, to_s: f64) {
        let (share, speed, dt_s) = (self.share(), self.speed, to_s - from_s);
        self.groups.iter_mut().for_each(|group| group.advance(dt_s, share, speed));
    }

    /// Returns a thread that has finished its work, if any. Also updates the CPU quota of each group that it checks.
    pub(super) fn done(&mut self, now_s: f64) -> Option<usize> {
        self.groups.iter_mut().find_map(|group| group.done(now_s))
    }
}

impl Group {
    pub(super) fn limited(&mut self, cpus: f64) {
        self.quota = Some(Quota { cpus, used_s: 0.0, ends_s: PERIOD_S, throttled: false, periods: 0.0, hit: 0.0 });
    }

    pub(super) fn quota(&self) -> Option<Quota> {
        self.quota
    }

    /// Returns the number of threads that run, or wait for a CPU or for the next period of the quota.
    pub(super) fn ready(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the number of threads that may run. Returns 0 while the quota is used up.
    fn running(&self) -> usize {
        if self.quota.is_some_and(|quota| quota.throttled) { 0 } else { self.tasks.len() }
    }

    fn next_s(&self, now_s: f64, share: f64, speed: f64) -> f64 {
        let period_s = self.quota.map_or(f64::INFINITY, |quota| quota.ends_s);
        let Some(first) = self.tasks.peek().filter(|_| self.running() > 0) else { return period_s };
        let done_s = now_s + (first.done_s - self.clock_s).max(0.0) / (share * speed);
        let used_up_s = self.quota.map_or(f64::INFINITY, |quota| {
            now_s + (quota.cpus * PERIOD_S - quota.used_s).max(0.0) / (share * self.tasks.len() as f64)
        });
        done_s.min(used_up_s).min(period_s)
    }

    fn advance(&mut self, dt_s: f64, share: f64, speed: f64) {
        let (running, ready) = (self.running() as f64, self.tasks.len() as f64);
        self.ready_s += ready * dt_s;
        if running > 0.0 {
            self.clock_s += share * speed * dt_s;
            self.work_s += running * share * dt_s;
            self.quota.iter_mut().for_each(|quota| quota.used_s += running * share * dt_s);
        }
    }

    fn done(&mut self, now_s: f64) -> Option<usize> {
        if let Some(quota) = &mut self.quota {
            quota.update(now_s);
        }
        let first = self.tasks.peek().filter(|first| first.done_s <= self.clock_s + EPSILON_S)?.thread;
        self.tasks.pop();
        Some(first)
    }
}

impl Quota {
    fn update(&mut self, now_s: f64) {
        if now_s >= self.ends_s - EPSILON_S {
            self.periods += 1.0;
            self.hit += f64::from(u8::from(self.throttled));
            (self.used_s, self.throttled, self.ends_s) = (0.0, false, self.ends_s + PERIOD_S);
        }
        self.throttled |= self.used_s >= self.cpus * PERIOD_S - EPSILON_S;
    }
}
