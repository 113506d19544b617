//! A shell process that keeps a network namespace alive. When the shell's standard input ends, the shell kills all
//! other processes in the namespace and exits. The shell's standard input is a pipe, and only the creator of the
//! namespace holds the other end of the pipe. The creator's end of the pipe closes even if the creator crashes, so all
//! processes in the namespace then end.

use std::process::{Child, Command, Stdio};

use sys::netns::{self, Netns};

use crate::error::{Result, TestbedError};

/// Script that waits for the end of its input and then kills every other process in the namespace.
const KEEPER_SCRIPT: &str = r#"trap '' INT TERM HUP; cat; while :; do left=; for p in /proc/[0-9]*; do i=${p#/proc/}
[ "$i" = $$ ] || { [ "$p/ns/net" -ef /proc/$$/ns/net ] && kill -9 "$i" && left=1; }; done 2>/dev/null; [ "$left" ] || exit 0; sleep 0.02; done"#;

/// A network namespace, and the process that keeps it alive. Dropping this value ends all processes in the namespace.
#[derive(Debug)]
pub(crate) struct Holder {
    child: Child,
    pub(crate) netns: Netns,
}

impl Holder {
    /// Creates a network namespace. If the caller may not create a network namespace, creates it inside a new user
    /// namespace.
    pub(crate) fn first() -> Result<Self> {
        match Self::spawn(|c| netns::unshare(c, false)) {
            Ok(holder) => Ok(holder),
            Err(TestbedError::Namespace(e)) if e.kind() == std::io::ErrorKind::PermissionDenied => {
                Self::spawn(|c| netns::unshare(c, true))
            }
            Err(e) => Err(e),
        }
    }

    /// Creates another network namespace, owned by the same user namespace as this one.
    pub(crate) fn another(&self) -> Result<Self> {
        Self::spawn(|c| {
            self.netns.enter(c);
            netns::unshare(c, false);
        })
    }

    fn spawn(prepare: impl FnOnce(&mut Command)) -> Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", KEEPER_SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        netns::own_session(&mut command);
        prepare(&mut command);
        let mut child = command.spawn().map_err(TestbedError::Namespace)?;
        match Netns::of_process(child.id()) {
            Ok(netns) => Ok(Self { child, netns }),
            Err(e) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(TestbedError::Namespace(e))
            }
        }
    }

    /// Returns the ID of the process that keeps the namespace alive.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        // Usually, no process is left in the namespace by now. However, if the process that keeps the namespace alive
        // was itself killed, it could not kill the other processes.
        end_all_in(&self.netns);
    }
}

/// Kills all processes that are in a network namespace.
fn end_all_in(netns: &Netns) {
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for pid in pids.filter(|pid| netns.holds(*pid as u32)).filter_map(rustix::process::Pid::from_raw) {
        // Ignore an error, because the process may have ended in the meantime.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
