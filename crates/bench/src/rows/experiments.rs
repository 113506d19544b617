//! Actual durations of the experiments (`loadline lab NAME`), next to their planned durations.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use experiments::{EXPERIMENTS, Experiment};

use crate::compare::Compared;
use crate::programs;

/// Runs each experiment in its short form (`--quick`), and measures the duration of the longest one, seconds. Each
/// experiment runs only once, even if the row has several rounds.
pub(crate) fn quick(_rounds: usize) -> Result<Compared> {
    let (mut longest_s, mut notes) = (f64::NAN, Vec::new());
    for experiment in EXPERIMENTS {
        let planned_s = experiment.planned_s(&experiment.plan()?, true);
        match took_s(experiment, &["--quick"]) {
            Ok(took_s) => {
                notes.push(format!("{} {took_s:.0} (planned {planned_s:.0})", experiment.name));
                longest_s = longest_s.max(took_s);
            }
            Err(e) => notes.push(format!("{} did not run: {e:#}", experiment.name)),
        }
    }
    ensure!(longest_s.is_finite(), "{}", notes.join("; "));
    Ok(Compared::single(longest_s, "s", notes.join(", ")))
}

/// Measures the duration of the experiment `event-api` without `--quick`, seconds.
pub(crate) fn event_api(_rounds: usize) -> Result<Compared> {
    let experiment = experiments::experiment("event-api")?;
    let note = format!("planned {:.0} s", experiment.planned_s(&experiment.plan()?, false));
    Ok(Compared::single(took_s(experiment, &[])?, "s", note))
}

/// Runs an experiment, and returns its duration in seconds. The experiment is not pinned to a CPU.
fn took_s(experiment: &Experiment, more: &[&str]) -> Result<f64> {
    let (begun, dir) = (Instant::now(), tempfile::tempdir()?);
    let mut command = Command::new(programs::loadline()?);
    command.args(["lab", experiment.name, "--json"]).args(more).arg("--out").arg(dir.path().join("run"));
    // Exit status 1 means that a check of the experiment failed. The duration of an experiment with a failed check
    // counts, too.
    programs::output_of(&mut command, &[0, 1])?;
    Ok(begun.elapsed().as_secs_f64())
}
