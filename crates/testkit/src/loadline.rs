//! Runs the loadline program and reads its output.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::process::{children, peak_kib};
use crate::{Running, free_port};

/// Returns the path of the release build of loadline. `own` is the path of the test build, which is in the same target
/// directory as the release build. Tests of verdicts on live servers need the release build, because a slower generator
/// could change the verdict. Skips the test if the release build is missing; `make test` builds it first.
#[track_caller]
pub fn release_binary(test: &str, own: &Path) -> Option<PathBuf> {
    let release = own.parent()?.parent()?.join("release/loadline");
    if !release.exists() {
        crate::skip(test, "no release binary; run `make test`, which builds it first");
    }
    Some(release).filter(|path| path.exists())
}

/// Starts `loadline serve http` with `options` on the CPU `cpu`.
pub fn serve(binary: &Path, cpu: u32, options: &[&str]) -> Running {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string()]).arg(binary).args(["serve", "http"]).args(options);
    served(command)
}

/// Starts the server that `command` describes, with the additional option `--listen` and a free address.
pub fn served(mut command: Command) -> Running {
    let port = free_port();
    command.args(["--listen", &format!("127.0.0.1:{port}")]);
    Running::start(command, port, tempfile::tempdir().unwrap())
}

/// Runs loadline in an empty folder until it ends, so that its runs do not stay in the folder of the test.
pub fn loadline(binary: &Path, args: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    Command::new(binary).args(args).current_dir(dir.path()).stdin(Stdio::null()).output().unwrap()
}

/// Runs loadline with arguments that it must reject without measuring (exit status 2). Returns the error output of
/// loadline.
#[track_caller]
pub fn refused(binary: &Path, args: &[&str]) -> String {
    let output = loadline(binary, args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    said
}

/// Runs loadline with `--json` and parses its output.
#[track_caller]
pub fn json(binary: &Path, args: &[&str]) -> Value {
    json_of(Command::new(binary).args(args))
}

/// Adds `--json` to a command that ends with a loadline command line. Runs the command, and parses its output.
#[track_caller]
pub fn json_of(command: &mut Command) -> Value {
    let output = command.arg("--json").stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|e| {
        panic!("{command:?} printed no run ({e}): {text}\n{}", String::from_utf8_lossy(&output.stderr))
    })
}

/// A run of loadline, and observations of its processes.
pub struct Watched {
    /// The run as printed by loadline; the parse error if it printed none.
    pub run: Result<Value, String>,
    /// Highest memory use (RSS) of any single process of the run (loadline and its generators), KiB.
    pub peak_kib: u64,
    /// Maximum number of generator processes that ran at the same time.
    pub generators: usize,
}

/// Runs loadline with `--json`. While loadline runs, observes the memory of loadline and of its generator processes.
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

/// Returns the ID of a run's bottleneck; `none` if the run has no verdict.
pub fn bottleneck(run: &Value) -> &str {
    run["findings"]["bottleneck"]["id"].as_str().unwrap_or("none")
}

/// Returns the verdict with its evidence and a summary of the trials (loads), for messages of failed tests.
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

/// Returns the counter samples of one side (`client` or `server`) of a trial (one load), as JSON. The JSON has one
/// column for each counter and instance.
#[track_caller]
pub fn recording(run: &Value, trial: usize, side: &str) -> Value {
    let run: run::Run = serde_json::from_value(run.clone()).unwrap();
    let trial = &run.trials[trial];
    let side = if side == "client" { Some(&trial.client) } else { trial.server.as_ref() };
    side.map_or(Value::Null, |side| serde_json::to_value(&side.recording).unwrap())
}

/// Returns a JSON value as a number; NaN if it is not a number.
pub fn num(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// Returns the number of responses in the first trial (one load) that have a status such as `2xx`.
pub fn status(run: &Value, name: &str) -> u64 {
    run["trials"][0]["status"][name].as_u64().unwrap_or(0)
}

/// Returns the sum of a count, such as `completed`, over all trials (loads).
pub fn total(run: &Value, count: &str) -> u64 {
    let of_trials: u64 = run["trials"].as_array().map_or(0, |t| t.iter().filter_map(|t| t[count].as_u64()).sum());
    of_trials + run["findings"]["proof"]["switched_counts"][count].as_u64().unwrap_or(0)
}
