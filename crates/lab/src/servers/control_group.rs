//! Control groups of servers, with or without limits. Source: cgroups(7), and Linux's cgroup-v2.rst,
//! cgroup-v1/memory.rst and sched-bwc.rst.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::quote::quoted;
use crate::owner;

/// Folder in which the control group file systems are mounted.
const ROOT: &str = "/sys/fs/cgroup";
/// Beginning of the names of all groups made by loadline. The complete name also contains the conductor's PID
/// namespace, process ID and start time.
const PREFIX: &str = "loadline-server-";
/// Controllers of cgroup version 1 that limit a server.
const CONTROLLERS: [&str; 2] = ["cpu", "memory"];
/// Period of a CPU quota, microseconds: the kernel's default.
const PERIOD_US: f64 = 100_000.0;
/// Number of attempts to remove a group. An ended process leaves its group only after a delay.
const REMOVALS: u32 = 100;
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

/// Limits of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Limits {
    /// CPU quota: CPU time per second, in CPUs; `None` for no limit.
    pub(crate) quota: Option<f64>,
    /// Memory limit, bytes; `None` for no limit.
    pub(crate) memory_bytes: Option<u64>,
}

impl Limits {
    /// Returns true if any limit is set.
    pub(crate) fn any(&self) -> bool {
        self.quota.is_some() || self.memory_bytes.is_some()
    }

    /// Returns a row for each limit: the controller, its file, and the value to write. `old` is true for the files of
    /// cgroup version 1, and false for version 2.
    fn files(&self, old: bool) -> Vec<(&'static str, &'static str, String)> {
        let quota = self.quota.map(|cpus| (cpus * PERIOD_US).round().max(1000.0));
        let cpu = quota.map(|us| match old {
            true => ("cpu", "cpu.cfs_quota_us", us.to_string()),
            false => ("cpu", "cpu.max", format!("{us} {PERIOD_US}")),
        });
        let file = if old { "memory.limit_in_bytes" } else { "memory.max" };
        let memory = self.memory_bytes.map(|bytes| ("memory", file, bytes.to_string()));
        cpu.into_iter().chain(memory).collect()
    }
}

/// A control group of a server. Dropping this value removes the group. The group's processes must have ended before
/// this value is dropped.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    /// Folders of the group: one folder per controller in version 1, and a single folder in version 2.
    folders: Vec<PathBuf>,
}

impl ControlGroup {
    /// Creates the group of a server. The error says which file could not be created or written.
    pub(crate) fn make(name: &str, limits: Limits) -> Result<Self, String> {
        Self::make_under(Path::new(ROOT), name, limits)
    }

    fn make_under(root: &Path, name: &str, limits: Limits) -> Result<Self, String> {
        let name = format!("{}-{name}", own_prefix());
        let old = !root.join("cgroup.controllers").exists();
        let parents: Vec<PathBuf> = match old {
            true => CONTROLLERS.iter().map(|c| root.join(c)).filter(|dir| dir.is_dir()).collect(),
            false => vec![root.to_owned()],
        };
        if parents.is_empty() {
            return Err(format!("there are no control groups in {}", root.display()));
        }
        let mut group = Self { folders: Vec::new() };
        for parent in parents {
            let folder = parent.join(&name);
            fs::create_dir(&folder).map_err(|e| format!("creating {}: {e}", folder.display()))?;
            group.folders.push(folder);
        }
        for (controller, file, value) in limits.files(old) {
            let folder = if old { root.join(controller).join(&name) } else { root.join(&name) };
            let path = folder.join(file);
            fs::write(&path, value).map_err(|e| format!("writing {}: {e}", path.display()))?;
        }
        Ok(group)
    }

    /// Returns shell commands that move the shell into the group.
    pub(crate) fn join_script(&self) -> String {
        let files = self.folders.iter().map(|folder| folder.join("cgroup.procs").display().to_string());
        files.map(|file| format!("echo $$ >{} || exit 1; ", quoted(&file))).collect()
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        self.folders.iter().for_each(|folder| remove(folder));
    }
}

/// Removes a group as soon as its last process has left it. Gives up after [`REMOVALS`] attempts.
fn remove(folder: &Path) {
    for _ in 0..REMOVALS {
        if fs::remove_dir(folder).is_ok() || !folder.exists() {
            return;
        }
        std::thread::sleep(REMOVAL_PAUSE);
    }
}

/// Returns the beginning of the names of this process's groups.
fn own_prefix() -> String {
    format!("{PREFIX}{}", owner::own_name())
}

/// Removes empty groups that killed loadline processes left on this host. Returns a sentence for the user if it removed
/// any groups.
pub(crate) fn remove_left() -> Option<String> {
    remove_left_under(Path::new(ROOT))
}

fn remove_left_under(root: &Path) -> Option<String> {
    let parents = CONTROLLERS.iter().map(|controller| root.join(controller)).chain([root.to_owned()]);
    let entries = parents.filter_map(|parent| fs::read_dir(parent).ok()).flatten().flatten();
    let is_left = |folder: &PathBuf| folder.file_name().and_then(|name| name.to_str()).is_some_and(is_left);
    let left: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_left).collect();
    // The kernel refuses to remove a group that has processes.
    let removed = left.iter().filter(|folder| fs::remove_dir(folder).is_ok()).count();
    (removed > 0).then(|| format!("removed {removed} empty control groups that a killed loadline left"))
}

/// Returns true if a name belongs to a group whose conductor no longer exists.
fn is_left(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(owner::is_gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_get_their_files() {
        let limits = Limits { quota: Some(0.5), memory_bytes: Some(1 << 20) };
        for (old, folders) in [(true, vec!["cpu", "memory"]), (false, vec![""])] {
            let root = tempfile::tempdir().unwrap();
            if old {
                folders.iter().for_each(|dir| fs::create_dir(root.path().join(dir)).unwrap());
            } else {
                fs::write(root.path().join("cgroup.controllers"), "cpu memory").unwrap();
            }
            let group = ControlGroup::make_under(root.path(), "a", limits).unwrap();
            let read = |dir: &str, file: &str| {
                let folder = root.path().join(dir).join(format!("{}-a", own_prefix()));
                fs::read_to_string(folder.join(file)).unwrap()
            };
            match old {
                true => assert_eq!(
                    (read("cpu", "cpu.cfs_quota_us"), read("memory", "memory.limit_in_bytes")),
                    ("50000".into(), "1048576".into())
                ),
                false => {
                    assert_eq!((read("", "cpu.max"), read("", "memory.max")), ("50000 100000".into(), "1048576".into()))
                }
            }
            assert_eq!(group.join_script().matches("cgroup.procs").count(), folders.len());
            // The test uses plain folders, whose files must be removed first. In a real control group, the kernel
            // removes the files.
            for folder in &group.folders {
                fs::read_dir(folder).unwrap().flatten().for_each(|file| fs::remove_file(file.path()).unwrap());
            }
            let left = group.folders.clone();
            drop(group);
            assert!(left.iter().all(|folder| !folder.exists()));
        }
        let empty = tempfile::tempdir().unwrap();
        assert!(ControlGroup::make_under(empty.path(), "a", limits).unwrap_err().contains("no control groups"));
    }

    #[test]
    fn only_groups_without_their_conductor_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let own = own_prefix();
        let (others, _) = own.rsplit_once('-').unwrap();
        // Another process had the number of this process.
        let left = [format!("{others}-7-a"), format!("{others}-8")];
        let kept = [format!("{own}-a"), format!("{PREFIX}a"), "other".into()];
        left.iter().chain(&kept).for_each(|name| fs::create_dir(root.path().join(name)).unwrap());
        assert!(remove_left_under(root.path()).is_some_and(|said| said.starts_with("removed 2 ")));
        assert!(kept.iter().all(|name| root.path().join(name).exists()));
        assert_eq!((fs::read_dir(root.path()).unwrap().count(), remove_left_under(root.path())), (kept.len(), None));
    }
}
