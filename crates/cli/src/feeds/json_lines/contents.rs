//! Contents of the lines: figures of one second, and the result of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use run::{Errors, Findings, Intensity, Rates, Run, Summary, Tally, Trial, TrialKind};
use serde::Serialize;

use crate::feeds::interval::Look;
use crate::live::{SideNow, Totals};

/// One line of output, about one second of the run. Figures that `run.json` also contains have the same names and units
/// there.
#[derive(Debug, Serialize)]
pub(super) struct Second {
    line: &'static str,
    time: String,
    elapsed_s: f64,
    step: String,
    trials: usize,
    #[serde(flatten)]
    load: Option<Load>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    sides: BTreeMap<&'static str, Side>,
}

/// Counts, rates and response times of the load within one second.
#[derive(Debug, Serialize)]
pub(super) struct Load {
    seconds: f64,
    sent: u64,
    completed: u64,
    completed_rate: f64,
    errors: Errors,
    unexpected_status: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unexpected_statuses: BTreeMap<String, u64>,
    in_flight: u64,
    open: u64,
    pub(super) latency_us: Summary,
}

/// Newest samples of the counters of one side (clients or server).
#[derive(Debug, Serialize)]
struct Side {
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_busy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processes_cpus: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    descriptors: Option<f64>,
}

impl Second {
    pub(super) fn new(look: &Look, seconds: f64, elapsed: Duration) -> Self {
        Self {
            line: "second",
            time: now(),
            elapsed_s: milli(elapsed.as_secs_f64()),
            step: look.step.clone(),
            trials: look.trials,
            load: look.has_load.then(|| Load::new(look, seconds)),
            sides: look.sides.iter().map(|side| (side.role, Side::new(side))).collect(),
        }
    }
}

impl Load {
    pub(super) fn new(look: &Look, seconds: f64) -> Self {
        let Totals { sent, completed, detail } = &look.counts;
        let statuses =
            detail.unexpected_statuses.iter().map(|(status, n)| (run::status_name(*status).into_owned(), *n));
        Self {
            seconds: milli(seconds),
            sent: *sent,
            completed: *completed,
            completed_rate: run::six_digits(*completed as f64 / seconds),
            errors: detail.errors.clone(),
            unexpected_status: detail.unexpected,
            unexpected_statuses: statuses.collect(),
            in_flight: look.in_flight,
            open: look.open,
            latency_us: detail.summary(),
        }
    }
}

impl Side {
    fn new(side: &SideNow) -> Self {
        Self {
            cpu_busy: side.cpu.map(|cpu| run::six_digits(cpu.busy())),
            processes_cpus: side.uses.cpus.map(run::six_digits),
            memory_bytes: side.uses.memory,
            descriptors: side.uses.descriptors,
        }
    }
}

/// Last line of a run, with the parts of `run.json` that a program needs most.
#[derive(Debug, Serialize)]
pub(super) struct RunResult<'a> {
    line: &'static str,
    time: String,
    exit_status: u8,
    interrupted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    dir: Option<String>,
    trials: Vec<TrialResult<'a>>,
    findings: &'a Findings,
}

/// Figures of a trial, without its histograms and samples.
#[derive(Debug, Serialize)]
struct TrialResult<'a> {
    label: &'a str,
    kind: TrialKind,
    intensity: &'a Intensity,
    #[serde(flatten)]
    tally: &'a Tally,
    #[serde(flatten)]
    rates: Rates,
    latency_us: Summary,
    first_byte_us: Summary,
    connect_us: Summary,
    handshake_us: Summary,
    wait_us: Summary,
    transfer_us: Summary,
}

impl<'a> RunResult<'a> {
    pub(super) fn new(run: &'a Run, dir: Option<&std::path::Path>, exit_status: u8) -> Self {
        Self {
            line: "result",
            time: now(),
            exit_status,
            interrupted: run.interrupted,
            dir: dir.map(|dir| dir.display().to_string()),
            trials: run.trials.iter().map(TrialResult::new).collect(),
            findings: &run.findings,
        }
    }
}

impl<'a> TrialResult<'a> {
    fn new(trial: &'a Trial) -> Self {
        Self {
            label: &trial.label,
            kind: trial.kind,
            intensity: &trial.intensity,
            tally: &trial.tally,
            rates: trial.rates,
            latency_us: trial.latency_us,
            first_byte_us: trial.first_byte_us,
            connect_us: trial.connect_us,
            handshake_us: trial.handshake_us,
            wait_us: trial.wait_us,
            transfer_us: trial.transfer_us,
        }
    }
}

/// Returns the current time in UTC, in RFC 3339 format with milliseconds.
fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

fn milli(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}
