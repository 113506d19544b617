//! Tests of `loadline compare` with stored runs. loadline must compare every old run that it can read. For any run that
//! it cannot read, loadline must print a clear error.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../run/tests/fixtures").join(name)
}

/// Runs `loadline compare` in a new directory, because the command writes the page of the comparison there.
fn compare(arguments: &[&str]) -> Output {
    compare_in(tempfile::tempdir().unwrap().path(), arguments)
}

fn compare_in(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.arg("compare").args(arguments).current_dir(dir).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn every_old_run_compares_with_itself_in_every_form() {
    for name in ["find.json", "io-models.json", "open-loop-repeats.json", "users.json"] {
        let file = fixture(name);
        let file = file.to_str().unwrap();
        let output = compare(&[file, file, "--json"]);
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        // Each run is compared with itself. Some runs have too few measured windows to show that there is no
        // difference.
        let status = if found["outcome"] == "passed" { 0 } else { 3 };
        assert_eq!(output.status.code(), Some(status), "{name}: {}", text(&output));
        assert_eq!(compare(&[file, file, "--undecided", "pass"]).status.code(), Some(0), "{name}");
        assert_eq!(compare(&[file, file, "--undecided", "fail"]).status.code(), Some(status / 3), "{name}");
        let all = found["comparisons"].as_array().unwrap();
        assert!(!all.is_empty() && found["verdict"].is_string(), "{found}");
        for one in all {
            assert!(one["ratio"].as_f64().is_some_and(|r| (r - 1.0).abs() < 1e-9), "{one}");
            assert!(one["word"] == "same" || one["word"] == "not-enough", "{one}");
        }
        for form in ["text", "markdown", "html"] {
            let output = compare(&[file, file, "--form", form]);
            assert!(
                output.status.code() == Some(status) && text(&output).contains("p99.9"),
                "{form}: {}",
                text(&output)
            );
        }
    }
}

/// Without another output form, the command writes one page of the comparison, and its last line names the page.
#[test]
fn the_last_line_names_the_page_of_the_comparison() {
    let dir = tempfile::tempdir().unwrap();
    let find = fixture("find.json");
    let runs = ["old", "new"].map(|name| dir.path().join(name));
    for run in &runs {
        std::fs::create_dir(run).unwrap();
        std::fs::copy(&find, run.join("run.json")).unwrap();
        std::fs::write(run.join("report.html"), "").unwrap();
    }
    let files = || std::fs::read_dir(dir.path().join("loadline-runs")).map_or(0, Iterator::count);
    for arguments in [&["old", "new", "--json"][..], &["old", "new", "--form", "markdown"]] {
        compare_in(dir.path(), arguments);
        assert_eq!(files(), 0, "{arguments:?}");
    }
    let output = compare_in(dir.path(), &["old", "new"]);
    let said = text(&output);
    let page = said.lines().last().and_then(|line| line.strip_prefix("report: ")).unwrap_or_else(|| panic!("{said}"));
    let page = std::fs::read_to_string(dir.path().join(page)).unwrap();
    for side in ["old", "new"] {
        assert!(page.contains(&format!("<a href=\"../../{side}/report.html\">")), "{side}: {page}");
    }
    let [deciding, other] = ["completed rate", "p99.9"].map(|figure| page.find(&format!(">{figure}</td>")).unwrap());
    assert!(files() == 1 && deciding < other && page.contains("figures decide"), "{page}");
    compare_in(dir.path(), &["old", "new", "--json", "--out", "kept"]);
    assert!(dir.path().join("kept/compare.html").is_file());
}

#[test]
fn runs_that_cannot_be_compared_give_one_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("run.json");
    std::fs::write(&empty, r#"{"format":"loadline-run/1"}"#).unwrap();
    let (find, empty) = (fixture("find.json"), empty.display().to_string());
    let find = find.to_str().unwrap();
    for (arguments, words) in [
        (vec![find, empty.as_str()], "has no trial"),
        (vec![find], "give two runs"),
        (vec![find, "http://127.0.0.1:1/"], "one of"),
        (vec![find, "/nowhere"], "cannot read"),
        (vec![find, find, "--old", find, "--new", find], "name each run once"),
        (vec![find, find, "--budget", "10s"], "--budget needs two live servers"),
        (vec![find, find, "--whole-budget"], "--whole-budget needs two live servers"),
        (vec![find, find, "--duet", "never"], "--duet needs two live servers"),
        (vec![find, find, "--connections", "3"], "--connections needs two live servers"),
        (vec![find, find, "--seed", "3"], "--seed needs two live servers"),
        (vec!["http://127.0.0.1:1/", "http://127.0.0.1:2/", "--baseline", "main"], "--baseline names runs"),
        (vec!["http://127.0.0.1:1/", "http://127.0.0.1:2/", "--old", find], "--old names runs"),
        (vec!["http://127.0.0.1:1/", "http://127.0.0.1:2/", "--new", find], "--new names runs"),
    ] {
        let output = compare(&arguments);
        let said = text(&output);
        assert!(output.status.code() == Some(2) && said.contains(words) && said.lines().count() == 1, "{said}");
    }
}
