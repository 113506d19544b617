//! A process that keeps one network namespace alive: it reads its standard input until the end, then kills whatever
//! else is left in its namespace and ends. Since only the maker holds the other end of that pipe, everything vanishes
//! with the maker, however it dies.

use std::process::{Child, Command, Stdio};

use sys::netns::{self, Netns};

use crate::error::{Result, TestbedError};

/// Waits for the end of input, then clears the namespace of every other process.
const WATCH: &str = r#"trap '' INT TERM HUP; cat; while :; do left=; for p in /proc/[0-9]*; do i=${p#/proc/}
[ "$i" = $$ ] || { [ "$p/ns/net" -ef /proc/$$/ns/net ] && kill -9 "$i" && left=1; }; done 2>/dev/null; [ "$left" ] || exit 0; sleep 0.02; done"#;

/// One namespace and the process that keeps it.
#[derive(Debug)]
pub(crate) struct Holder {
    child: Child,
    pub(crate) netns: Netns,
}

impl Holder {
    /// A new network namespace; the first of a testbed makes a user namespace too where we have no right without one.
    pub(crate) fn first() -> Result<Self> {
        match Self::spawn(|c| netns::unshare(c, false)) {
            Ok(holder) => Ok(holder),
            Err(TestbedError::Namespace(e)) if e.kind() == std::io::ErrorKind::PermissionDenied => {
                Self::spawn(|c| netns::unshare(c, true))
            }
            Err(e) => Err(e),
        }
    }

    /// A further network namespace in the user namespace of this one.
    pub(crate) fn another(&self) -> Result<Self> {
        Self::spawn(|c| {
            self.netns.enter(c);
            netns::unshare(c, false);
        })
    }

    fn spawn(prepare: impl FnOnce(&mut Command)) -> Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", WATCH]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
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

    /// Process id of the keeper.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        // Normally nothing is left; but somebody may have killed the keeper, and with it the one who clears.
        end_all_in(&self.netns);
    }
}

/// Kills whatever is in a namespace.
fn end_all_in(netns: &Netns) {
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for pid in pids.filter(|pid| netns.holds(*pid as u32)).filter_map(rustix::process::Pid::from_raw) {
        // Gone in the meantime is as good.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
