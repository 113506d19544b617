//! Control groups of servers, with or without limits. Source: cgroups(7); Linux's cgroup-v2.rst, cgroup-v1/memory.rst and
//! sched-bwc.rst.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::quote::quoted;

/// Folder of the control groups.
const ROOT: &str = "/sys/fs/cgroup";
/// Beginning of the names of all groups; the process number of the conductor follows.
const PREFIX: &str = "loadline-server-";
/// Controllers of version 1 that limit a server.
const CONTROLLERS: [&str; 2] = ["cpu", "memory"];
/// Period of a CPU quota, microseconds: the kernel's default.
const PERIOD_US: f64 = 100_000.0;
/// Attempts to remove a group, and the pause between them: the kernel removes an ended process a moment later.
const REMOVALS: u32 = 100;
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

/// Limits of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Limits {
    /// CPU time per second, in CPUs.
    pub(crate) quota: Option<f64>,
    /// Memory, bytes.
    pub(crate) memory_bytes: Option<u64>,
}

impl Limits {
    /// Returns true if any limit is set.
    pub(crate) fn any(&self) -> bool {
        self.quota.is_some() || self.memory_bytes.is_some()
    }

    /// Returns the files of a controller with their values: version 1 if `old`, else version 2.
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

/// A control group of a server. Dropping this value removes it; its processes must have ended.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    /// Folders of the group: one per controller in version 1, a single one in version 2.
    folders: Vec<PathBuf>,
}

impl ControlGroup {
    /// Creates the group of a server. The error says what is not possible.
    pub(crate) fn make(name: &str, limits: Limits) -> Result<Self, String> {
        Self::make_under(Path::new(ROOT), name, limits)
    }

    fn make_under(root: &Path, name: &str, limits: Limits) -> Result<Self, String> {
        let name = format!("{PREFIX}{}-{name}", std::process::id());
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

/// Removes a group as soon as its last process has left it.
fn remove(folder: &Path) {
    for _ in 0..REMOVALS {
        if fs::remove_dir(folder).is_ok() || !folder.exists() {
            return;
        }
        std::thread::sleep(REMOVAL_PAUSE);
    }
}

/// Removes empty groups whose program was killed.
pub(crate) fn remove_left() {
    let root = Path::new(ROOT);
    let parents = CONTROLLERS.iter().map(|controller| root.join(controller)).chain([root.to_owned()]);
    let entries = parents.filter_map(|parent| fs::read_dir(parent).ok()).flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            // A group with processes stays: the kernel refuses to remove it.
            let _ = fs::remove_dir(entry.path());
        }
    }
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
                let folder = root.path().join(dir).join(format!("{PREFIX}{}-a", std::process::id()));
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
            // These are plain folders: a control group has no files of its own.
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
}
