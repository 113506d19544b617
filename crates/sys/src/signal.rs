//! Stopping another process for a while, letting it go on, and ending a group of processes that was started here.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::{Errno, Result};

/// Stops a process (SIGSTOP) until [`go_on`].
pub fn stop(pid: u32) -> Result<()> {
    kill_process(of(pid)?, Signal::STOP)
}

/// Lets a stopped process go on (SIGCONT); one that runs does not notice.
pub fn go_on(pid: u32) -> Result<()> {
    kill_process(of(pid)?, Signal::CONT)
}

/// Asks all processes of a group to end (SIGTERM).
pub fn end_group(leader: u32) -> Result<()> {
    kill_process_group(of(leader)?, Signal::TERM)
}

/// Ends all processes of a group (SIGKILL).
pub fn kill_group(leader: u32) -> Result<()> {
    kill_process_group(of(leader)?, Signal::KILL)
}

/// Never 0 or less: those are groups of processes.
fn of(pid: u32) -> Result<Pid> {
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
    fn a_process_is_stopped_and_goes_on() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let is = |wanted: &str| testkit::eventually(|| (state(child.id()) == wanted).then_some(()));
        is("S");
        stop(child.id()).unwrap();
        is("T");
        go_on(child.id()).unwrap();
        is("S");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((stop(0), go_on(u32::MAX)), (Err(Errno::SRCH), Err(Errno::SRCH)));
    }
}
