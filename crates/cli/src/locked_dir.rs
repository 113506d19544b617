//! A folder of results, to which only one process of loadline may write at a time.

use std::fs;
use std::ops::Deref;
use std::path::Path;

use anyhow::{Context as _, ensure};
use run::RunDir;

/// A folder of results. A lock excludes other processes of loadline until this value is dropped.
pub(crate) struct LockedDir {
    dir: RunDir,
    _lock: fs::File,
}

impl LockedDir {
    /// Creates the folder that `--out` names. Without `--out`, creates a folder in `parent` and names it by the current
    /// time. If the folder already contains files, fails with an error that ends with the advice `otherwise`.
    pub(crate) fn new(out: Option<&Path>, parent: &str, otherwise: &str) -> anyhow::Result<Self> {
        let path = match out {
            Some(out) => out.to_path_buf(),
            None => Path::new(parent).join(jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string()),
        };
        let has_files = fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some());
        ensure!(!has_files, "{} is not empty: {otherwise}", path.display());
        Self::existing(&path)
    }

    /// Opens and locks a folder that may already have files.
    pub(crate) fn existing(path: &Path) -> anyhow::Result<Self> {
        let dir = RunDir::create(path)?;
        let lock = fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let free = sys::lock::try_exclusive(&lock).with_context(|| format!("cannot lock {}", path.display()))?;
        ensure!(free, "another loadline writes into {}: wait for its end", path.display());
        Ok(Self { dir, _lock: lock })
    }
}

impl Deref for LockedDir {
    type Target = RunDir;

    fn deref(&self) -> &RunDir {
        &self.dir
    }
}
