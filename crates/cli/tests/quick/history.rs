//! Tests of `loadline history` on stored runs with a known change of the capacity, and on files that are not runs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

/// Returns a small `run.json` of `find`, with fields of older and of newer versions of loadline.
fn run_json(day: usize, capacity: f64, label: &str) -> Value {
    json!({
        "format": "loadline-run/1",
        "version": "0.1.0",
        "started": format!("2026-{:02}-{:02}T03:00:00Z", 1 + day / 28, 1 + day % 28),
        "label": label,
        "plan": { "command": "find", "target": { "url": "http://127.0.0.1:8080/" } },
        "trials": [{
            "label": "1 connection", "kind": "sweep", "goodput": capacity,
            "latency_us": { "count": 1000, "p50": 2e8 / capacity, "p99": 250.0 },
            "server": { "costs": { "process_cpu_us": { "per_request": 9e5 / capacity, "unit": "us" } } },
        }],
        "findings": {
            "picks": { "at_capacity": 0, "unloaded": 0 },
            "capacity": { "rate": capacity, "held": true, "low": 0.985 * capacity, "high": 1.015 * capacity },
        },
    })
}

/// Writes one run for each day. The capacity in a run is multiplied by the factor for the day, and has random noise of
/// 1 %.
fn write_runs(root: &Path, days: usize, factor: impl Fn(usize) -> f64) {
    let mut random = fastrand::Rng::with_seed(11);
    for day in 0..days {
        let noise: f64 = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let run = run_json(day, 5000.0 * factor(day) * (0.01 * noise).exp(), &format!("c0ffee{day:02}"));
        write(root, &format!("runs/{day:02}"), &run.to_string());
    }
}

fn write(root: &Path, directory: &str, text: &str) {
    fs::create_dir_all(root.join(directory)).unwrap();
    fs::write(root.join(directory).join("run.json"), text).unwrap();
}

fn history(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loadline")).arg("history").args(arguments).current_dir(root).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_new_loss_is_named_in_every_form_and_exits_with_status_1() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path(), 40, |day| if day < 33 { 1.0 } else { 0.95 });
    let screen = history(root.path(), &["runs"]);
    assert_eq!(screen.status.code(), Some(1), "{}", text(&screen));
    assert!(text(&screen).lines().all(|line| line.chars().count() <= 80), "{}", text(&screen));
    insta::assert_snapshot!(text(&screen));
    let found: Value = serde_json::from_slice(&history(root.path(), &["runs", "--json"]).stdout).unwrap();
    let changes = found["changes"].as_array().unwrap();
    let change = changes.iter().find(|change| change["figure"] == "capacity").unwrap();
    assert_eq!((&change["at"], &change["label"], &change["run"]), (&json!(33), &json!("c0ffee33"), &json!("runs/33")));
    assert!((change["change"].as_f64().unwrap() + 0.05).abs() < 0.015, "{change}");
    assert!(change["p"].as_f64().is_some_and(|p| p < 0.001) && change["fails"] == true && found["fails"] == true);
    for (form, words) in [("markdown", "| capacity |"), ("html", "<svg")] {
        let output = history(root.path(), &["runs", "--form", form]);
        let text = text(&output);
        assert!(output.status.code() == Some(1) && text.contains(words) && text.contains("c0ffee33"), "{text}");
    }
    let page = history(root.path(), &["runs", "--out", "page.html"]);
    assert!(page.status.code() == Some(1) && page.stdout.is_empty(), "{}", text(&page));
    assert!(fs::read_to_string(root.path().join("page.html")).unwrap().starts_with("<!doctype html>"));
}

#[test]
fn equal_runs_old_changes_and_gains_exit_with_status_0() {
    for (name, factor) in [
        ("equal", (|_| 1.0) as fn(usize) -> f64),
        ("old", |day| if day < 15 { 1.0 } else { 0.9 }),
        ("gain", |day| if day < 33 { 1.0 } else { 1.1 }),
    ] {
        let root = tempfile::tempdir().unwrap();
        write_runs(root.path(), 40, factor);
        let output = history(root.path(), &["runs"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output));
        assert!(text(&output).starts_with("No new change for the worse"), "{name}: {}", text(&output));
    }
}

#[test]
fn files_that_are_no_runs_are_skipped_and_named() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path(), 8, |_| 1.0);
    let whole = run_json(3, 5000.0, "x").to_string();
    write(root.path(), "runs/half", &whole[..whole.len() / 2]);
    write(root.path(), "runs/foreign", r#"{"name":"left-pad","version":"1.0.0"}"#);
    write(root.path(), "runs/deep/er/lab", &whole.replace("\"command\":\"find\"", "\"command\":\"lab users\""));
    fs::create_dir_all(root.path().join("runs/directory/run.json")).unwrap();
    std::os::unix::fs::symlink("00", root.path().join("runs/latest")).unwrap();
    let output = history(root.path(), &["runs", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success() && found["series"][0]["runs"].as_array().unwrap().len() == 8, "{found}");
    let skipped: Vec<&str> =
        found["skipped"].as_array().unwrap().iter().map(|one| one["file"].as_str().unwrap()).collect();
    let expected = ["runs/foreign/run.json", "runs/half/run.json", "runs/deep/er/lab"];
    assert!(expected.iter().all(|file| skipped.contains(file)) && skipped.len() == 3, "{skipped:?}");
    let screen = text(&history(root.path(), &["runs"]));
    assert!(screen.contains("Skipped 3 files") && screen.contains("runs/half/run.json"), "{screen}");
}

#[test]
fn wrong_use_is_one_sentence_with_status_2() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("empty")).unwrap();
    write(root.path(), "foreign", "{}");
    for (arguments, words) in [
        (vec!["nowhere"], "is no directory"),
        (vec!["empty"], "holds no run.json"),
        (vec!["foreign"], "holds no run that a history can use"),
    ] {
        let output = history(root.path(), &arguments);
        assert!(output.status.code() == Some(2) && text(&output).contains(words), "{}", text(&output));
        assert_eq!(text(&output).lines().count(), 1, "{}", text(&output));
    }
    write_runs(root.path(), 2, |_| 1.0);
    let few = history(root.path(), &["runs"]);
    assert!(few.status.success() && text(&few).contains("Too few runs"), "{}", text(&few));
    assert_eq!(history(root.path(), &["runs", "--form", "pdf"]).status.code(), Some(2));
    assert_eq!(history(root.path(), &["runs", "--recent", "0"]).status.code(), Some(2));
}

#[test]
fn a_run_keeps_its_label() {
    let root = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b.invalid"];
        let output = Command::new("git").args(identity).args(arguments).current_dir(root.path()).output();
        output.is_ok_and(|output| output.status.success())
    };
    let label = |out: &str, flags: &[&str]| {
        let quick = ["load", "--connections", "1", "--duration", "100ms", "--warmup", "10ms", "--at-rest", "0"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
        command.args(quick).args(["--out", out]).args(flags).current_dir(root.path());
        let output = command.output().unwrap();
        let run =
            fs::read_to_string(root.path().join(out).join("run.json")).unwrap_or_else(|_| panic!("{}", text(&output)));
        serde_json::from_str::<Value>(&run).unwrap()["label"].clone()
    };
    assert_eq!(label("named", &["--label", "release 7"]), "release 7");
    assert_eq!(label("unnamed", &["--label", ""]), Value::Null);
    if git(&["init", "-q"]) && git(&["commit", "-q", "--allow-empty", "-m", "first"]) {
        let commit = label("of-git", &[]);
        let commit = commit.as_str().unwrap();
        assert!(commit.len() == 12 && commit.chars().all(|c| c.is_ascii_hexdigit()), "{commit}");
    }
}
