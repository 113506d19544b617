//! Network namespaces. A child process can start in a new or in an existing namespace, and descriptors can be opened in
//! another namespace.
//!
//! Nothing in this module changes the calling process. Only child processes enter namespaces, so that all threads of
//! the caller stay in one namespace. Source: namespaces(7), user_namespaces(7), setns(2), unshare(2).

mod open_spec;
mod passing;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

pub use open_spec::OpenSpec;
use passing::{exit_code, io_pair, receive_one, send_one};

/// A network namespace, and its user namespace if the caller is in another user namespace.
#[derive(Clone, Debug)]
pub struct Netns {
    user: Option<Arc<OwnedFd>>,
    net: Arc<OwnedFd>,
    id: (u64, u64),
}

/// Returns device and inode number of a process's network namespace. `process` is the folder of the process in /proc
/// (`/proc/self` for the caller). Two processes in the same namespace have equal device and inode numbers.
pub fn network_id(process: &Path) -> io::Result<(u64, u64)> {
    std::fs::metadata(process.join("ns/net")).map(|m| (m.dev(), m.ino()))
}

/// Returns true if a process is in another network namespace than the caller, or `None` if its namespace cannot be
/// read.
pub fn elsewhere(pid: u32) -> Option<bool> {
    let theirs = network_id(Path::new(&format!("/proc/{pid}"))).ok()?;
    network_id(Path::new("/proc/self")).ok().map(|ours| ours != theirs)
}

impl Netns {
    /// Opens the network namespace of a process. If the caller is in another user namespace than the process, also
    /// opens the user namespace of the process.
    pub fn of_process(pid: u32) -> io::Result<Self> {
        let open = |name: &str| File::open(format!("/proc/{pid}/ns/{name}"));
        let (net, user) = (open("net")?, open("user")?);
        let (theirs, ours) = (user.metadata()?, std::fs::metadata("/proc/self/ns/user")?);
        let same_user = (theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino());
        let id = net.metadata().map(|m| (m.dev(), m.ino()))?;
        Ok(Self { user: (!same_user).then(|| Arc::new(user.into())), net: Arc::new(net.into()), id })
    }

    /// Returns the device and inode number of the namespace. Two handles of the same namespace have equal device and
    /// inode numbers.
    pub fn id(&self) -> (u64, u64) {
        self.id
    }

    /// Returns true if a process is in this network namespace, and false if its namespace cannot be read.
    pub fn holds(&self, pid: u32) -> bool {
        network_id(Path::new(&format!("/proc/{pid}"))).is_ok_and(|id| id == self.id)
    }

    /// Prepares a command so that its process starts inside this namespace.
    pub fn enter(&self, command: &mut Command) {
        let (user, net) = (self.user.clone(), Arc::clone(&self.net));
        let step = move || enter_now(user.as_deref(), &net);
        // SAFETY: between fork and exec the closure only calls setns(2) on descriptors that it owns. setns(2) is
        // async-signal-safe, and the closure neither allocates nor takes a lock.
        unsafe { command.pre_exec(step) };
    }

    /// Opens descriptors inside this namespace in a short-lived child process. Returns the descriptors in the order of
    /// `wants`.
    pub fn open(&self, wants: &[OpenSpec]) -> io::Result<Vec<OwnedFd>> {
        let (here, there) = io_pair()?;
        let user = self.user.clone();
        // SAFETY: the child calls only async-signal-safe functions (setns, open, socket, sendmsg, _exit) on memory
        // prepared before the fork. The child never returns into Rust code of the parent.
        let child = unsafe { libc::fork() };
        match child {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let failed = match enter_now(user.as_deref(), &self.net) {
                    Ok(()) => wants.iter().find_map(|want| send_one(&there, want).err()),
                    Err(e) => Some(e),
                };
                let code = failed.and_then(|e| e.raw_os_error()).unwrap_or(0);
                // SAFETY: _exit(2) ends the child without running any destructor of the copied parent.
                unsafe { libc::_exit(code & 0xff) }
            }
            child => {
                drop(there);
                let got = (0..wants.len()).map_while(|_| receive_one(&here)).collect::<Vec<_>>();
                let code = exit_code(child)?;
                match got.len() == wants.len() {
                    true => Ok(got),
                    false => Err(io::Error::from_raw_os_error(if code == 0 { libc::EIO } else { code })),
                }
            }
        }
    }
}

/// Prepares a command so that its process starts in a new network namespace. With `user`, the process also gets a new
/// user namespace, in which the caller's user is root.
pub fn unshare(command: &mut Command, user: bool) {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let (uid_map, gid_map) = (format!("0 {uid} 1"), format!("0 {gid} 1"));
    let flags = if user { libc::CLONE_NEWUSER | libc::CLONE_NEWNET } else { libc::CLONE_NEWNET };
    let step = move || {
        // SAFETY: unshare(2) takes no pointer.
        if unsafe { libc::unshare(flags) } != 0 {
            return Err(io::Error::last_os_error());
        }
        if user {
            write_file(c"/proc/self/setgroups", b"deny")?;
            write_file(c"/proc/self/uid_map", uid_map.as_bytes())?;
            write_file(c"/proc/self/gid_map", gid_map.as_bytes())?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure only calls unshare, open, write and close on memory that was prepared
    // before the fork.
    unsafe { command.pre_exec(step) };
}

/// Prepares a command so that its process leads a new session. Signals of the terminal do not reach the process.
pub fn own_session(command: &mut Command) {
    // SAFETY: setsid(2) is async-signal-safe and takes no argument.
    unsafe { command.pre_exec(|| if libc::setsid() == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }) };
}

fn enter_now(user: Option<&OwnedFd>, net: &OwnedFd) -> io::Result<()> {
    let set = |fd: &OwnedFd, kind| {
        // SAFETY: setns(2) takes a descriptor that stays open during the call.
        if unsafe { libc::setns(fd.as_raw_fd(), kind) } != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    if let Some(user) = user {
        set(user, libc::CLONE_NEWUSER)?;
    }
    set(net, libc::CLONE_NEWNET)
}

fn write_file(path: &std::ffi::CStr, text: &[u8]) -> io::Result<()> {
    // SAFETY: the path ends in a zero byte. The descriptor is closed before the return, and the buffer outlives the
    // write.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let wrote = libc::write(fd, text.as_ptr().cast(), text.len());
        let error = io::Error::last_os_error();
        libc::close(fd);
        if wrote == text.len() as isize { Ok(()) } else { Err(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    /// Starts a process in a new namespace. The process ends when its standard input is closed. Returns `None` if new
    /// namespaces are forbidden.
    fn holder(user: bool) -> Option<std::process::Child> {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        unshare(&mut command, user);
        command.spawn().ok()
    }

    #[test]
    fn a_command_runs_inside_a_namespace_and_descriptors_open_there() {
        for user in [false, true] {
            let Some(mut child) = holder(user) else {
                testkit::skip("a_command_runs_inside", format!("no right to make namespaces (user: {user})"));
                continue;
            };
            let netns = Netns::of_process(child.id()).unwrap();
            assert!(netns.holds(child.id()) && !netns.holds(std::process::id()));
            let mut ls = Command::new("cat");
            netns.enter(ls.arg("/proc/net/dev"));
            let out = String::from_utf8(ls.output().unwrap().stdout).unwrap();
            assert!(out.contains("lo:") && !out.contains("eth"), "{out}");
            let fds = netns.open(&[OpenSpec::CONTROL, OpenSpec::ROUTE]).unwrap();
            assert_eq!(fds.len(), 2);
            let missing = netns.open(&[OpenSpec::File(c"/no/such/file".into())]).unwrap_err();
            assert_eq!(missing.raw_os_error(), Some(libc::ENOENT));
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}
