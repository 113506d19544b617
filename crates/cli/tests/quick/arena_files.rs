//! Tests that `loadline arena` checks its file and its folder before it starts any server.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

/// Runs a command that loadline must refuse, and returns the error.
fn refused(dir: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_loadline")).arg("arena").args(arguments).current_dir(dir).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_wrong_file_starts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let write = |text: &str| std::fs::write(dir.path().join("a.toml"), text).unwrap();
    let entry = "[[entry]]\nname = \"a\"\ncommand = \"touch started; sleep 60\"\nport = 1\n";
    let profile = "[[profile]]\nname = \"p\"\n";
    for (text, arguments, words) in [
        (format!("{entry}{profile}conections = 3\n"), &["a.toml"][..], "did you mean `connections`"),
        (format!("{entry}{entry}{profile}"), &["a.toml"], "line 5, [[entry]] \"a\""),
        (format!("{entry}{profile}[resources]\nmemory = \"much\"\n"), &["a.toml"], "such as 512MiB"),
        (format!("{entry}{profile}requests = \"nosuch\"\n"), &["a.toml"], "[[profile]] \"p\""),
        (format!("{entry}{profile}"), &["a.toml", "--budget", "1s"], "at least 21 s for 1 server under 1 load"),
        (format!("{entry}{profile}"), &["a.toml", "--form", "pdf"], "no report form"),
        (format!("{entry}{profile}"), &["a.toml", "--out", "."], "is not empty"),
        (String::new(), &["nosuch.toml"], "nosuch.toml"),
        (String::new(), &["--resume", "nosuch"], "nosuch/arena.json"),
    ] {
        write(&text);
        let error = refused(dir.path(), arguments);
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
    assert!(!dir.path().join("started").exists() && !dir.path().join("loadline-arena").exists());
}
