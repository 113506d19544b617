//! Lasting changes that levers make to a server, and the states of the changed resources. A lever makes or undoes a
//! change only while the resource has the expected state, so that newer changes by other programs are never
//! overwritten.

use std::fs::File;
use std::path::{Component, Path, PathBuf};

use probe::started_ticks as started;
use serde::{Deserialize, Serialize};
use sys::lock::{ProcessLock, ProcessPart};

use super::thread_cpus;

/// A change of a resource that lasts until it is undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Change {
    /// Content of a file in a control group.
    File { file: PathBuf, before: String, after: String },
    /// A process that a signal stops. `started` distinguishes the process from a later process with the same ID.
    Stopped { pid: u32, started: u64 },
    /// Soft and hard descriptor limit of a process.
    Descriptors { pid: u32, started: u64, before: (u64, u64), after: (u64, u64) },
    /// CPUs that a process and its descendants may use.
    Cpus { pid: u32, started: u64, before: Vec<u32>, after: Vec<u32> },
}

/// Resource whose state a change affects. Experiments lock resources in the sort order of [`Resource`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Resource {
    /// A file of a control group.
    File(PathBuf),
    /// State of a process: running or stopped.
    RunState(u32),
    /// Descriptor limit of a process.
    Descriptors(u32),
    /// CPUs that a process and its descendants may use.
    Cpus(u32),
}

impl Resource {
    /// Returns the path of the kernel's file that shows the resource.
    pub(super) fn path(&self) -> PathBuf {
        match self.place() {
            Place::File(file) => file.to_owned(),
            Place::Process(pid, part) => part.path(pid),
        }
    }

    /// Locks the resource, so that no other experiment changes it. Returns `None` if another experiment has locked the
    /// resource.
    pub(super) fn try_lock(&self) -> std::io::Result<Option<Lock>> {
        match self.place() {
            Place::File(file) => {
                let file = File::open(file)?;
                Ok(sys::lock::try_exclusive(&file)?.then_some(Lock::File { _open: file }))
            }
            Place::Process(pid, part) => {
                Ok(sys::lock::try_process(pid, part)?.map(|lock| Lock::Process { _lock: lock }))
            }
        }
    }

    fn place(&self) -> Place<'_> {
        match self {
            Self::File(file) => Place::File(file),
            Self::RunState(pid) => Place::Process(*pid, ProcessPart::RunState),
            Self::Descriptors(pid) => Place::Process(*pid, ProcessPart::Descriptors),
            Self::Cpus(pid) => Place::Process(*pid, ProcessPart::Cpus),
        }
    }
}

/// File or part of a process to which a resource belongs.
enum Place<'a> {
    File(&'a Path),
    Process(u32, ProcessPart),
}

/// Lock on a resource, until it is dropped.
pub(super) enum Lock {
    File { _open: File },
    Process { _lock: ProcessLock },
}

/// State of a resource: before a change, after the change, or another state.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Before,
    After,
    /// Another program changed the resource: the contained value is neither the old value nor the new value.
    Foreign(String),
    /// The process or the control group no longer exists.
    Gone,
}

impl State {
    fn of<T: PartialEq>(now: Option<T>, before: &T, after: &T, show: impl Fn(&T) -> String) -> Self {
        match now {
            None => Self::Gone,
            Some(now) if now == *before => Self::Before,
            Some(now) if now == *after => Self::After,
            Some(now) => Self::Foreign(show(&now)),
        }
    }
}

impl Change {
    /// Prepares the change that stops a process by a signal, but does not make the change.
    pub(super) fn stop(pid: u32) -> Result<Self, String> {
        let started = started(pid).ok_or_else(|| format!("the process {pid} has ended"))?;
        match probe::is_stopped(pid) {
            true => Err(format!("the process {pid} is stopped already (resume it with kill -CONT {pid})")),
            false => Ok(Self::Stopped { pid, started }),
        }
    }

    /// Prepares the change that moves a process and its descendants to `cpus`, but does not make the change.
    pub(crate) fn cpus(pid: u32, cpus: &[u32]) -> Result<Self, String> {
        let started = started(pid).ok_or_else(|| format!("the process {pid} has ended"))?;
        let before = sys::limits::cpus_of_thread(pid).map_err(|e| format!("reading the CPUs of process {pid}: {e}"))?;
        Ok(Self::Cpus { pid, started, before, after: cpus.to_vec() })
    }

    /// Returns the changed resource.
    pub(super) fn resource(&self) -> Resource {
        match self {
            Self::File { file, .. } => Resource::File(file.clone()),
            Self::Stopped { pid, .. } => Resource::RunState(*pid),
            Self::Descriptors { pid, .. } => Resource::Descriptors(*pid),
            Self::Cpus { pid, .. } => Resource::Cpus(*pid),
        }
    }

    /// Makes the change, unless it is already made. Fails if another program has changed the resource, or if the
    /// resource no longer exists.
    pub(super) fn make(&self) -> Result<(), String> {
        match self.state() {
            State::After => Ok(()),
            State::Before => self.write(true),
            State::Foreign(now) => Err(format!("{self}: somebody else changed it to {now}")),
            State::Gone => Err(format!("{self}: it has ended")),
        }
    }

    /// Undoes the change, unless the resource no longer exists or another program has changed it since. Returns true if
    /// a change was undone.
    pub(super) fn undo(&self) -> Result<bool, String> {
        match self.state() {
            State::After => self.write(false).map(|()| true),
            State::Before | State::Foreign(_) | State::Gone => Ok(false),
        }
    }

    fn state(&self) -> State {
        match self {
            Self::Stopped { pid, started: then } => {
                let now = (started(*pid) == Some(*then)).then(|| probe::is_stopped(*pid));
                State::of(now, &false, &true, bool::to_string)
            }
            Self::Descriptors { pid, started: then, before, after } => {
                let now = probe::descriptor_limits(*pid).filter(|_| started(*pid) == Some(*then));
                State::of(now, before, after, |(soft, hard)| format!("{soft} (at most {hard})"))
            }
            Self::Cpus { pid, started: then, before, after } => {
                let now = sys::limits::cpus_of_thread(*pid).ok().filter(|_| started(*pid) == Some(*then));
                State::of(now, before, after, |cpus| format!("{cpus:?}"))
            }
            Self::File { file, before, after } => {
                let now = std::fs::read_to_string(file).ok().filter(|_| is_in_control_group(file));
                State::of(now.map(|text| text.trim().to_owned()), before, after, |text| format!("{text:?}"))
            }
        }
    }

    fn write(&self, on: bool) -> Result<(), String> {
        let done = match self {
            Self::File { file, before, after } => std::fs::write(file, if on { after } else { before }),
            Self::Stopped { pid, .. } if on => sys::signal::stop(*pid).map_err(Into::into),
            Self::Stopped { pid, .. } => sys::signal::resume(*pid).map_err(Into::into),
            Self::Descriptors { pid, before, after, .. } => {
                sys::limits::set_descriptors_of(*pid, if on { *after } else { *before }).map_err(Into::into)
            }
            Self::Cpus { pid, before, after, .. } if on => thread_cpus::change(*pid, before, after),
            Self::Cpus { pid, before, after, .. } => thread_cpus::put_back(*pid, after, before),
        };
        done.map_err(|e| if on { format!("{self}: {e}") } else { format!("{}: {e}", self.by_hand()) })
    }

    /// Returns a sentence for the user that names the state to restore, and for most changes the command that restores
    /// it.
    fn by_hand(&self) -> String {
        match self {
            Self::File { file, before, after } => {
                format!("{} says {after:?} and was {before:?} before", file.display())
            }
            Self::Stopped { pid, .. } => format!("process {pid} is still stopped (kill -CONT {pid})"),
            Self::Descriptors { pid, before, after, .. } => format!(
                "process {pid} may have {} descriptors and could have {} before (prlimit --pid {pid} --nofile={}:{})",
                after.0, before.0, before.0, before.1
            ),
            Self::Cpus { pid, before, after, .. } => {
                let list = cpu_list(before);
                format!("process {pid} and those below it run on CPUs {after:?} only (taskset -acp {list} {pid})")
            }
        }
    }

    /// Returns the sentence that tells the user about the undone change.
    pub(super) fn undone(&self) -> String {
        match self {
            Self::File { file, before, .. } => format!("{} is {before:?} again", file.display()),
            Self::Stopped { pid, .. } => format!("process {pid} continues"),
            Self::Descriptors { pid, before, .. } => format!("process {pid} may have {} descriptors again", before.0),
            Self::Cpus { pid, before, .. } => format!("process {pid} may use CPUs {} again", cpu_list(before)),
        }
    }
}

/// Writes the name of the resource.
impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { file, .. } => write!(f, "{}", file.display()),
            Self::Stopped { pid, .. } => write!(f, "process {pid}"),
            Self::Descriptors { pid, .. } => write!(f, "descriptor limit of process {pid}"),
            Self::Cpus { pid, .. } => write!(f, "CPUs of process {pid}"),
        }
    }
}

/// Returns CPU numbers separated by commas, such as `0,2`.
fn cpu_list(cpus: &[u32]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Returns true if a path is inside the control group file system. Levers change only files in the control group file
/// system.
fn is_in_control_group(file: &Path) -> bool {
    file.starts_with("/sys/fs/cgroup") && !file.components().any(|part| part == Component::ParentDir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_outside_of_control_groups_are_never_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "after").unwrap();
        let detour = Path::new("/sys/fs/cgroup/../../..").join(file.path().strip_prefix("/").unwrap());
        for path in [file.path().to_owned(), detour] {
            let change = Change::File { file: path, before: "before".into(), after: "after".into() };
            assert_eq!(change.undo(), Ok(false));
            assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "after");
        }
    }

    #[test]
    fn a_later_change_by_another_program_is_not_undone() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let before = probe::descriptor_limits(pid).unwrap();
        let after = (before.0 / 2, before.1);
        let change = Change::Descriptors { pid, started: started(pid).unwrap(), before, after };
        change.make().unwrap();
        let theirs = (before.0 / 4, before.1);
        sys::limits::set_descriptors_of(pid, theirs).unwrap();
        assert_eq!(change.undo(), Ok(false));
        assert!(change.make().unwrap_err().contains("somebody else"));
        assert_eq!(probe::descriptor_limits(pid), Some(theirs));
        let earlier = Change::Descriptors { pid, started: 0, before, after: theirs };
        assert_eq!(earlier.undo(), Ok(false), "another process had this number");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
