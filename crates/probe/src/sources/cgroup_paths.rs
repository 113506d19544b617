//! Finds the folders of a process's control groups. Source: cgroups(7), proc_pid_mountinfo(5).

use std::path::{Component, Path, PathBuf};

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
    /// Controllers of the hierarchy, such as `cpu`; only in version 1 of control groups. In version 2, one hierarchy
    /// has all controllers.
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
    /// Name of a process's control group: its path in the `cpu` hierarchy of version 1. If there is no `cpu` hierarchy,
    /// or if the path is `/`, the name is the longest path of the process. In control groups of version 1, a process's
    /// path may differ between controllers.
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
        let (mount, path) = one(mounts, text, controller).or_else(|| two(mounts, text))?;
        place(mount, &path).filter(|c| tree.is_live() || c.leaf.exists())
    };
    let longest = lines(text).filter_map(path_of).max_by_key(|path| path.len())?;
    let of_quota = one(mounts, text, "cpu").map(|(_, path)| path).filter(|path| path != "/");
    let name = of_quota.unwrap_or(longest);
    let (cpu, cpuacct, memory, pids) = (find("cpu"), find("cpuacct"), find("memory"), find("pids"));
    Some(ProcessGroups { name, cpu, cpuacct, memory, pids })
}

fn path_of(line: &[u8]) -> Option<String> {
    name(line).splitn(3, ':').nth(2).map(str::to_owned)
}

/// Returns the hierarchy of version 1 that has a controller, and the path of the process's group in this hierarchy.
fn one<'a>(mounts: &'a [Mount], text: &[u8], controller: &str) -> Option<(&'a Mount, String)> {
    let has = |list: &str| list.split(',').any(|c| c == controller);
    let line = lines(text).find(|line| name(line).split(':').nth(1).is_some_and(has))?;
    let mount = mounts.iter().find(|m| m.version == Version::One && m.controllers.iter().any(|c| c == controller))?;
    Some((mount, path_of(line)?))
}

/// Returns the hierarchy of version 2, and the path of the process's group in this hierarchy.
fn two<'a>(mounts: &'a [Mount], text: &[u8]) -> Option<(&'a Mount, String)> {
    let line = lines(text).find(|line| line.starts_with(b"0::"))?;
    let mount = mounts.iter().find(|m| m.version == Version::Two)?;
    Some((mount, path_of(line)?))
}

/// Returns the folder of the group at `path` in a mounted hierarchy. Returns `None` for a group outside of the mounted
/// part of the hierarchy, such as the group of another container. Source: cgroup_namespaces(7), for paths such as
/// `/../web`.
fn place(mount: &Mount, path: &str) -> Option<Controller> {
    let below = Path::new(path).strip_prefix(&mount.group).ok()?;
    let is_inside = below.components().all(|part| matches!(part, Component::Normal(_)));
    is_inside.then(|| Controller { version: mount.version, leaf: mount.point.join(below), top: mount.point.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;

    /// Two processes share one memory group, but have different CPU groups, so their groups need different names. An
    /// earlier version of loadline named the groups of both processes by the longer path, that of the memory group.
    /// That version therefore took the two CPU groups for one, and never read the second group's quota.
    #[test]
    fn groups_with_different_quotas_have_different_names() {
        let tree = Tree::new(&Scope { root: "/t".into(), ..Scope::default() });
        let mounts = [mount(&tree, b"30 23 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu").unwrap()];
        let name = |text: &str| resolve(&tree, &mounts, text.as_bytes()).unwrap().name;
        assert_eq!(name("4:memory:/service/with-a-long-name\n1:cpu:/\n0::/\n"), "/service/with-a-long-name");
        assert_eq!(name("4:memory:/service/with-a-long-name\n1:cpu:/workers\n0::/\n"), "/workers");
        assert_eq!(name("0::/a.slice/web.service\n"), "/a.slice/web.service");
    }

    #[test]
    fn mounts_of_both_versions_are_understood() {
        let tree = Tree::new(&Scope { root: "/t".into(), ..Scope::default() });
        let line = b"30 23 0:26 /docker/abc /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct";
        let one = mount(&tree, line).unwrap();
        assert_eq!((one.version, one.point.to_str()), (Version::One, Some("/t/sys/fs/cgroup/cpu")));
        assert_eq!(place(&one, "/docker/abc/web").unwrap().leaf.to_str(), Some("/t/sys/fs/cgroup/cpu/web"));
        assert_eq!(place(&one, "/docker/abc").unwrap().leaf, one.point);
        assert!(mount(&tree, b"1 1 8:1 / / rw - ext4 /dev/vda rw").is_none() && mount(&tree, b"odd").is_none());
    }
    #[test]
    fn the_group_of_another_container_is_not_ours() {
        let tree = Tree::new(&Scope::default());
        let line = |group: &str| format!("30 23 0:26 {group} /sys/fs/cgroup rw - cgroup2 cgroup rw");
        let placed = |group: &str, path: &str| place(&mount(&tree, line(group).as_bytes()).unwrap(), path);
        assert_eq!(placed("/", "/../web"), None);
        assert_eq!(placed("/docker/abc", "/docker/def"), None);
        assert_eq!(placed("/docker/abc", "/docker/abcd"), None);
        assert_eq!(placed("/", "/a/web").unwrap().leaf.to_str(), Some("/sys/fs/cgroup/a/web"));
        assert_eq!(placed("/", "/").unwrap().leaf.to_str(), Some("/sys/fs/cgroup/"));
    }

    #[test]
    fn a_group_outside_of_its_hierarchy_is_not_sought_in_another_one() {
        let tree = Tree::new(&Scope::default());
        let lines = ["1 0 0:1 / /c/cpu rw - cgroup cgroup rw,cpu", "2 0 0:2 / /c/two rw - cgroup2 cgroup2 rw"];
        let mounts = lines.map(|line| mount(&tree, line.as_bytes()).unwrap());
        let groups = resolve(&tree, &mounts, b"4:cpu:/../web\n0::/\n").unwrap();
        assert_eq!((groups.cpu, groups.memory.is_some()), (None, true));
    }
}
