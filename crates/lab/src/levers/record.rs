//! Record of changes that are in effect, and of the state before these changes. Each record is a file in a directory of
//! this user, on the host with the changes.

use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

use super::change::Change;

/// Record of the changes that an experiment makes, and of the process that makes them.
#[derive(Serialize, Deserialize)]
pub(super) struct Record {
    /// Process that made the changes.
    owner: u32,
    /// Start time of the owner process, ticks since boot.
    owner_started: u64,
    /// Boot ID of the machine; empty in old records. Process IDs from another boot have no meaning.
    #[serde(default)]
    boot: String,
    /// PID namespace of the process IDs; empty in old records. The namespace is stored because a container, in which
    /// process IDs have other meanings, may share the directory.
    #[serde(default)]
    pid_namespace: String,
    /// All changes of the record.
    pub(super) changes: Vec<Change>,
}

/// Number of records made by this process. The number makes the name of each file unique.
static RECORDS: AtomicU64 = AtomicU64::new(0);

impl Record {
    /// Writes a record and returns its path. A reader sees either the complete record or none.
    pub(super) fn write(changes: &[Change]) -> Result<PathBuf, String> {
        let dir = directory(true).map_err(|e| format!("the state before cannot be saved: {e}"))?;
        let owner = std::process::id();
        let path = dir.join(format!("undo-{owner}-{}.json", RECORDS.fetch_add(1, Relaxed)));
        let record = Self {
            owner,
            owner_started: probe::started_ticks(owner).unwrap_or_default(),
            boot: probe::boot_id(),
            pid_namespace: pid_namespace(),
            changes: changes.to_vec(),
        };
        let text = serde_json::to_string(&record).map_err(|e| e.to_string())?;
        let temporary = path.with_extension("new");
        let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, &path));
        written.map_err(|e| format!("writing {}: {e}", path.display()))?;
        Ok(path)
    }

    /// Reads a record of changes from its file. Returns `None` if the record comes from an earlier boot or from another
    /// PID namespace (container). Also removes the file of a record from an earlier boot.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let record: Self = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
        if !record.boot.is_empty() && record.boot != probe::boot_id() {
            let _ = remove(path);
            return None;
        }
        (record.pid_namespace.is_empty() || record.pid_namespace == pid_namespace()).then_some(record)
    }
}

/// Removes a record whose changes are undone.
pub(super) fn remove(path: &Path) -> Result<(), String> {
    std::fs::remove_file(path).map_err(|e| format!("removing {}: {e}", path.display()))
}

/// Returns the paths of this user's records.
pub(super) fn paths() -> Vec<PathBuf> {
    let Ok(dir) = directory(false) else { return Vec::new() };
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    paths.sort();
    paths
}

fn pid_namespace() -> String {
    std::fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string()).unwrap_or_default()
}

/// Returns the directory of this user's records. The directory must outlive a login session, so XDG_RUNTIME_DIR is
/// unsuitable. Returns an error if other users have any access to the directory.
fn directory(make: bool) -> std::io::Result<PathBuf> {
    let uid = std::fs::metadata("/proc/self")?.uid();
    let dir = PathBuf::from(format!("/tmp/loadline-{uid}"));
    if make && !dir.exists() {
        std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&dir)?;
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
    fn a_record_of_another_boot_or_container_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("undo-1-0.json");
        let write = |boot: &str, pid_namespace: &str| {
            let text = serde_json::json!({ "owner": 1, "owner_started": 2, "boot": boot, "pid_namespace": pid_namespace,
                "changes": [{ "stopped": { "pid": 3, "started": 4 } }] });
            std::fs::write(&path, text.to_string()).unwrap();
            Record::read(&path).is_some()
        };
        assert!(write(&probe::boot_id(), &pid_namespace()) && write("", ""));
        assert!(!write(&probe::boot_id(), "pid:[1]") && path.exists());
        assert!(!write("another boot", &pid_namespace()) && !path.exists());
    }
}
