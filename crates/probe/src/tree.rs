//! Where the files are: the root (real or captured), and the view of the network (`/proc/PID/net` for another
//! namespace).

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sys::diag::Diag;
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
        let id = |pid: &str| {
            std::fs::metadata(scope.root.join(format!("proc/{pid}/ns/net"))).ok().map(|m| (m.dev(), m.ino()))
        };
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
            Some(pid) => match inside(pid, || File::open(&path)) {
                Ok(file) => Kept::of(path, file),
                Err(_) => Kept::new(PathBuf::from(format!("/proc/{pid}/ns/net (entering it for {below})"))),
            },
            None => Kept::new(path),
        }
    }
}

impl Tree {
    /// A sock_diag socket of the namespace to look at.
    pub(crate) fn diag(&self) -> io::Result<Diag> {
        match self.netns_pid {
            Some(pid) => inside(pid, || Ok(Diag::open()?)),
            None => Ok(Diag::open()?),
        }
    }

    /// A routing netlink socket of the namespace to look at.
    pub(crate) fn rtnl(&self) -> io::Result<Rtnl> {
        match self.netns_pid {
            Some(pid) => inside(pid, || Ok(Rtnl::open()?)),
            None => Ok(Rtnl::open()?),
        }
    }
}

/// Runs `work` in the network namespace of a process, on a thread of its own.
pub(crate) fn inside<T: Send>(pid: u32, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let ns = File::open(format!("/proc/{pid}/ns/net"))?;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            sys::nsenter::enter_net(&ns)?;
            work()
        });
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread inside the namespace died")))
    })
}
