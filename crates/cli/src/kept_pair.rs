//! The directories in which `loadline compare` stores the runs of two live servers: `old` and `new` in one folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use jiff::Timestamp;
use run::Comparison;

use crate::comparison_page;
use crate::kept::{Kept, LATEST, RUNS, fresh, stamp};

/// Names of the directories for the run of the first server and for the run of the second server.
const NAMES: [&str; 2] = ["old", "new"];

/// Directories of two runs. Dropping this value before a run was written restores the earlier state of both
/// directories.
#[derive(Debug)]
pub(crate) struct KeptPair {
    // The fields are dropped in this order, so the folder is dropped last and is empty by then, unless it contains a
    // run.
    runs: [Kept; 2],
    folder: PathBuf,
    _made: MadeFolder,
}

/// Folder that is removed when this value is dropped, if loadline created it and it is empty.
#[derive(Debug)]
struct MadeFolder(Option<PathBuf>);

impl Drop for MadeFolder {
    fn drop(&mut self) {
        // `remove_dir` removes only empty folders, so a folder with a run stays.
        self.0.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

impl KeptPair {
    /// Prepares the folder that `--out` names, or without `--out`, a folder named by the current time. Without `--out`,
    /// returns `None` if loadline only prints JSON, or if it cannot create a folder.
    pub(crate) fn prepare(out: Option<&Path>, force: bool, json: bool) -> anyhow::Result<Option<Self>> {
        match out {
            Some(out) => Self::named(out, force).map(Some),
            None if json => Ok(None),
            None => Ok(Self::by_time(Path::new(RUNS))
                .map_err(|why| {
                    let why = crate::output::sentence(&why);
                    crate::output::tell(&format!("note: the runs are not saved: {why}; name a directory with --out"));
                })
                .ok()),
        }
    }

    fn named(out: &Path, force: bool) -> anyhow::Result<Self> {
        let made = MadeFolder((!out.exists()).then(|| out.to_path_buf()));
        fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
        comparison_page::check(out)?;
        let [old, new] = NAMES.map(|name| Kept::named(&out.join(name), force));
        Ok(Self { runs: [old?, new?], folder: out.to_path_buf(), _made: made })
    }

    /// Makes a folder in `under`. The link to the latest run leads to the run of the second server.
    fn by_time(under: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(under).with_context(|| format!("cannot create {}", under.display()))?;
        let path = fresh(under, &stamp(Timestamp::now()))?;
        let made = MadeFolder(Some(path.clone()));
        let links = [None, Some(under.join(LATEST))];
        let [old, new] = [0, 1].map(|at| Kept::inside(&path, NAMES[at], links[at].clone()));
        Ok(Self { runs: [old?, new?], folder: path, _made: made })
    }

    /// Returns the paths of both directories.
    pub(crate) fn dirs(&self) -> [&Path; 2] {
        self.runs.each_ref().map(Kept::dir)
    }

    /// Makes the link to the latest run point to the new run, and writes the page of the comparison. Returns lines for
    /// the user, which name the runs and, last, the page.
    pub(crate) fn settle(&self, comparison: &Comparison) -> anyhow::Result<String> {
        let [old, new] = &self.runs;
        let earlier = old.settle_quietly()? + &new.settle_quietly()?;
        let dirs = self.dirs().map(|dir| [dir.to_path_buf()]);
        let page = comparison_page::write(&self.folder, comparison, [&dirs[0], &dirs[1]])?;
        Ok(format!("{earlier}runs: {}\n      {}\n{page}", old.shell_path(), new.shell_path()))
    }

    /// Makes the link to the latest run point to an interrupted run. Returns the directories with measurements, or
    /// `None` if there are none.
    pub(crate) fn cut_short(&self) -> Option<String> {
        let written: Vec<String> = self.runs.iter().filter_map(Kept::cut_short).collect();
        (!written.is_empty()).then(|| written.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(kept: &KeptPair, run: &str) {
        kept.dirs().iter().for_each(|dir| fs::write(dir.join("run.json"), run).unwrap());
    }

    #[test]
    fn both_runs_are_in_one_folder_and_the_latest_run_is_the_new_one() {
        let root = tempfile::tempdir().unwrap();
        let runs = root.path().join("runs");
        drop(KeptPair::by_time(&runs).unwrap());
        assert_eq!(fs::read_dir(&runs).unwrap().count(), 0, "without a run, no folder stays");
        let kept = KeptPair::by_time(&runs).unwrap();
        assert_eq!(kept.cut_short(), None);
        write(&kept, "a");
        let said = kept.settle(&Comparison::default()).unwrap();
        let [old, new] = kept.dirs().map(Path::to_path_buf);
        assert!(said.starts_with("runs: ") && said.contains(&old.display().to_string()), "{said}");
        let page = said.lines().last().and_then(|line| line.strip_prefix("report: ")).unwrap();
        assert!(Path::new(page).is_file() && page.ends_with("/compare.html"), "{said}");
        assert_eq!(said.lines().count(), 3, "a line for each path, because paths are long: {said}");
        drop(kept);
        let moved = root.path().join("moved");
        fs::rename(&runs, &moved).unwrap();
        let latest = fs::canonicalize(moved.join(LATEST)).unwrap();
        assert!(latest.ends_with("new") && latest.join("run.json").is_file(), "{latest:?}, formerly {new:?}");
    }

    #[test]
    fn earlier_runs_of_the_named_folder_move_aside() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("out");
        drop(KeptPair::named(&out, false).unwrap());
        assert!(!out.exists(), "nothing was measured");
        let ours = |name: &str| format!("{{\"format\":\"loadline-run/1\",\"command\":\"{name}\"}}");
        let first = KeptPair::named(&out, false).unwrap();
        assert!(KeptPair::named(&out, false).is_err(), "another comparison writes there");
        write(&first, &ours("first"));
        drop(first);
        let second = KeptPair::named(&out, false).unwrap();
        write(&second, &ours("second"));
        assert_eq!(second.settle(&Comparison::default()).unwrap().matches("the earlier run is now in").count(), 2);
        drop(second);
        assert_eq!(fs::read_dir(&out).unwrap().count(), 5, "two runs, two that moved, and the page");
        assert!(fs::read_to_string(out.join("old/run.json")).unwrap().contains("second"));
    }
}
