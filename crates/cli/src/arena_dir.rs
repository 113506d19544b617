//! The folder of a comparison of many servers: its state, its reports, and the runs of its searches.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use run::{ArenaResult, ArenaState, MAX_RUN_BYTES, RunDir};

use crate::output;

/// Folder of comparisons without `--out`.
const ARENAS: &str = "loadline-arena";
/// File of the state.
const STATE: &str = "arena.json";
/// Forms of the result that are written, and their files.
const REPORTS: [(&str, &str); 3] = [("html", "arena.html"), ("markdown", "arena.md"), ("json", "result.json")];

/// The folder of one comparison. A lock keeps other programs out until this value is dropped.
pub(crate) struct ArenaDir {
    dir: RunDir,
    _lock: fs::File,
}

impl ArenaDir {
    /// Creates the folder of `--out`, or one named by the time.
    pub(crate) fn new(out: Option<&Path>) -> anyhow::Result<Self> {
        let path = match out {
            Some(out) => out.to_path_buf(),
            None => Path::new(ARENAS).join(jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string()),
        };
        let has_files = fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some());
        ensure!(
            !has_files,
            "{} is not empty: name a new folder with --out, or go on with a comparison there by --resume",
            path.display()
        );
        Self::locked(&path)
    }

    /// Opens the folder of an earlier comparison.
    pub(crate) fn existing(path: &Path) -> anyhow::Result<Self> {
        Self::locked(path)
    }

    fn locked(path: &Path) -> anyhow::Result<Self> {
        let dir = RunDir::create(path)?;
        let lock = fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let free = sys::lock::try_exclusive(&lock).with_context(|| format!("cannot lock {}", path.display()))?;
        ensure!(free, "another loadline writes into {}: wait for its end", path.display());
        Ok(Self { dir, _lock: lock })
    }

    /// Reads the state of an earlier comparison.
    pub(crate) fn read(path: &Path) -> anyhow::Result<ArenaState> {
        let file = path.join(STATE);
        let text = run::read_text(&file, MAX_RUN_BYTES, "name the folder of a comparison")?;
        let state: ArenaState =
            serde_json::from_str(&text).with_context(|| format!("{} is not a comparison", file.display()))?;
        ensure!(
            state.format == run::ARENA_FORMAT,
            "{} has format {:?}, and this version reads {:?}",
            file.display(),
            state.format,
            run::ARENA_FORMAT
        );
        let known = |place: &run::ArenaPlace| {
            place.entry < state.plan.entries.len() && place.profile < state.plan.profiles.len()
        };
        let places =
            state.searches.iter().map(|search| &search.place).chain(state.turns.iter().map(|turn| &turn.place));
        let rounds_fit = state.turns.iter().all(|turn| turn.round < run::MAX_ARENA_ROUNDS);
        ensure!(
            places.into_iter().all(known) && rounds_fit,
            "{} names servers, loads or rounds that it does not have",
            file.display()
        );
        Ok(state)
    }

    /// Returns the path of the folder.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Stores the state. A reader sees the old file or the new one, never a part.
    pub(crate) fn store(&self, state: &ArenaState) -> anyhow::Result<()> {
        let text = serde_json::to_string(state).context("writing the state as JSON")?;
        Ok(self.dir.put(STATE, text.as_bytes())?)
    }

    /// Writes the result in all its forms.
    pub(crate) fn write_reports(&self, result: &ArenaResult) -> anyhow::Result<()> {
        for (form, file) in REPORTS {
            self.dir.put(file, report::render_arena(form, result, &output::plain())?.as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_files_is_refused_and_a_state_comes_back() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("arena");
        let dir = ArenaDir::new(Some(&out)).unwrap();
        let busy = ArenaDir::existing(&out).map(drop).unwrap_err().to_string();
        assert!(busy.contains("another loadline"), "{busy}");
        let state = ArenaState { format: run::ARENA_FORMAT.into(), budget_s: 7.0, ..ArenaState::default() };
        dir.store(&state).unwrap();
        assert_eq!(ArenaDir::read(&out).unwrap(), state);
        dir.write_reports(&ArenaResult::default()).unwrap();
        drop(dir);
        assert!(ArenaDir::new(Some(&out)).map(drop).unwrap_err().to_string().contains("--resume"));
        let wrong = ArenaState { format: "other/1".into(), ..state.clone() };
        let odd = ArenaState { turns: vec![run::ArenaTurn::default()], ..state };
        for (state, words) in [(wrong, "other/1"), (odd, "does not have")] {
            ArenaDir::existing(&out).unwrap().store(&state).unwrap();
            let error = ArenaDir::read(&out).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
