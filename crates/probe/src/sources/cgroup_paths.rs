//! Finds the folders of a process's control groups. Source: cgroups(7), proc_pid_mountinfo(5).

use std::path::{Path, PathBuf};

use crate::text::{lines, name};
use crate::tree::Tree;

/// Interface version of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// One mounted hierarchy of control groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    version: Version,
    /// Controllers of this hierarchy, such as `cpu`, in version 1. Control groups of version 2 have all controllers in
    /// one hierarchy.
    controllers: Vec<String>,
    /// The group at the mount point. In a container, the container's own group appears at the mount point.
    group: String,
    point: PathBuf,
}

/// Folder of a group in the hierarchy that has a certain controller, such as `cpu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Controller {
    pub(super) version: Version,
    pub(super) leaf: PathBuf,
    top: PathBuf,
}

impl Controller {
    /// Returns the path of the group below the mount point.
    pub(super) fn path(&self) -> &Path {
        self.leaf.strip_prefix(&self.top).unwrap_or(&self.leaf)
    }

    /// Returns `one` for version 1 and `two` for version 2.
    pub(super) fn pick(&self, one: &'static str, two: &'static str) -> &'static str {
        if self.version == Version::One { one } else { two }
    }

    /// Returns the smallest limit of the group and its ancestors, and the folder with this limit. Without a limit,
    /// returns the folder of the group itself.
    pub(super) fn tightest(&self, limit: fn(Version, &Path) -> Option<f64>) -> (Option<f64>, PathBuf) {
        let mut found: Option<(f64, &Path)> = None;
        for folder in self.leaf.ancestors().take_while(|folder| folder.starts_with(&self.top)) {
            if let Some(limit) = limit(self.version, folder).filter(|v| found.is_none_or(|(least, _)| *v < least)) {
                found = Some((limit, folder));
            }
        }
        found.map_or((None, self.leaf.clone()), |(limit, folder)| (Some(limit), folder.to_owned()))
    }
}

/// The control groups of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessGroups {
    /// Name of the process's group: the longest of its paths. In control groups of version 1, a process's path may
    /// differ between controllers.
    pub(super) name: String,
    pub(super) cpu: Option<Controller>,
    pub(super) cpuacct: Option<Controller>,
    pub(super) memory: Option<Controller>,
    pub(super) pids: Option<Controller>,
}

/// Reads all mounted hierarchies of control groups.
pub(super) fn mounts(tree: &Tree) -> Vec<Mount> {
    let text = std::fs::read(tree.path("proc/self/mountinfo")).unwrap_or_default();
    lines(&text).filter_map(|line| mount(tree, line)).collect()
}

/// Parses a line such as `30 23 0:26 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu`.
fn mount(tree: &Tree, line: &[u8]) -> Option<Mount> {
    let text = name(line);
    let (front, back) = text.split_once(" - ")?;
    let mut front = front.split(' ').skip(3);
    let (group, point) = (front.next()?.to_owned(), front.next()?);
    let mut back = back.split(' ');
    let version = match back.next()? {
        "cgroup" => Version::One,
        "cgroup2" => Version::Two,
        _ => return None,
    };
    let controllers = back.nth(1)?.split(',').map(str::to_owned).collect();
    Some(Mount { version, controllers, group, point: tree.path(point.trim_start_matches('/')) })
}

/// Returns the groups that `/proc/PID/cgroup` names, or `None` if this file names no group.
pub(super) fn resolve(tree: &Tree, mounts: &[Mount], text: &[u8]) -> Option<ProcessGroups> {
    let find = |controller: &str| {
        one(mounts, text, controller).or_else(|| two(mounts, text)).filter(|c| tree.is_live() || c.leaf.exists())
    };
    let name = lines(text).filter_map(path_of).max_by_key(|path| path.len())?;
    let (cpu, cpuacct, memory, pids) = (find("cpu"), find("cpuacct"), find("memory"), find("pids"));
    Some(ProcessGroups { name, cpu, cpuacct, memory, pids })
}

fn path_of(line: &[u8]) -> Option<String> {
    name(line).splitn(3, ':').nth(2).map(str::to_owned)
}

fn one(mounts: &[Mount], text: &[u8], controller: &str) -> Option<Controller> {
    let has = |list: &str| list.split(',').any(|c| c == controller);
    let line = lines(text).find(|line| name(line).split(':').nth(1).is_some_and(has))?;
    let mount = mounts.iter().find(|m| m.version == Version::One && m.controllers.iter().any(|c| c == controller))?;
    Some(place(mount, &path_of(line)?))
}

fn two(mounts: &[Mount], text: &[u8]) -> Option<Controller> {
    let line = lines(text).find(|line| line.starts_with(b"0::"))?;
    let mount = mounts.iter().find(|m| m.version == Version::Two)?;
    Some(place(mount, &path_of(line)?))
}

/// Returns the folder of the group at `path` in a mounted hierarchy.
fn place(mount: &Mount, path: &str) -> Controller {
    let below = path.strip_prefix(mount.group.trim_end_matches('/')).unwrap_or(path);
    let leaf = mount.point.join(below.trim_start_matches('/'));
    Controller { version: mount.version, leaf, top: mount.point.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;

    #[test]
    fn mounts_of_both_versions_are_understood() {
        let tree = Tree::new(&Scope { root: "/t".into(), ..Scope::default() });
        let line = b"30 23 0:26 /docker/abc /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct";
        let one = mount(&tree, line).unwrap();
        assert_eq!((one.version, one.point.to_str()), (Version::One, Some("/t/sys/fs/cgroup/cpu")));
        assert_eq!(place(&one, "/docker/abc/web").leaf.to_str(), Some("/t/sys/fs/cgroup/cpu/web"));
        assert_eq!(place(&one, "/docker/abc").leaf, one.point);
        assert!(mount(&tree, b"1 1 8:1 / / rw - ext4 /dev/vda rw").is_none() && mount(&tree, b"odd").is_none());
    }
}
