//! Child processes that use all of one CPU at given times. Source: fork(2), setsid(2), sched(7) (autogroups),
//! setpriority(2), close_range(2).
//!
//! With autogroups (`/proc/sys/kernel/sched_autogroup_enabled`), all threads of one session share one weight. If two
//! sessions use one CPU, each of them gets half of the CPU, whatever the number of its threads. Each child leads its
//! own session, so it gets half of its CPU, however many threads the competing session has.

use crate::pass::{Child, fork};
use crate::{Errno, Result, clock, cpuclock, limits};

/// Nice value that a child sets for itself. Without the privilege to raise its priority, the child keeps the nice value
/// that it inherited. A nice value below -5 would take CPU time from the kernel's own threads, such as ksoftirqd, which
/// handles packets at nice 0.
const NICE: i32 = -5;

/// A child process that uses all of a CPU. The kernel kills the child when the thread that started the child ends.
/// Dropping the `CpuHog` value also kills the child.
#[derive(Debug)]
pub struct CpuHog {
    child: Option<Child>,
    pid: u32,
}

impl CpuHog {
    /// Starts a child on `cpu`. Each element of `times` is a start and an end (CLOCK_MONOTONIC, nanoseconds,
    /// ascending). The child uses the CPU from each start to its end, sleeps at all other times, and exits after the
    /// last element.
    pub fn start(cpu: u32, times: &[(u64, u64)]) -> Result<Self> {
        let parent = std::process::id();
        let child = fork(&[], || match enter(cpu, parent) {
            Ok(()) => {
                times.iter().for_each(|(begin_ns, end_ns)| spin(*begin_ns, *end_ns));
                0
            }
            Err(_) => 1,
        })?;
        let pid = child.pid();
        Ok(Self { child: Some(child), pid })
    }

    /// Returns the CPU time that the child has used so far, in nanoseconds.
    pub fn cpu_ns(&self) -> Result<u64> {
        cpuclock::process_cpu_ns(self.pid)
    }
}

impl Drop for CpuHog {
    fn drop(&mut self) {
        // The child was not waited for, so its process ID cannot belong to another process. SAFETY: kill takes no
        // pointers.
        unsafe { libc::kill(self.pid as libc::pid_t, libc::SIGKILL) };
        self.child.take();
    }
}

/// Runs in the child: starts a session, closes the parent's files, and confines the child to its CPU.
fn enter(cpu: u32, parent: u32) -> Result<()> {
    // SAFETY: these system calls take no pointers. The closed descriptors belong to values that only the parent's code
    // uses, and the child never returns to that code.
    unsafe {
        libc::setsid();
        libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
    }
    if std::os::unix::process::parent_id() != parent {
        // The parent ended before this child asked the kernel to be killed together with the parent, so the child
        // exits.
        return Err(Errno::SRCH);
    }
    limits::confine_to_cpus(&[cpu])?;
    // A failure to raise the priority is ignored. Without privilege or autogroups, the child runs with the usual
    // priority.
    let _ = limits::set_nice(NICE);
    let _ = std::fs::write("/proc/self/autogroup", NICE.to_string());
    Ok(())
}

fn spin(begin_ns: u64, end_ns: u64) {
    clock::sleep_until_ns(begin_ns);
    while clock::monotonic_ns() < end_ns {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_there(pid: u32) -> bool {
        std::path::Path::new(&format!("/proc/{pid}")).exists()
    }

    /// Returns the fields of `/proc/PID/stat`, from the process state on.
    fn stat(pid: u32) -> Vec<String> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        text.rsplit(')').next().unwrap().split_whitespace().map(str::to_owned).collect()
    }

    /// Waits until a child leads its own session. By then, the child has already asked the kernel to kill it when the
    /// parent ends.
    fn wait_for_session(pid: u32) {
        testkit::eventually(|| (stat(pid)[3] == pid.to_string()).then_some(()));
    }

    #[test]
    fn a_child_spins_when_it_is_told_and_is_gone_with_its_value() {
        let cpu = *limits::allowed_cpus().unwrap().last().unwrap();
        let now = clock::monotonic_ns();
        let hog = CpuHog::start(cpu, &[(now + 50_000_000, now + 10_000_000_000)]).unwrap();
        testkit::eventually(|| (hog.cpu_ns().unwrap() > 20_000_000).then_some(()));
        let pid = hog.pid;
        assert!(is_there(pid));
        wait_for_session(pid);
        drop(hog);
        assert!(!is_there(pid));
    }

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let cpu = *limits::allowed_cpus().unwrap().last().unwrap();
        let now = clock::monotonic_ns();
        let start = move || {
            let hog = CpuHog::start(cpu, &[(now + 60_000_000_000, now + 61_000_000_000)]).unwrap();
            wait_for_session(hog.pid);
            hog
        };
        let hog = std::thread::spawn(start).join().unwrap();
        testkit::eventually(|| (stat(hog.pid)[0] == "Z").then_some(()));
    }
}
