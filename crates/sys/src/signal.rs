//! Signals to other processes.

use rustix::process::{Pid, Signal, kill_process};

use crate::{Errno, Result};

/// Stops a process (SIGSTOP) until [`resume`].
pub fn stop(pid: u32) -> Result<()> {
    kill_process(valid_pid(pid)?, Signal::STOP)
}

/// Resumes a stopped process (SIGCONT). A running process is unaffected.
pub fn resume(pid: u32) -> Result<()> {
    kill_process(valid_pid(pid)?, Signal::CONT)
}

/// Asks a process to end (SIGTERM).
pub fn end(pid: u32) -> Result<()> {
    kill_process(valid_pid(pid)?, Signal::TERM)
}

/// Kills a process (SIGKILL).
pub fn kill(pid: u32) -> Result<()> {
    kill_process(valid_pid(pid)?, Signal::KILL)
}

/// Checks a process ID and converts it to the kernel's signed type. Refuses 0, and numbers that would be negative,
/// because kill(2) uses 0 and negative numbers for process groups.
fn valid_pid(pid: u32) -> Result<Pid> {
    i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw).ok_or(Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(pid: u32) -> String {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).unwrap_or_default().to_owned()
    }

    #[test]
    fn a_process_can_be_stopped_and_resumed() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let is = |wanted: &str| testkit::eventually(|| (state(child.id()) == wanted).then_some(()));
        is("S");
        stop(child.id()).unwrap();
        is("T");
        resume(child.id()).unwrap();
        is("S");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((stop(0), resume(u32::MAX)), (Err(Errno::SRCH), Err(Errno::SRCH)));
    }
}
