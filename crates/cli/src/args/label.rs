//! Label of a run. `loadline history` shows the label as the name of the run.

use std::process::{Command, Stdio};

/// Maximum length of a label, characters.
const MAX_LABEL: usize = 100;
/// Option of `git describe` that sets the length of the commit's ID, in hexadecimal digits.
const COMMIT_DIGITS: &str = "--abbrev=12";

/// Checks the length and the characters of a label from the command line, and trims it.
pub(crate) fn checked(text: &str) -> Result<String, String> {
    if text.chars().count() > MAX_LABEL || text.contains(|c: char| c.is_control() || run::is_invisible(c)) {
        return Err(format!("a label has at most {MAX_LABEL} visible characters"));
    }
    Ok(text.trim().to_owned())
}

/// Returns the label of a run: the given label, otherwise the git commit of the working directory. Returns `None` if
/// the given label is empty, or if there is neither a label nor a commit.
pub(crate) fn label(given: Option<&String>) -> Option<String> {
    match given {
        Some(given) => Some(given.clone()).filter(|label| !label.is_empty()),
        None => commit(),
    }
}

/// Returns the ID of the working directory's commit, with `-dirty` appended if tracked files differ from the commit.
/// Returns `None` outside of a repository, or without git. The option `core.fsmonitor=false` stops git from starting a
/// program that the repository configures.
fn commit() -> Option<String> {
    let arguments = ["-c", "core.fsmonitor=false", "describe", "--always", "--dirty", "--exclude=*", COMMIT_DIGITS];
    let output = Command::new("git").args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let commit = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    checked(&commit.replace('\n', "")).ok().filter(|commit| !commit.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_label_is_kept_and_an_empty_one_is_none() {
        assert_eq!(label(Some(&"v1.2".into())), Some("v1.2".into()));
        assert_eq!(label(Some(&String::new())), None);
        assert_eq!(checked(" a b "), Ok("a b".into()));
        assert!(checked("a\nb").is_err() && checked("a\u{202e}b").is_err() && checked(&"x".repeat(101)).is_err());
    }
}
