//! Record of lasting changes by a lever and of the values before. It is written before the change, and the values are
//! put back after it.
//!
//! The agent that made a change undoes it, even if the conductor is gone. If the agent was killed, [`put_back`] does
//! it: the conductor calls it at once, and so does the next experiment of the same user.

use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use probe::started_ticks as started;
use serde::{Deserialize, Serialize};

/// A lasting change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Change {
    /// A file of a control group.
    File { file: PathBuf, before: String, after: String },
    /// A stopped process. `started` distinguishes it from a later process with the same number.
    Stopped { pid: u32, started: u64 },
    /// Soft and hard descriptor limit of a process.
    Descriptors { pid: u32, started: u64, before: (u64, u64), after: (u64, u64) },
}

#[derive(Serialize, Deserialize)]
struct Record {
    owner: u32,
    owner_started: u64,
    changes: Vec<Change>,
}

/// Changes that are undone on drop.
pub struct Undo {
    changes: Vec<Change>,
    record: PathBuf,
}

/// Number of records made by this process: each has its own file.
static RECORDS: AtomicU64 = AtomicU64::new(0);

impl Undo {
    /// Records changes before they are made.
    pub(super) fn keep(changes: Vec<Change>) -> Result<Self, String> {
        let dir = records(true).map_err(|e| format!("the state before cannot be saved: {e}"))?;
        let owner = std::process::id();
        let record = dir.join(format!("undo-{owner}-{}.json", RECORDS.fetch_add(1, Relaxed)));
        let kept = Record { owner, owner_started: started(owner).unwrap_or_default(), changes: changes.clone() };
        let text = serde_json::to_string(&kept).map_err(|e| e.to_string())?;
        std::fs::write(&record, text).map_err(|e| format!("writing {}: {e}", record.display()))?;
        Ok(Self { changes, record })
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        // A change that could not be undone stays recorded.
        if revert(&self.changes).is_ok() {
            let _ = std::fs::remove_file(&self.record);
        }
    }
}

/// Undoes all changes; the error is that of the first failure.
fn revert(changes: &[Change]) -> Result<(), String> {
    let failed: Vec<String> = changes.iter().filter_map(|change| change.revert().err()).collect();
    failed.into_iter().next().map_or(Ok(()), Err)
}

impl Change {
    fn revert(&self) -> Result<(), String> {
        match self {
            Self::Stopped { pid, started: then } if started(*pid) == Some(*then) => {
                sys::signal::resume(*pid).map_err(|e| format!("process {pid} is still stopped (kill -CONT {pid}): {e}"))
            }
            Self::Stopped { .. } => Ok(()),
            Self::Descriptors { pid, started: then, before, after } => {
                // The process is gone, or somebody else has changed the limits since.
                if started(*pid) != Some(*then) || probe::descriptor_limits(*pid) != Some(*after) {
                    return Ok(());
                }
                let failed = |e| {
                    format!("process {pid} may have {} descriptors and could have {} before: {e}", after.0, before.0)
                };
                sys::limits::set_descriptors_of(*pid, *before).map_err(failed)
            }
            Self::File { file, before, after } => {
                let now = std::fs::read_to_string(file).map(|text| text.trim().to_owned());
                // The file is gone, or somebody else has changed it since.
                if !file.starts_with("/sys/fs/cgroup") || now.as_ref().ok() != Some(after) {
                    return Ok(());
                }
                let failed = |e| format!("{} says {after:?} and was {before:?} before: {e}", file.display());
                std::fs::write(file, before).map_err(failed)
            }
        }
    }
}

/// Undoes changes left by agents that are gone. Returns a sentence for each: done, or why not.
pub(crate) fn put_back() -> Vec<String> {
    let Ok(dir) = records(false) else { return Vec::new() };
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter_map(|path| undo_record(&path)).collect()
}

fn undo_record(path: &Path) -> Option<String> {
    let record: Record = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    if started(record.owner) == Some(record.owner_started) {
        return None;
    }
    match revert(&record.changes) {
        Ok(()) => {
            let _ = std::fs::remove_file(path);
            let all: Vec<String> = record.changes.iter().map(Change::to_string).collect();
            Some(format!("changes left by a killed experiment were undone: {}", all.join(", ")))
        }
        Err(why) => Some(format!("changes left by a killed experiment could not be undone: {why}")),
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { file, before, .. } => write!(f, "{} is {before:?} again", file.display()),
            Self::Stopped { pid, .. } => write!(f, "process {pid} goes on"),
            Self::Descriptors { pid, before, .. } => write!(f, "process {pid} may have {} descriptors again", before.0),
        }
    }
}

/// Returns the directory of this user's records. It must outlive login sessions, so XDG_RUNTIME_DIR does not serve. A
/// directory that others can write to is refused.
fn records(make: bool) -> std::io::Result<PathBuf> {
    let uid = std::fs::metadata("/proc/self")?.uid();
    let dir = PathBuf::from(format!("/tmp/loadline-{uid}"));
    if make && !dir.exists() {
        std::fs::DirBuilder::new().mode(0o700).create(&dir)?;
    }
    let meta = std::fs::symlink_metadata(&dir)?;
    match meta.is_dir() && meta.uid() == uid && meta.mode() & 0o077 == 0 {
        true => Ok(dir),
        false => Err(std::io::Error::other(format!("{} may be written by others", dir.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_process_goes_on_when_the_change_goes() {
        // Removes what an earlier run on this machine left.
        let _ = put_back();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let state = move || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
            stat.rsplit(')').next().unwrap().trim().chars().next().unwrap()
        };
        let undo = Undo::keep(vec![Change::Stopped { pid, started: started(pid).unwrap() }]).unwrap();
        let record = undo.record.clone();
        sys::signal::stop(pid).unwrap();
        testkit::eventually(|| (state() == 'T').then_some(()));
        assert!(record.exists() && put_back().is_empty(), "its owner lives");
        drop(undo);
        testkit::eventually(|| (state() == 'S').then_some(()));
        assert!(!record.exists());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn what_is_no_control_group_is_never_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "after").unwrap();
        let change = Change::File { file: file.path().into(), before: "before".into(), after: "after".into() };
        change.revert().unwrap();
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "after");
    }
}
