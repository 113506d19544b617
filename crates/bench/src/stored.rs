//! The stored result of a benchmark (JSON): one entry per row, and the machine on which the benchmark ran.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use testkit::SetupError;

use crate::compare::{Compared, median};
use crate::row::{Effort, Row};

/// Result of a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredBench {
    /// Machine on which the benchmark ran.
    pub(crate) machine: Machine,
    /// Start of the benchmark in UTC, in the format of RFC 3339.
    pub(crate) date: String,
    /// Git commit of the measured program, followed by `+` if tracked files had uncommitted changes. Empty if unknown.
    pub(crate) commit: String,
    /// Name of the measured set of rows: `default set`, `all rows` or `chosen rows`.
    pub(crate) set: String,
    /// Duration of the benchmark, seconds.
    pub(crate) took_s: f64,
    /// Measured rows in the order in which they ran.
    pub(crate) rows: Vec<StoredRow>,
}

/// Machine on which a benchmark ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// Model of the CPU.
    pub(crate) cpu: String,
    /// Number of CPUs.
    pub(crate) cpus: u32,
    /// Memory, GB.
    pub(crate) memory_gb: f64,
    /// Version of the kernel.
    pub(crate) kernel: String,
    /// Type of the virtual machine; absent on real hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) virtual_machine: Option<String>,
}

/// Result of one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredRow {
    /// Name of the group to which the row belongs.
    pub(crate) group: String,
    /// ID of the row.
    pub(crate) id: String,
    /// Description of the row.
    pub(crate) what: String,
    /// The goal, such as `<= 0.5`.
    pub(crate) goal: String,
    /// Goal that the row should reach in the long run; absent for most rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) aim: Option<String>,
    /// Result of comparing the figure with the goals.
    pub(crate) result: RowResult,
    /// Measured figures; absent if the row was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) figures: Option<Figures>,
    /// Further information, or the reason why the row was not measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
    /// Number of rounds.
    pub(crate) rounds: usize,
    /// Planned duration of the row, seconds.
    pub(crate) planned_s: u32,
    /// Duration of the row, seconds.
    pub(crate) took_s: f64,
}

/// Figures of a row, rounded to four significant digits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// Median of loadline's figures.
    pub(crate) ours: f64,
    /// Median of the peer's figures; absent if the row has no peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) peer: Option<f64>,
    /// Unit of `ours` and `peer`.
    pub(crate) unit: String,
    /// Figure that the goal limits: loadline's median divided by the peer's median. If the row has no peer: loadline's
    /// median.
    pub(crate) ratio: f64,
    /// Smallest ratio of a single round.
    pub(crate) low: f64,
    /// Largest ratio of a single round.
    pub(crate) high: f64,
}

/// Result of comparing a row's figure with its goals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RowResult {
    /// The figure reaches the goal for the long run.
    AimReached,
    /// The figure reaches the goal. The figure misses the goal for the long run, or the row has no such goal.
    Reached,
    /// The figure misses the goal.
    Missed,
    /// The row was not measured, because the machine lacks something that the row needs.
    Skipped,
    /// The measurement failed.
    Failed,
}

impl StoredBench {
    /// Returns a benchmark of this machine that contains no rows yet.
    pub(crate) fn new(set: &str) -> Self {
        let date = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%MZ").to_string();
        Self { machine: Machine::this(), date, commit: commit(), set: set.into(), took_s: 0.0, rows: Vec::new() }
    }

    /// Reads a stored benchmark.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        serde_json::from_str(&text).with_context(|| format!("{} is no stored benchmark", file.display()))
    }

    /// Writes the benchmark to `file`. Creates the folder of the file if it does not exist.
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        let created = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        created.and_then(|()| std::fs::write(file, text)).with_context(|| file.display().to_string())
    }
}

impl Machine {
    fn this() -> Self {
        let host = probe::host_info("here", "client and server");
        let memory_gb = rounded(host.memory_bytes as f64 / 1e9);
        let virtual_machine = host.facts.get("virtual machine").cloned();
        Self { cpu: host.cpu_model, cpus: host.cpus, memory_gb, kernel: host.kernel, virtual_machine }
    }
}

impl StoredRow {
    /// Returns the entry of a row whose measurement took `took_s` seconds.
    pub(crate) fn new(group: &str, row: &Row, effort: Effort, outcome: &Result<Compared>, took_s: f64) -> Self {
        let (result, note) = match outcome {
            Err(e) if e.is::<SetupError>() => (RowResult::Skipped, format!("{e:#}")),
            Err(e) => (RowResult::Failed, format!("{e:#}")),
            Ok(c) if !c.ratio().is_finite() => (RowResult::Failed, format!("no figure; {}", c.note)),
            Ok(c) if row.aim.is_some_and(|aim| aim.met(c.ratio())) => (RowResult::AimReached, c.note.clone()),
            Ok(c) if row.goal.met(c.ratio()) => (RowResult::Reached, c.note.clone()),
            Ok(c) => (RowResult::Missed, c.note.clone()),
        };
        Self {
            group: group.into(),
            id: row.id.into(),
            what: row.what.into(),
            goal: row.goal.to_string(),
            aim: row.aim.map(|aim| aim.to_string()),
            result,
            figures: outcome.as_ref().ok().filter(|c| c.ratio().is_finite()).map(Figures::new),
            note,
            rounds: effort.rounds,
            planned_s: effort.seconds,
            took_s: (took_s * 10.0).round() / 10.0,
        }
    }
}

impl Figures {
    fn new(compared: &Compared) -> Self {
        let (low, high) = compared.spread();
        Self {
            ours: rounded(median(&compared.ours)),
            peer: (!compared.peer.is_empty()).then(|| rounded(median(&compared.peer))),
            unit: compared.unit.into(),
            ratio: rounded(compared.ratio()),
            low: rounded(low),
            high: rounded(high),
        }
    }
}

/// Rounds a number to four significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Returns the Git commit of the sources, followed by `+` if tracked files were changed.
fn commit() -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|text| !text.is_empty());
    git(&["rev-parse", "--short=12", "HEAD"]).map_or(String::new(), |id| id + if changed { "+" } else { "" })
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;
    use crate::groups;

    fn stored(outcome: &Result<Compared>) -> StoredRow {
        let (group, row) = groups::rows().find(|(_, row)| row.id == "https-cpu").unwrap();
        StoredRow::new(group, row, row.all, outcome, 1.26)
    }

    fn measured(ours: f64) -> Result<Compared> {
        Ok(Compared { ours: vec![ours], peer: vec![10.0], unit: "us", note: String::new() })
    }

    #[test]
    fn a_row_says_how_it_stands_to_its_goals() {
        let result = |outcome| stored(&outcome).result;
        let expected = [RowResult::AimReached, RowResult::Reached, RowResult::Missed];
        assert_eq!([measured(6.0), measured(8.0), measured(8.1)].map(result), expected);
        assert_eq!(result(measured(f64::NAN)), RowResult::Failed);
        assert_eq!(result(Err(SetupError::program("wrk").into())), RowResult::Skipped);
        let failed = stored(&Err(anyhow!("no answer")));
        assert_eq!((failed.result, failed.note.as_str(), failed.figures), (RowResult::Failed, "no answer", None));
    }

    #[test]
    fn a_stored_benchmark_is_read_back_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("below/bench.json");
        let bench = StoredBench { rows: vec![stored(&measured(7.123_456))], ..StoredBench::new("chosen rows") };
        bench.write(&file).unwrap();
        let read = StoredBench::read(&file).unwrap();
        assert_eq!(read, bench);
        assert!(read.machine.cpus > 0 && read.machine.memory_gb > 0.0 && !read.machine.kernel.is_empty());
        let figures = read.rows[0].figures.clone().unwrap();
        assert_eq!((figures.ours, figures.peer, figures.ratio), (7.123, Some(10.0), 0.7123));
    }
}
