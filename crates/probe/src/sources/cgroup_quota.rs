//! CPU quotas of control groups. Source: Documentation/scheduler/sched-bwc.rst.

use std::path::{Path, PathBuf};

use super::cgroup_paths::{Mount, Version, mounts, resolve};
use crate::Scope;
use crate::reread_file::RereadFile;
use crate::text::{keyed, number, words};
use crate::tree::Tree;

/// Smallest CPU quota that the kernel accepts, microseconds per period. Source: Linux's sched-bwc.rst.
pub const MIN_QUOTA_US: u64 = 1_000;

/// CPU quota that applies to a process, and the file that sets it.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuQuota {
    /// `cpu.max` or `cpu.cfs_quota_us` of the group with the smallest quota.
    pub file: PathBuf,
    /// Text of the file without white space at its ends.
    pub text: String,
    /// CPU time that the group may use per period, microseconds.
    pub quota_us: u64,
    /// Number of CPUs that the group may use: `quota_us` divided by the period.
    pub cpus: f64,
    pub(super) version: Version,
}

impl CpuQuota {
    /// Reads the quota that applies to a process, or returns `None` if there is none.
    pub fn of_process(pid: u32) -> Option<Self> {
        let tree = Tree::new(&Scope::default());
        let text = std::fs::read(tree.path(&format!("proc/{pid}/cgroup"))).ok()?;
        let cpu = resolve(&tree, &mounts(&tree), &text)?.cpu?;
        let (limit, folder) = cpu.tightest(quota);
        let cpus = limit?;
        let file = folder.join(cpu.pick("cpu.cfs_quota_us", "cpu.max"));
        let text = std::fs::read_to_string(&file).ok()?;
        let quota_us = words(text.as_bytes()).next().and_then(number)?;
        Some(Self { file, text: text.trim().to_owned(), quota_us, cpus, version: cpu.version })
    }

    /// Returns the text to write into `file` for a quota that is `share` times this quota. Returns `None` if the kernel
    /// accepts no quota that is so small.
    pub fn times(&self, share: f64) -> Option<String> {
        let quota_us = (self.quota_us as f64 * share) as u64;
        let period = self.text.split_whitespace().nth(1).unwrap_or("100000");
        let is_accepted = quota_us >= MIN_QUOTA_US;
        is_accepted.then(|| match self.version {
            Version::One => quota_us.to_string(),
            Version::Two => format!("{quota_us} {period}"),
        })
    }
}

/// A CPU quota, and the counts of its periods.
pub(super) struct Throttle {
    /// Folder of the group that has the quota.
    pub(super) folder: PathBuf,
    /// Number of CPUs that the group may use.
    pub(super) cpus: f64,
    file: RereadFile,
}

impl Throttle {
    /// Finds the quota that applies to a process, or returns `None` if there is none.
    pub(super) fn of_process(pid: u32, tree: &Tree, mounts: &[Mount]) -> Option<Self> {
        let text = std::fs::read(tree.process(pid, "cgroup")).ok()?;
        let (cpus, folder) = resolve(tree, mounts, &text)?.cpu?.tightest(quota);
        let file = RereadFile::new(folder.join("cpu.stat"));
        cpus.map(|cpus| Self { folder, cpus, file })
    }

    /// Returns the number of quota periods so far, and how many of them were throttled.
    pub(super) fn periods(&mut self) -> Option<(f64, f64)> {
        let text = self.file.read().ok()?;
        Some((keyed(text, "nr_periods")?, keyed(text, "nr_throttled")?))
    }
}

/// Returns the number of CPUs that a group may use: quota divided by period. Returns `None` without a quota.
pub(super) fn quota(version: Version, folder: &Path) -> Option<f64> {
    let read = |file: &str| std::fs::read(folder.join(file)).ok();
    let (quota, period) = match version {
        Version::Two => {
            let text = read("cpu.max")?;
            let mut fields = words(&text).map(number);
            (fields.next()??, fields.next()??)
        }
        Version::One => {
            let first = |text: Vec<u8>| words(&text).next().and_then(number);
            (read("cpu.cfs_quota_us").and_then(first)?, read("cpu.cfs_period_us").and_then(first)?)
        }
    };
    (period > 0).then(|| quota as f64 / period as f64)
}
