//! Reads a saved run, with better messages for folders that loadline wrote but that are no runs themselves.

use std::path::{Path, PathBuf};

use anyhow::bail;
use run::Run;

use crate::arena_dir::ArenaDir;

/// Reads a run from its folder or its run.json. If the folder has another result instead of a run, the error names the
/// command that prints this result, or a run inside the folder.
pub(crate) fn load_run(path: &Path) -> anyhow::Result<Run> {
    if path.is_dir() && !is_run(path) {
        let dir = path.display();
        if ArenaDir::is_one(path) {
            bail!(
                "{dir} has the result of `loadline arena`, which is no single run: print it with `loadline arena --resume \
                 {dir} --form text`"
            );
        }
        if let Some(inside) = run_inside(path) {
            bail!("{dir} is no run, but has runs inside: name one of them, such as {}", inside.display());
        }
    }
    Ok(run::load_run(path)?)
}

fn is_run(dir: &Path) -> bool {
    dir.join("run.json").is_file()
}

/// Searches a folder and its subfolders for folders of runs. Returns the first folder of a run in alphabetical order.
fn run_inside(dir: &Path) -> Option<PathBuf> {
    let folders = |dir: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        all.sort();
        all
    };
    let children = folders(dir);
    let grandchildren = || children.iter().flat_map(|child| folders(child));
    children.iter().find(|child| is_run(child)).cloned().or_else(|| grandchildren().find(|child| is_run(child)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_another_result_is_named_with_the_command_that_prints_it() {
        let root = tempfile::tempdir().unwrap();
        let why = |dir: &Path| format!("{:#}", load_run(dir).map(drop).unwrap_err());
        assert!(why(root.path()).contains("cannot read"), "{}", why(root.path()));
        let inside = root.path().join("b/c");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(inside.join("run.json"), "{}").unwrap();
        assert!(why(root.path()).ends_with(&format!("such as {}", inside.display())), "{}", why(root.path()));
        std::fs::write(root.path().join("arena.json"), "{}").unwrap();
        let words = format!("`loadline arena --resume {} --form text`", root.path().display());
        assert!(why(root.path()).ends_with(&words), "{}", why(root.path()));
    }
}
