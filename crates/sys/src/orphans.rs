//! Descendants of the calling process, including those whose parents have ended. Source: prctl(2)
//! (PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG), waitpid(2).

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Signal, WaitOptions};

use crate::{Errno, Result};

/// Makes this process the new parent of every descendant whose own parent ends.
pub fn adopt() -> Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
}

/// Starts a command that the kernel kills if the calling thread ends.
pub fn start_bound(command: &mut Command) -> std::io::Result<Child> {
    let parent = std::process::id();
    let bind = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before the kernel knew that it must kill this process at the parent's end.
        if std::os::unix::process::parent_id() == parent { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: the closure runs between fork and exec. The closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(bind) }.spawn()
}

/// Waits for all children that have ended, so they do not remain as zombies. Returns the status of the child `watched`
/// if it has ended.
pub fn reap(watched: u32) -> Option<ExitStatus> {
    let mut found = None;
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if u32::try_from(pid.as_raw_nonzero().get()) == Ok(watched) {
            found = Some(ExitStatus::from_raw(status.as_raw()));
        }
    }
    found
}
