//! Parts of a stored run that a history needs. Reading only the parts for a history skips histograms and counter
//! samples. Reading only the parts for a history takes a small fraction of the time and memory that the whole run would
//! take.

use std::path::Path;

use serde::Deserialize;

use super::read::{MAX_RUN_BYTES, MAX_RUN_HOSTS, MAX_TRIALS, check_format, check_weight, read_text, unreadable};
use super::{HostInfo, RunDirError};
use crate::figure::Figure;
use crate::{Capacity, Cost, Failure, Incident, Intensity, Outcome, Picks, Plan, Summary, TrialKind};

/// Parts of a stored run, with the findings as they are stored in the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct RunSummary {
    /// Name and version of the format.
    pub format: String,
    /// Version of the program that wrote the file.
    pub version: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// Label of the run.
    pub label: Option<String>,
    /// Plan of the run.
    pub plan: Plan,
    /// Hosts that took part.
    #[serde(deserialize_with = "crate::bounded::list::<MAX_RUN_HOSTS, _, _>")]
    pub hosts: Vec<HostInfo>,
    /// Trials in the order in which they ran.
    #[serde(deserialize_with = "crate::bounded::list::<MAX_TRIALS, _, _>")]
    pub trials: Vec<TrialSummary>,
    /// Stored conclusions of the run.
    pub findings: FindingsSummary,
    /// True if the run ended early.
    pub interrupted: bool,
}

/// Parts of a stored trial.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct TrialSummary {
    /// Purpose of the trial.
    pub kind: TrialKind,
    /// Load that loadline intended to make in the trial.
    pub intensity: Intensity,
    /// Responses per second that had an expected status and met the limit on the response time, if there is a limit.
    #[serde(with = "Figure")]
    pub goodput: f64,
    /// Response times of the trial.
    pub latency_us: Summary,
    /// Server side; absent if its counters could not be read.
    pub server: Option<ServerSummary>,
    /// Incidents of the server and the generators.
    pub incidents: Vec<Incident>,
}

/// Parts of the server side of a stored trial.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ServerSummary {
    /// Costs per request.
    pub costs: CostSummary,
}

/// The costs of a trial that a history shows.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CostSummary {
    /// CPU time of the server's processes per request, microseconds.
    pub process_cpu_us: Option<Cost>,
}

/// Parts of the stored conclusions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct FindingsSummary {
    /// Indexes of the trials that play a special role in the findings, such as the trial at capacity.
    pub picks: Picks,
    /// Result of each trial, in the order of `trials`.
    #[serde(deserialize_with = "crate::bounded::list::<MAX_TRIALS, _, _>")]
    pub outcomes: Vec<Outcome>,
    /// Highest completed rate at which the server meets the objective.
    pub capacity: Option<Capacity>,
    /// Reason for a failed run.
    pub failure: Option<Failure>,
}

impl TrialSummary {
    /// Returns true if an incident made the trial's figures useless.
    pub fn is_broken(&self) -> bool {
        self.incidents.iter().any(|incident| incident.kind.invalidates_trial())
    }
}

/// Reads the parts of a stored run that a history needs.
pub fn load_summary(file: &Path) -> Result<RunSummary, RunDirError> {
    let name = file.display().to_string();
    let text = read_text(file, MAX_RUN_BYTES, "make it readable, or remove it")?;
    check_weight(&name, &text)?;
    let read = serde_json::from_str::<RunSummary>(&text);
    let mut run = read.map_err(|e| unreadable(&name, &text, &e))?;
    check_format(&name, &run.format)?;
    run.plan.redact_secrets(&[]);
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_run;
    use crate::rundir::FORMAT;

    fn fixture(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
    }

    #[test]
    fn a_summary_has_the_figures_of_the_whole_run() {
        for name in ["find.json", "users.json", "open-loop-repeats.json"] {
            let (summary, run) = (load_summary(&fixture(name)).unwrap(), load_run(&fixture(name)).unwrap());
            assert_eq!(
                (&summary.plan, &summary.started, summary.label, summary.trials.len()),
                (&run.plan, &run.started, None, run.trials.len())
            );
            assert_eq!(summary.findings.capacity, run.findings.capacity);
            assert_eq!(summary.findings.outcomes, run.findings.outcomes);
            for (short, trial) in summary.trials.iter().zip(&run.trials) {
                assert_eq!(
                    (short.kind, &short.intensity, short.latency_us),
                    (trial.kind, &trial.intensity, trial.latency_us)
                );
                assert_eq!(short.goodput.to_bits(), trial.rates.goodput.to_bits());
                let cost = short.server.as_ref().and_then(|server| server.costs.process_cpu_us.as_ref());
                assert_eq!(cost, trial.server.as_ref().and_then(|server| server.costs.get("process_cpu_us")));
            }
        }
    }

    #[test]
    fn other_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("run.json");
        for (text, words) in [
            ("", "is not a run"),
            ("[1]", "is not a run"),
            ("{}", "is not a run"),
            (r#"{"format":"loadline-run/9"}"#, "loadline-run/9"),
            (r#"{"format":"loadline-run/1","trials":[{"#, "is not a complete run"),
            (r#"{"format":"loadline-run/1","trials":7}"#, "is not a complete run"),
        ] {
            std::fs::write(&file, text).unwrap();
            let error = load_summary(&file).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        std::fs::write(
            &file,
            format!(r#"{{"format":"{FORMAT}","trials":[{}]}}"#, vec!["{}"; MAX_TRIALS + 1].join(",")),
        )
        .unwrap();
        assert!(load_summary(&file).unwrap_err().to_string().contains("more than 10000"));
    }
}
