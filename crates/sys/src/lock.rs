//! Exclusive locks on files and processes. A lock ends with its process, however the process ends.
//!
//! - A file is locked by flock(2). Files of the control group file system can be locked, too, for example `cpu.max`.
//!   All mounts of this file system have the same files, so a container and its host see each other's locks.
//! - A process is locked through its pidfd. The kernel has one inode for each process, which does not depend on mounts
//!   and PID namespaces. A container and its host therefore see each other's locks. Sources: pidfd_open(2), fcntl(2)
//!   (open file description locks). Before Linux 6.9, all pidfds share one inode. Before Linux 6.9, a file of the
//!   process in /proc is locked instead. A container with its own mount of /proc does not see locks on files in the
//!   host's /proc.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{FlockOperation, flock, fstatfs};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::{Errno, Result, last_errno};

/// Type of the file system whose inodes stand for processes. Source: Linux, include/uapi/linux/magic.h,
/// `PID_FS_MAGIC`.
const PID_FS_MAGIC: u64 = 0x5049_4446;

/// A part of a process's state that can be locked apart from the other parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessPart {
    /// The process runs or is stopped.
    RunState,
    /// The process's limit on open descriptors.
    Descriptors,
    /// CPUs that the process may use.
    Cpus,
}

impl ProcessPart {
    /// Returns the path of the file in /proc that shows the given part of a process.
    pub fn path(self, pid: u32) -> std::path::PathBuf {
        let name = match self {
            Self::RunState => "stat",
            Self::Descriptors => "limits",
            Self::Cpus => "status",
        };
        format!("/proc/{pid}/{name}").into()
    }
}

/// A lock on a part of a process, until it is dropped.
#[derive(Debug)]
pub struct ProcessLock {
    _descriptor: OwnedFd,
}

/// Locks a file until it is closed. Returns false if the file is already locked through another open file description,
/// in this process or in another one.
pub fn try_exclusive(file: impl AsFd) -> Result<bool> {
    locked(flock(file, FlockOperation::NonBlockingLockExclusive))
}

/// Locks a part of a process. Returns `None` if `part` is already locked, by the calling process or by another one.
/// Fails with ESRCH if there is no such process.
pub fn try_process(pid: u32, part: ProcessPart) -> Result<Option<ProcessLock>> {
    let id = i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    let pidfd = pidfd_open(id, PidfdFlags::empty())?;
    // The C type of `f_type` differs between machines, so both sides of the comparison become `u64`.
    let has_own_inode = fstatfs(&pidfd)?.f_type as u64 == PID_FS_MAGIC;
    let (descriptor, is_free) = if has_own_inode {
        let is_free = try_byte(&pidfd, part as i64)?;
        (pidfd, is_free)
    } else {
        let file = File::open(part.path(pid)).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
        let is_free = try_exclusive(&file)?;
        (file.into(), is_free)
    };
    Ok(is_free.then_some(ProcessLock { _descriptor: descriptor }))
}

/// Locks the byte at `offset` of an open file until it is closed. The file need not contain a byte at `offset`. Returns
/// false if the byte is already locked through another open file description.
fn try_byte(file: &OwnedFd, offset: i64) -> Result<bool> {
    // SAFETY: all fields of this structure are integers, for which zero is valid.
    let mut range: libc::flock64 = unsafe { std::mem::zeroed() };
    range.l_type = libc::F_WRLCK as _;
    range.l_whence = libc::SEEK_SET as _;
    (range.l_start, range.l_len) = (offset, 1);
    // SAFETY: the descriptor is open, and the kernel only reads the structure, which lives until the call returns.
    let failed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const range) } == -1;
    locked(if failed { Err(last_errno()) } else { Ok(()) })
}

/// Converts the result of a system call that locks without waiting. EACCES and EAGAIN both mean that another lock
/// prevents the new lock. Source: fcntl(2).
fn locked(result: Result<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::ACCESS) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_file_of_the_kernel_has_one_lock_until_it_is_closed() {
        let open = || File::open("/proc/self/stat").unwrap();
        let (first, second) = (open(), open());
        assert_eq!(try_exclusive(&first), Ok(true));
        assert_eq!(try_exclusive(&second), Ok(false));
        drop(first);
        // A child process forked by a test that runs at the same time may hold a copy of the descriptor for a moment.
        testkit::eventually(|| try_exclusive(&second).unwrap().then_some(()));
    }

    #[test]
    fn each_part_of_a_process_has_one_lock_until_it_is_dropped() {
        let (own, first) = (std::process::id(), std::os::unix::process::parent_id());
        let lock = try_process(own, ProcessPart::RunState).unwrap().unwrap();
        assert!(try_process(own, ProcessPart::RunState).unwrap().is_none());
        assert!(try_process(own, ProcessPart::Cpus).unwrap().is_some(), "another part");
        assert!(try_process(first, ProcessPart::RunState).unwrap().is_some(), "another process");
        drop(lock);
        testkit::eventually(|| try_process(own, ProcessPart::RunState).unwrap());
        assert_eq!(try_process(0, ProcessPart::Cpus).unwrap_err(), Errno::SRCH);
    }

    /// Locks this process, and waits for the end of the standard input.
    #[test]
    #[ignore = "run by a_lock_taken_in_a_pid_namespace_is_seen_from_outside in its own process"]
    fn a_process_that_locks_itself() {
        let own = std::process::id();
        let _lock = try_process(own, ProcessPart::RunState).unwrap().unwrap();
        println!("\nlocked {own}");
        let _ = std::io::stdin().lines().next();
    }

    #[test]
    fn a_lock_taken_in_a_pid_namespace_is_seen_from_outside() {
        let test = "a_lock_taken_in_a_pid_namespace_is_seen_from_outside";
        if let Some(why) = testkit::no_namespaces().or_else(|| older_than_linux_6_9().then(|| "Linux < 6.9".into())) {
            return testkit::skip(test, why);
        }
        let mut command = testkit::in_namespaces();
        command.arg("--mount-proc").arg(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "lock::tests::a_process_that_locks_itself", "--nocapture"]);
        let mut unshare = testkit::ChildProcess(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let lines = BufReader::new(unshare.0.stdout.take().unwrap()).lines().map_while(std::io::Result::ok);
        let line = lines.into_iter().find(|line| line.starts_with("locked"));
        assert_eq!(line.as_deref(), Some("locked 1"), "it is the first process of its namespace");
        let pid_outside = testkit::children(unshare.0.id())[0];
        assert!(try_process(pid_outside, ProcessPart::RunState).unwrap().is_none());
        assert!(try_process(pid_outside, ProcessPart::Cpus).unwrap().is_some(), "another part is free");
    }

    fn older_than_linux_6_9() -> bool {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
        (numbers.next(), numbers.next()) < (Some(6), Some(9))
    }
}
