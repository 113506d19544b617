//! The folder of a comparison of many servers (`loadline arena`). The folder contains the comparison's state, its
//! reports, and the runs of its capacity searches.

use std::path::Path;

use anyhow::{Context as _, ensure};
use run::{ArenaResult, ArenaState, MAX_RUN_BYTES};

use crate::locked_dir::LockedDir;
use crate::output;

/// Parent folder of the comparisons for which the user gave no `--out`.
const ARENAS: &str = "loadline-arena";
/// File that contains the state of the comparison.
const STATE: &str = "arena.json";
/// Output forms of the result, each with the name of its file.
const REPORTS: [(&str, &str); 3] = [("html", "arena.html"), ("markdown", "arena.md"), ("json", "result.json")];

/// The folder of one comparison.
pub(crate) struct ArenaDir(LockedDir);

impl ArenaDir {
    /// Creates the folder that `--out` names. Without `--out`, creates a folder in [`ARENAS`] and names it by the
    /// current time.
    pub(crate) fn new(out: Option<&Path>) -> anyhow::Result<Self> {
        let otherwise = "name a new folder with --out, or go on with a comparison there by --resume";
        LockedDir::new(out, ARENAS, otherwise).map(Self)
    }

    /// Opens the folder of an earlier comparison.
    pub(crate) fn existing(path: &Path) -> anyhow::Result<Self> {
        LockedDir::existing(path).map(Self)
    }

    /// Returns true if a folder has the state of a comparison.
    pub(crate) fn is_one(path: &Path) -> bool {
        path.join(STATE).is_file()
    }

    /// Reads the state of an earlier comparison from its folder. Fails if the state has another version of the format.
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

    /// Returns the path of the comparison's folder.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Stores the state of the comparison in a file. Another process that reads the file gets either the whole old
    /// state or the whole new state.
    pub(crate) fn store(&self, state: &ArenaState) -> anyhow::Result<()> {
        let text = serde_json::to_string(state).context("writing the state as JSON")?;
        Ok(self.0.put(STATE, text.as_bytes())?)
    }

    /// Writes the result in every output form of [`REPORTS`].
    pub(crate) fn write_reports(&self, result: &ArenaResult) -> anyhow::Result<()> {
        for (form, file) in REPORTS {
            self.0.put(file, report::render_arena(form, result, &output::plain())?.as_bytes())?;
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
