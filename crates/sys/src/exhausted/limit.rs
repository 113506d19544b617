//! Limits of the kernel, and the control groups to which limits apply.

use std::fs;
use std::path::{Path, PathBuf};

/// A limit of the kernel, and the used part of this limit.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    pub(super) used: u64,
    pub(super) most: u64,
    /// Sentence that states the limit and the used part, and the command that raises the limit.
    pub(super) sentence: String,
}

impl Limit {
    /// Returns the unused part of the limit.
    pub(super) fn left(&self) -> u64 {
        self.most.saturating_sub(self.used)
    }
}

/// Returns the control groups of this process, each with all groups above it. In version 1 of control groups, returns
/// only the groups of `controller`.
pub(super) fn groups(controller: &str) -> Vec<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let folders = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
        let mount = match controllers {
            "" => PathBuf::from("/sys/fs/cgroup"),
            name if name == controller => Path::new("/sys/fs/cgroup").join(controller),
            _ => return None,
        };
        Some((mount.clone(), mount.join(path)))
    });
    let above = |(mount, folder): (PathBuf, PathBuf)| {
        folder.ancestors().take_while(|above| above.starts_with(&mount)).map(Path::to_owned).collect::<Vec<_>>()
    };
    folders.flat_map(above).collect()
}

/// Returns the number in a file; `None` if the file has another text or cannot be read.
pub(super) fn number_in(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}
