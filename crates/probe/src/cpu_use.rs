//! Reads the idle CPU time of a host, the time of interrupts, and the CPU time of the followed processes ten times per
//! second. Also reads the CPU time of loadline itself. CPU time that is neither idle, nor of a followed process or of
//! loadline, was used by other programs or by interrupts. Other counters are read less often, because each reading
//! costs CPU time. Source: proc_stat(5).

use run::CpuUse;

use crate::new_children::NewChildren;
use crate::reread_file::RereadFile;
use crate::text::{keyed, lines, number, words};
use crate::tree_cpu::TreeCpu;
use crate::units;

/// Time between two readings, nanoseconds.
pub(crate) const INTERVAL_NS: u64 = 100_000_000;
/// Maximum number of readings in one load test: the readings of one hour. Once the maximum is reached, the meter takes
/// no further readings in the load test.
const MAX_READINGS: usize = 36_000;

/// Reads the CPU times; see the module documentation.
pub(crate) struct CpuUseMeter {
    file: RereadFile,
    /// CPUs whose idle time is counted; empty for all CPUs of the host.
    cpus: Vec<u32>,
    /// CPU times of the followed processes at the last reading.
    processes: TreeCpu,
    new_children: NewChildren,
    own_ns: u64,
    readings: CpuUse,
}

impl CpuUseMeter {
    /// Creates a meter that reads `file`, which has the format of `/proc/stat`.
    pub(crate) fn new(file: RereadFile, cpus: Vec<u32>) -> Self {
        let (processes, new_children) = (TreeCpu::default(), NewChildren::default());
        Self { file, cpus, processes, new_children, own_ns: 0, readings: CpuUse::default() }
    }

    /// Takes a reading at `t_s` seconds since the origin (time zero) of the load test. `pids` are the processes of this
    /// side (server or generator) and of its upstreams. The children of these processes count, too, from the start of
    /// each child on.
    pub(crate) fn read(&mut self, t_s: f64, pids: impl Iterator<Item = u32>) {
        if self.readings.t_s.len() >= MAX_READINGS {
            return;
        }
        let Some(host) = self.file.read().ok().and_then(|text| host_times(text, &self.cpus)) else { return };
        let observer = std::process::id();
        let mut pids: Vec<u32> = pids.collect();
        let observer_ns = if pids.contains(&observer) { 0 } else { sys::clock::process_cpu_ns() };
        self.new_children.search(host.started, &pids);
        pids.extend(self.new_children.found());
        self.processes.start_at_zero(pids.iter().copied().filter(|pid| self.new_children.is_new(*pid)));
        let mut now = TreeCpu::of(pids.into_iter());
        self.own_ns += now.follow_ns(&self.processes);
        self.processes = now;
        self.readings.cpus = host.cpus;
        self.readings.t_s.push(t_s);
        self.readings.idle_s.push(host.idle_s);
        self.readings.interrupts_s.push(host.interrupts_s);
        self.readings.own_s.push(self.own_ns as f64 / 1e9);
        self.readings.observer_pid = observer;
        self.readings.observer_s.push(observer_ns as f64 / 1e9);
    }

    /// Returns all readings since the last call, and forgets the followed processes.
    pub(crate) fn take(&mut self) -> CpuUse {
        (self.own_ns, self.processes, self.new_children) = (0, TreeCpu::default(), NewChildren::default());
        std::mem::take(&mut self.readings)
    }
}

/// CPU times of some CPUs of a host, added up.
#[derive(Debug, PartialEq)]
struct HostTimes {
    cpus: f64,
    /// Idle time, seconds. Waiting for a disk is idle time, too.
    idle_s: f64,
    /// Time of hard and soft interrupts, seconds.
    interrupts_s: f64,
    /// Number of processes and threads that the host has started since boot.
    started: u64,
}

/// Returns the sums of the times of the CPUs in `cpus`, or of all CPUs if `cpus` is empty.
fn host_times(text: &[u8], cpus: &[u32]) -> Option<HostTimes> {
    let (mut idle_ticks, mut interrupt_ticks, mut count) = (0, 0, 0.0);
    for line in lines(text) {
        let mut fields = words(line);
        let Some(name) = fields.next().and_then(|key| key.strip_prefix(b"cpu")) else { continue };
        let wanted = |cpu: u64| cpus.is_empty() || cpus.iter().any(|one| u64::from(*one) == cpu);
        if !number(name).is_some_and(wanted) {
            continue;
        }
        let ticks: Vec<u64> = fields.skip(3).take(4).map_while(number).collect();
        let [idle, iowait, interrupts @ ..] = ticks.as_slice() else { return None };
        let add = |sum: u64, ticks: &[u64]| ticks.iter().fold(sum, |sum, ticks| sum.saturating_add(*ticks));
        (idle_ticks, interrupt_ticks) = (add(idle_ticks, &[*idle, *iowait]), add(interrupt_ticks, interrupts));
        count += 1.0;
    }
    let seconds = |ticks| units::ticks_us(ticks) / 1e6;
    let (idle_s, interrupts_s) = (seconds(idle_ticks), seconds(interrupt_ticks));
    let started = keyed(text, "processes").unwrap_or_default() as u64;
    (count > 0.0).then_some(HostTimes { cpus: count, idle_s, interrupts_s, started })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const STAT: &[u8] = b"cpu  1 0 1 700 30\ncpu0 1 0 1 300 10 2 5 0\ncpu3 0 0 0 400 20 0 4 0\nintr 5\nprocesses 9\n";

    #[test]
    fn idle_time_and_interrupts_of_the_wanted_cpus_are_summed() {
        let seconds = |ticks| units::ticks_us(ticks) / 1e6;
        let times = |cpus, idle, interrupts| {
            let (idle_s, interrupts_s) = (seconds(idle), seconds(interrupts));
            Some(HostTimes { cpus, idle_s, interrupts_s, started: 9 })
        };
        assert_eq!(host_times(STAT, &[]), times(2.0, 730, 11));
        assert_eq!(host_times(STAT, &[3]), times(1.0, 420, 4));
        assert_eq!((host_times(STAT, &[7]), host_times(b"cpu0 x\n", &[])), (None, None));
    }

    #[test]
    fn the_cpu_time_of_followed_processes_counts_from_the_first_reading() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stat");
        std::fs::write(&path, STAT).unwrap();
        let mut meter = CpuUseMeter::new(RereadFile::new(path), Vec::new());
        let me = || [std::process::id(), u32::MAX].into_iter();
        meter.read(0.0, me());
        let begin_ns = sys::clock::process_cpu_ns();
        while sys::clock::process_cpu_ns() < begin_ns + 5_000_000 {}
        meter.read(0.1, me());
        let seen = meter.take();
        assert_eq!((seen.t_s.as_slice(), seen.own_s[0], seen.cpus), ([0.0, 0.1].as_slice(), 0.0, 2.0));
        assert!(seen.own_s[1] >= 0.005, "{seen:?}");
        assert_eq!(meter.take(), CpuUse::default());
    }

    /// A child may run for longer than the time between two readings. The CPU time of such a child belongs to the
    /// observed side from the start of the child on. An earlier version of loadline counted this CPU time only after
    /// the child's end, or after the next sample of the processes.
    #[test]
    fn the_cpu_time_of_a_running_child_counts_from_its_start() {
        let script = "read line; sh -c 'while :; do :; done' & read line; kill $!";
        let mut shell = testkit::ChildProcess::start(
            std::process::Command::new("sh").args(["-c", script]).stdin(std::process::Stdio::piped()),
        );
        let mut meter = CpuUseMeter::new(RereadFile::new("/proc/stat".into()), Vec::new());
        let pid = shell.pid();
        meter.read(0.0, [pid].into_iter());
        writeln!(shell.0.stdin.as_mut().unwrap(), "start").unwrap();
        let child = testkit::eventually(|| crate::process_tree::children_of_main_thread(pid).first().copied());
        let used_ns = |pid| sys::cpuclock::process_cpu_ns(pid).unwrap_or_default();
        testkit::eventually(|| (used_ns(child) >= 50_000_000).then_some(()));
        meter.read(0.1, [pid].into_iter());
        let (used_s, seen) = (used_ns(child) as f64 / 1e9, meter.take());
        writeln!(shell.0.stdin.as_mut().unwrap(), "end").unwrap();
        assert!(seen.own_s[1] >= 0.05 && seen.own_s[1] <= used_s + used_ns(pid) as f64 / 1e9, "{used_s} {seen:?}");
    }
}
