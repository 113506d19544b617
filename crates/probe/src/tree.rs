//! Location of the kernel's files: the root folder (the real one, or a folder with captured files), and the network
//! namespace. `/proc/PID/net` shows the network namespace of the process PID.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use sys::diag::Diag;
use sys::netns::{Netns, OpenSpec, network_id};
use sys::rtnl::Rtnl;

use crate::Scope;
use crate::reread_file::RereadFile;

/// Access to the files and netlink sockets of one scope.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
    netns_pid: Option<u32>,
}

impl Tree {
    /// Creates access to the files below the root folder of a scope. Ignores `netns_pid` if its process is in the
    /// caller's network namespace.
    pub(crate) fn new(scope: &Scope) -> Self {
        let id = |pid: &str| network_id(&scope.root.join("proc").join(pid)).ok();
        let foreign = |pid: &u32| id("self").is_none_or(|ours| id(&pid.to_string()) != Some(ours));
        Self { root: scope.root.clone(), netns_pid: scope.netns_pid.filter(foreign) }
    }

    /// Returns true if the files belong to the running kernel, so that netlink and clocks describe the same machine.
    pub(crate) fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Returns a process of the observed network namespace, if that differs from the caller's.
    pub(crate) fn netns_pid(&self) -> Option<u32> {
        self.netns_pid
    }

    /// Returns the path of a file below the root, such as `proc/stat`.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// Returns the path of a file of one process, such as `stat`.
    pub(crate) fn process(&self, pid: u32, file: &str) -> PathBuf {
        self.root.join(format!("proc/{pid}/{file}"))
    }

    /// Returns a file below the root, which is opened at its first read.
    pub(crate) fn keep(&self, below: &str) -> RereadFile {
        RereadFile::new(self.path(below))
    }

    /// Returns a file of `/proc/net` for the observed network namespace.
    pub(crate) fn keep_net(&self, file: &str) -> RereadFile {
        match self.netns_pid {
            Some(pid) => RereadFile::new(self.process(pid, &format!("net/{file}"))),
            None => self.keep(&format!("proc/net/{file}")),
        }
    }

    /// Returns a file below `proc/sys/net` for the observed network namespace. Such a file shows the network namespace
    /// of the thread that opens it.
    pub(crate) fn keep_net_sysctl(&self, below: &str) -> RereadFile {
        let path = self.path(&format!("proc/sys/net/{below}"));
        match self.netns_pid.filter(|_| self.is_live()) {
            Some(pid) => match file_in(pid, &path) {
                Ok(file) => RereadFile::from_file(path, file),
                Err(_) => RereadFile::new(PathBuf::from(format!("/proc/{pid}/ns/net (entering it for {below})"))),
            },
            None => RereadFile::new(path),
        }
    }

    /// Opens a sock_diag socket in the observed network namespace.
    pub(crate) fn diag(&self) -> io::Result<Diag> {
        diag_in(self.netns_pid)
    }

    /// Opens a routing netlink socket in the observed network namespace.
    pub(crate) fn rtnl(&self) -> io::Result<Rtnl> {
        rtnl_in(self.netns_pid)
    }
}

/// Opens a sock_diag socket in the network namespace of process `pid`, or in the caller's namespace if `pid` is `None`.
pub(crate) fn diag_in(pid: Option<u32>) -> io::Result<Diag> {
    let Some(pid) = pid else { return Ok(Diag::open()?) };
    inside(pid, || Ok(Diag::open()?)).or_else(|_| Ok(Diag::over(opened(pid, OpenSpec::DIAG)?)?))
}

/// Opens a routing netlink socket in the network namespace of process `pid`, or in the caller's namespace if `pid` is
/// `None`.
pub(crate) fn rtnl_in(pid: Option<u32>) -> io::Result<Rtnl> {
    let Some(pid) = pid else { return Ok(Rtnl::open()?) };
    inside(pid, || Ok(Rtnl::open()?)).or_else(|_| Ok(Rtnl::over(opened(pid, OpenSpec::ROUTE)?)?))
}

/// Opens a file below `proc/sys/net` for the network namespace of a process. A file below `proc/sys/net` shows the
/// network namespace of the thread that opens it.
fn file_in(pid: u32, path: &Path) -> io::Result<File> {
    let name = CString::new(path.as_os_str().as_encoded_bytes())?;
    inside(pid, || File::open(path)).or_else(|_| opened(pid, OpenSpec::File(name)).map(File::from))
}

/// Opens one file or socket in the namespaces of a process, by means of a child process. A process with several threads
/// cannot enter a user namespace, but its child process can.
fn opened(pid: u32, what: OpenSpec) -> io::Result<OwnedFd> {
    let mut fds = Netns::of_process(pid)?.open(&[what])?;
    fds.pop().ok_or_else(|| io::Error::other("nothing came out of the namespace"))
}

/// Runs `work` in the network namespace of a process, on a thread of its own.
fn inside<T: Send>(pid: u32, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let ns = File::open(format!("/proc/{pid}/ns/net"))?;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, || {
            sys::nsenter::enter_net(&ns)?;
            work()
        })?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread inside the namespace died")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_process_opens_the_same_files_as_a_thread() {
        let pid = std::process::id();
        let diag = match opened(pid, OpenSpec::DIAG) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                return testkit::skip("a_child_process_opens_the_same_files_as_a_thread", e);
            }
            told => told.unwrap(),
        };
        let mut diag = Diag::over(diag).unwrap();
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut seen = 0;
        diag.listeners(false, Some(server.local_addr().unwrap().port()), |_| seen += 1).unwrap();
        assert_eq!(seen, 1);
        let mut rtnl = Rtnl::over(opened(pid, OpenSpec::ROUTE).unwrap()).unwrap();
        assert!(rtnl.is_local("127.0.0.1".parse().unwrap()).unwrap());
    }
}
