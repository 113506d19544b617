//! The program itself, run to its end, and what it says.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::process::{children, peak_kib};
use crate::{Running, free_port};

/// The release binary beside `own`, the one of the test profile. Live verdicts are about speed relations between
/// generator and server, so they take the one that `make test` builds just before; says that the test is left out
/// without it.
#[track_caller]
pub fn release_binary(test: &str, own: &Path) -> Option<PathBuf> {
    let release = own.parent()?.parent()?.join("release/loadline");
    if !release.exists() {
        crate::skip(test, "no release binary; run `make test`, which builds it first");
    }
    Some(release).filter(|path| path.exists())
}

/// `loadline serve http` with options, on processor `cpu`.
pub fn serve(binary: &Path, cpu: u32, options: &[&str]) -> Running {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string()]).arg(binary).args(["serve", "http"]).args(options);
    served(command)
}

/// A command that serves at the address after its `--listen`, which is added here.
pub fn served(mut command: Command) -> Running {
    let port = free_port();
    command.args(["--listen", &format!("127.0.0.1:{port}")]);
    Running::start(command, port, tempfile::tempdir().unwrap())
}

/// Runs loadline to its end.
pub fn loadline(binary: &Path, args: &[&str]) -> Output {
    Command::new(binary).args(args).stdin(Stdio::null()).output().unwrap()
}

/// What loadline says where it refuses a command line and measures nothing.
#[track_caller]
pub fn refused(binary: &Path, args: &[&str]) -> String {
    let output = loadline(binary, args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    said
}

/// Runs loadline with `--json` and reads what it printed.
#[track_caller]
pub fn json(binary: &Path, args: &[&str]) -> Value {
    json_of(Command::new(binary).args(args))
}

/// Runs a command that ends in a loadline with `--json` and reads what it printed.
#[track_caller]
pub fn json_of(command: &mut Command) -> Value {
    let output = command.arg("--json").stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|e| {
        panic!("{command:?} printed no run ({e}): {text}\n{}", String::from_utf8_lossy(&output.stderr))
    })
}

/// A run that was watched while it was made.
pub struct Watched {
    /// What it printed; what is no run where it failed.
    pub run: Result<Value, String>,
    /// The most that it or one of its generators had in memory, KiB.
    pub peak_kib: u64,
    /// Most generators at a time.
    pub generators: usize,
}

/// Runs loadline with `--json` and watches its memory and that of its generators.
#[track_caller]
pub fn watched(binary: &Path, args: &[&str]) -> Watched {
    let mut command = Command::new(binary);
    command.args(args).arg("--json").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let said = std::thread::spawn(move || std::io::read_to_string(&mut stdout).unwrap());
    let (mut peak, mut generators) = (0, 0);
    while child.try_wait().unwrap().is_none() {
        let agents = children(child.id());
        generators = generators.max(agents.len());
        peak = std::iter::once(child.id()).chain(agents).map(peak_kib).fold(peak, u64::max);
        std::thread::sleep(Duration::from_millis(5));
    }
    let run = serde_json::from_str(&said.join().unwrap()).map_err(|e| e.to_string());
    Watched { run, peak_kib: peak, generators }
}

/// The bottleneck of a run by its id.
pub fn bottleneck(run: &Value) -> &str {
    run["findings"]["bottleneck"]["id"].as_str().unwrap_or("none")
}

/// The verdict with its evidence, for messages of failed tests.
pub fn verdict(run: &Value) -> String {
    let trials = run["trials"].as_array().into_iter().flatten();
    let trials: Vec<String> = trials.map(trial).collect();
    let warnings = &run["findings"]["trust"]["warnings"];
    format!("{:#}\n{}\n{warnings:#}\n{:#}", run["findings"]["bottleneck"], trials.join("\n"), run["notes"])
}

fn trial(trial: &Value) -> String {
    let (rate, p99) = (num(&trial["completed_rate"]), num(&trial["latency_us"]["p99"]));
    format!("{}: {rate:.0}/s p99 {p99:.0} us errors {}", trial["label"], trial["errors"])
}

/// A number of a run; NaN where there is none.
pub fn num(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// How many answers of the first trial had this status.
pub fn status(run: &Value, name: &str) -> u64 {
    run["trials"][0]["status"][name].as_u64().unwrap_or(0)
}

/// Sum of a count over all trials.
pub fn total(run: &Value, count: &str) -> u64 {
    run["trials"].as_array().map_or(0, |t| t.iter().filter_map(|t| t[count].as_u64()).sum())
}
