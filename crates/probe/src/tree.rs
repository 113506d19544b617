//! Where the files are: the root (real or captured), and the view of the network (`/proc/PID/net` for another
//! namespace).

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use sys::diag::Diag;
use sys::netns::{Netns, OpenSpec, network_id};
use sys::rtnl::Rtnl;

use crate::Scope;
use crate::kept::Kept;

/// Paths of one scope.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
    netns_pid: Option<u32>,
}

impl Tree {
    /// A process in the caller's own network namespace is as good as none.
    pub(crate) fn new(scope: &Scope) -> Self {
        let id = |pid: &str| network_id(&scope.root.join("proc").join(pid)).ok();
        let foreign = |pid: &u32| id("self").is_none_or(|ours| id(&pid.to_string()) != Some(ours));
        Self { root: scope.root.clone(), netns_pid: scope.netns_pid.filter(foreign) }
    }

    /// Whether this is the running kernel, so that netlink and clocks speak of the same thing as the files.
    pub(crate) fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// A process in the network namespace to look at, if that is another than the caller's.
    pub(crate) fn netns_pid(&self) -> Option<u32> {
        self.netns_pid
    }

    /// A path below the root, for example `proc/stat`.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// A path of one process, for example `stat`.
    pub(crate) fn process(&self, pid: u32, file: &str) -> PathBuf {
        self.root.join(format!("proc/{pid}/{file}"))
    }

    /// A file below the root.
    pub(crate) fn keep(&self, below: &str) -> Kept {
        Kept::new(self.path(below))
    }

    /// A file of `/proc/net`, of the namespace to look at.
    pub(crate) fn keep_net(&self, file: &str) -> Kept {
        match self.netns_pid {
            Some(pid) => Kept::new(self.process(pid, &format!("net/{file}"))),
            None => self.keep(&format!("proc/net/{file}")),
        }
    }

    /// A file below `proc/sys/net`, of the namespace to look at: which one that is is decided when it is opened.
    pub(crate) fn keep_net_sysctl(&self, below: &str) -> Kept {
        let path = self.path(&format!("proc/sys/net/{below}"));
        match self.netns_pid.filter(|_| self.is_live()) {
            Some(pid) => match file_in(pid, &path) {
                Ok(file) => Kept::of(path, file),
                Err(_) => Kept::new(PathBuf::from(format!("/proc/{pid}/ns/net (entering it for {below})"))),
            },
            None => Kept::new(path),
        }
    }

    /// A sock_diag socket of the namespace to look at.
    pub(crate) fn diag(&self) -> io::Result<Diag> {
        diag_in(self.netns_pid)
    }

    /// A routing netlink socket of the namespace to look at.
    pub(crate) fn rtnl(&self) -> io::Result<Rtnl> {
        rtnl_in(self.netns_pid)
    }
}

/// A sock_diag socket in the network namespace of a process (`None`: ours).
pub(crate) fn diag_in(pid: Option<u32>) -> io::Result<Diag> {
    let Some(pid) = pid else { return Ok(Diag::open()?) };
    inside(pid, || Ok(Diag::open()?)).or_else(|_| Ok(Diag::over(opened(pid, OpenSpec::DIAG)?)?))
}

/// A routing netlink socket in the network namespace of a process (`None`: ours).
pub(crate) fn rtnl_in(pid: Option<u32>) -> io::Result<Rtnl> {
    let Some(pid) = pid else { return Ok(Rtnl::open()?) };
    inside(pid, || Ok(Rtnl::open()?)).or_else(|_| Ok(Rtnl::over(opened(pid, OpenSpec::ROUTE)?)?))
}

/// Files below `proc/sys/net` belong to the namespace of whoever opens them.
fn file_in(pid: u32, path: &Path) -> io::Result<File> {
    let name = CString::new(path.as_os_str().as_encoded_bytes())?;
    inside(pid, || File::open(path)).or_else(|_| opened(pid, OpenSpec::File(name)).map(File::from))
}

/// Opens one thing in the namespace of a process by way of a child: the only way into a user namespace, which no
/// thread of a larger process may enter.
fn opened(pid: u32, what: OpenSpec) -> io::Result<OwnedFd> {
    let mut fds = Netns::of_process(pid)?.open(&[what])?;
    fds.pop().ok_or_else(|| io::Error::other("nothing came out of the namespace"))
}

/// Runs `work` in the network namespace of a process, on a thread of its own.
fn inside<T: Send>(pid: u32, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let ns = File::open(format!("/proc/{pid}/ns/net"))?;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            sys::nsenter::enter_net(&ns)?;
            work()
        });
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread inside the namespace died")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_opens_what_a_thread_could() {
        let pid = std::process::id();
        let diag = match opened(pid, OpenSpec::DIAG) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                return testkit::skip("a_child_opens_what_a_thread_could", e);
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
