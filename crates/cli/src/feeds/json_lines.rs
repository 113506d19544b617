//! `--json-lines`: prints one line of JSON per second to standard output, and a last line with the result.
//! docs/reference/json-lines.md describes the fields.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use run::{Errors, Findings, Intensity, Rates, Run, Summary, Tally, Trial, TrialKind};
use serde::Serialize;

use super::every::Every;
use super::interval::{Look, Looks};
use crate::live::{Shared, SideNow, Totals};

/// Time between two lines.
const INTERVAL: Duration = Duration::from_secs(1);

/// Handle of the thread that writes one line per second. The thread ends when the handle is dropped.
#[derive(Debug)]
pub(crate) struct JsonLines {
    _thread: Every<()>,
    /// True if the program that reads standard output has closed the pipe.
    closed: Arc<AtomicBool>,
}

/// State of the thread that writes the lines of JSON.
struct Lines {
    looks: Looks,
    start: Instant,
    /// Time at which the previous line was written.
    last: Instant,
    closed: Arc<AtomicBool>,
}

impl JsonLines {
    /// Starts the thread that writes one line per second.
    pub(crate) fn start(shared: &Shared) -> std::io::Result<Self> {
        let (start, closed) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        let lines = Lines { looks: Looks::new(shared), start, last: start, closed: Arc::clone(&closed) };
        Ok(Self { _thread: Every::start("loadline-lines", INTERVAL, lines, Lines::write, Lines::last)?, closed })
    }

    /// Returns true if the program that reads standard output has closed the pipe.
    pub(crate) fn closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}

impl Lines {
    /// Writes a line about the time since the previous line. Returns false if the pipe is closed.
    fn write(&mut self) -> bool {
        let look = self.looks.look();
        self.write_look(&look)
    }

    /// Writes a line about the last part of a second, unless nothing was counted since the previous line or the pipe is
    /// closed.
    fn last(mut self) {
        let look = self.looks.look();
        if look.counts != Totals::default() && !self.closed.load(Ordering::Relaxed) {
            self.write_look(&look);
        }
    }

    fn write_look(&mut self, look: &Look) -> bool {
        let now = Instant::now();
        let seconds = (now - std::mem::replace(&mut self.last, now)).as_secs_f64();
        let is_closed = write(&Second::new(look, seconds, now - self.start)).is_err();
        self.closed.store(is_closed, Ordering::Relaxed);
        !is_closed
    }
}

/// Writes the last line of a run. A closed pipe is not an error.
pub(crate) fn print_result(run: &Run, dir: Option<&std::path::Path>, exit_status: u8) -> anyhow::Result<()> {
    crate::output::print(&line(&RunResult::new(run, dir, exit_status))?)
}

fn line(content: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string(content)? + "\n")
}

fn write(content: &impl Serialize) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(line(content)?.as_bytes()).and_then(|()| out.flush())
}

/// One line of output, about one second of the run. Figures that `run.json` also contains have the same names and units
/// there.
#[derive(Debug, Serialize)]
struct Second {
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
struct Load {
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
    latency_us: Summary,
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
    fn new(look: &Look, seconds: f64, elapsed: Duration) -> Self {
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
    fn new(look: &Look, seconds: f64) -> Self {
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
struct RunResult<'a> {
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
    fn new(run: &'a Run, dir: Option<&std::path::Path>, exit_status: u8) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feeds::interval::tests::state;
    use crate::live::Model;

    /// Adds the names of all fields of a JSON value, including nested fields, to `all`.
    fn names(value: &serde_json::Value, all: &mut Vec<String>) {
        for (name, value) in value.as_object().into_iter().flatten() {
            all.push(name.clone());
            if !["errors", "unexpected_statuses", "latency_us", "intensity", "findings"].contains(&name.as_str()) {
                names(value, all);
            }
        }
    }

    #[test]
    fn a_line_has_the_figures_of_its_second_and_the_page_describes_each() {
        let shared = Shared::new(Model::new("load".into(), String::new(), 5.0));
        let mut looks = Looks::new(&shared);
        shared.lock().phase("2 connections", 5.0);
        let mut progress = state(0.5, 100, 3);
        (progress.detail.unexpected, progress.detail.unexpected_statuses) = (7, [(429, 7)].into());
        shared.lock().progress(progress);
        let mut look = looks.look();
        let uses = crate::live::Uses { cpus: Some(1.0), memory: Some(2.0), descriptors: Some(3.0) };
        look.sides = vec![SideNow { role: "server", cpu: Some(Default::default()), uses }];
        let text = line(&Second::new(&look, 0.5, Duration::from_millis(1234))).unwrap();
        assert!(text.ends_with("}\n") && text.matches('\n').count() == 1, "{text}");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["line"], &value["elapsed_s"]), (&"second".into(), &1.234.into()));
        assert_eq!((&value["completed_rate"], &value["errors"]["reset"]), (&200.0.into(), &3.into()));
        assert_eq!(value["unexpected_statuses"]["429"], 7);
        assert!((value["latency_us"]["p50"].as_f64().unwrap() / 1000.0 - 1.0).abs() < 0.09, "{text}");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/json-lines.md");
        let page = std::fs::read_to_string(path).unwrap();
        let mut all = Vec::new();
        names(&value, &mut all);
        names(&serde_json::to_value(RunResult::new(&Run::default(), Some("x".as_ref()), 0)).unwrap(), &mut all);
        assert!(all.len() > 20, "{all:?}");
        all.iter().for_each(|name| assert!(page.contains(&format!("| `{name}` ")), "the page lacks {name}"));
    }

    /// A fifth of the requests got no answer within 50 ms (`--timeout`). The slowest answer took 1 ms.
    #[test]
    fn percentiles_of_a_second_count_timeouts_with_the_timeout() {
        let shared = Shared::new(Model::new("load".into(), String::new(), 5.0));
        let mut looks = Looks::new(&shared);
        shared.lock().phase("2 connections", 5.0);
        let mut progress = state(0.5, 80, 20);
        let mut ages = vec![0; run::CoarseHist::BUCKETS];
        ages[run::CoarseHist::bucket(50_000_000)] = 20;
        progress.detail.unanswered = run::CoarseHist::of(ages);
        shared.lock().progress(progress);
        let latency_us = Load::new(&looks.look(), 1.0).latency_us;
        for us in [latency_us.p90, latency_us.p99, latency_us.max] {
            assert!((44_000.0..=50_000.0).contains(&us), "{latency_us:?}");
        }
        let is_bound = |figure| latency_us.at_least.contains(figure);
        assert!(is_bound(run::SummaryFigure::P90) && !is_bound(run::SummaryFigure::P50), "{latency_us:?}");
    }

    #[test]
    fn without_load_a_line_has_no_figures_of_a_load() {
        let shared = Shared::new(Model::new("find".into(), String::new(), 5.0));
        let value = serde_json::to_value(Second::new(&Looks::new(&shared).look(), 1.0, INTERVAL)).unwrap();
        assert!(value.get("completed").is_none() && value["trials"] == 0, "{value}");
    }
}
