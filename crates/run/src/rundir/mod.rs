//! A run and its directory: `run.json`, `report.html`, histogram logs. loadline rewrites the files after every trial,
//! so an interrupt never loses a finished trial.

pub(crate) mod form;
pub(crate) mod read;
pub(crate) mod summary;

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{Findings, Plan, Side, Trial};

/// Name and version of the `run.json` format.
pub const FORMAT: &str = "loadline-run/1";

/// One run: the plan, every trial, and the conclusions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
pub struct Run {
    /// Format of the file, [`FORMAT`].
    pub format: String,
    /// Version of the program that wrote the file.
    pub version: String,
    /// The command line as typed.
    pub command: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// Label of the run, which names the run in a history: the label given by `--label`, or the git commit of the
    /// working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Duration of the run so far, seconds.
    #[serde(with = "Figure")]
    pub elapsed_s: f64,
    /// Plan of the run.
    pub plan: Plan,
    /// Hosts that took part.
    pub hosts: Vec<HostInfo>,
    /// Link between client and server, if both are hosts of one `loadline testbed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<MediumInfo>,
    /// Counters at rest (without load), by side: `client`, `server`.
    pub at_rest: Vec<Side>,
    /// Trials in the order in which they ran.
    #[serde(with = "crate::trial::axes")]
    #[cfg_attr(test, schemars(with = "Vec<crate::trial::axes::Written<'static>>"))]
    pub trials: Vec<Trial>,
    /// Conclusions of the run. When a newer version of loadline reads an old run, it computes the conclusions again.
    pub findings: Findings,
    /// Notes for the user.
    pub notes: Vec<Note>,
    /// True if the run ended before it was complete. An interrupted run contains all measurements made before its end.
    pub interrupted: bool,
}

impl Run {
    /// Returns true if any trial sent requests to a server. Trials that only measure the time of library calls send no
    /// requests.
    pub fn sent_requests(&self) -> bool {
        self.trials.iter().any(|t| t.tally.attempted > 0 || t.tally.sent > 0)
    }

    /// Returns true if the user chose all loads of the run. A run in which the user chose all loads has no search, so
    /// it shows no capacity.
    pub fn is_of_chosen_loads(&self) -> bool {
        let mut loads = self.trials.iter().filter(|t| !t.kind.is_auxiliary()).peekable();
        loads.peek().is_some() && loads.all(|t| t.kind == crate::TrialKind::Fixed)
    }

    /// Returns true if the run only watched external load, so requests and response times are unknown.
    pub fn only_watched(&self) -> bool {
        !self.trials.is_empty() && self.trials.iter().all(|t| t.kind == crate::TrialKind::Watched)
    }

    /// Returns the incident that ended the run, and the trial in which it happened. An incident ends a run if it makes
    /// the trial useless, for example because the server ended. If loadline only observed an external load, the
    /// incident may also be the loss of the observer.
    pub fn ended_by(&self) -> Option<(&Trial, &crate::Incident)> {
        self.trials.iter().find_map(|t| Some((t, t.incidents.iter().find(|i| t.kind.ends_with(i.kind))?)))
    }

    /// Returns true if the user ended the run early. Returns false if the run ended because of an incident.
    pub fn was_ended_by_user(&self) -> bool {
        self.interrupted && self.ended_by().is_none()
    }

    /// Returns the trial whose index `place` takes from [`crate::Picks`], such as the trial at capacity.
    pub fn picked(&self, place: impl Fn(&crate::Picks) -> Option<usize>) -> Option<&Trial> {
        self.trials.get(place(&self.findings.picks)?)
    }

    /// Returns the trials of each repeat, in order. If the load was not repeated, returns all trials as one group.
    pub fn repeats(&self) -> impl Iterator<Item = &[Trial]> {
        self.trials.chunk_by(|a, b| a.repeat == b.repeat)
    }

    /// Returns the trials of the last repeat.
    pub fn last_repeat(&self) -> &[Trial] {
        self.repeats().last().unwrap_or_default()
    }

    /// Returns each trial with its outcome, which says if the trial met the objective. If loadline did not judge the
    /// run, each trial has an empty outcome.
    pub fn outcomes(&self) -> impl Iterator<Item = (&Trial, crate::Outcome)> {
        let known = self.findings.outcomes.iter().copied().chain(std::iter::repeat(crate::Outcome::default()));
        self.trials.iter().zip(known)
    }
}

/// A machine or a namespace that took part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HostInfo {
    /// Name of the host in this run.
    pub name: String,
    /// Role of the host: `client`, `server`, or `client and server`.
    pub role: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Number of online CPUs.
    pub cpus: u32,
    /// Model of the CPU.
    pub cpu_model: String,
    /// Memory of the host, bytes.
    pub memory_bytes: u64,
    /// Facts about the host that affect the results: sysctls, clock source, virtualization.
    pub facts: std::collections::BTreeMap<String, String>,
}

/// Network link of a named testbed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MediumInfo {
    /// Name of the testbed.
    pub testbed: String,
    /// Hosts of the client and of the server in the testbed.
    pub hosts: [String; 2],
    /// Requested medium (kind of link), as in `loadline list media`.
    pub medium: String,
    /// Description of the link's implementation, in one sentence.
    pub made_of: String,
    /// True if all hosts share one wire in both directions (half duplex).
    pub shared_wire: bool,
}

/// A note for the user, with advice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Note {
    /// The note in one sentence.
    pub text: String,
    /// True if the reader must read the note before the figures.
    #[serde(skip_serializing_if = "crate::skip_empty::is_false")]
    pub is_warning: bool,
}

/// Error while storing or reading a run.
#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    /// A file operation failed.
    #[error("cannot {what} {path}: {source}; {advice}")]
    Io {
        /// Operation that failed.
        what: &'static str,
        /// File or directory that the failed operation used.
        path: String,
        /// Error that the system reported.
        source: std::io::Error,
        /// Advice to the user, who may be able to remove the cause.
        advice: &'static str,
    },
    /// A file of a run could not be written. loadline removed the partial file.
    #[error("cannot write {path}: {}; it needs {bytes} bytes: {}", reason(error), write_advice(error))]
    Write {
        /// File that could not be written.
        path: String,
        /// Length of the file that could not be written, bytes.
        bytes: usize,
        /// Error from the system, which the message explains.
        error: std::io::Error,
    },
    /// The file exceeds a limit on its size, or on the number of its trials, objects or other entries.
    #[error("{path} has {found}, at most {most} are read; {advice}")]
    TooLarge {
        /// Path of the file that is too large.
        path: String,
        /// Size of the file or number of its entries, with the unit.
        found: String,
        /// Maximum that `found` exceeds, with its unit.
        most: u64,
        /// Advice to the user.
        advice: &'static str,
    },
    /// The file is not a run of loadline.
    #[error("{path} is not a run of loadline; name a directory that loadline wrote with --out, or its run.json")]
    NotARun {
        /// Path of the file that loadline read.
        path: String,
    },
    /// The file is a damaged run.
    #[error("{path} is not a complete run of loadline: {message}")]
    Parse {
        /// File that could not be parsed.
        path: String,
        /// Description of the error.
        message: String,
    },
    /// The file has a format that this version cannot read.
    #[error(
        "{path} has format {found:?}, this version reads {FORMAT:?}; use the loadline that wrote it, or a newer one"
    )]
    Format {
        /// Path of the file, which has another format.
        path: String,
        /// Format of the file.
        found: String,
    },
}

impl RunDirError {
    /// Returns the reason why a file could not be written; the text has neither the name of the file nor advice.
    pub fn why_unwritten(&self) -> String {
        match self {
            Self::Write { error, .. } => reason(error),
            other => other.to_string(),
        }
    }
}

/// Describes in words a write error that a full resource caused, such as a full disk. If the write error has another
/// cause, returns the error text of the system.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::StorageFull => "the disk is full".into(),
        ErrorKind::QuotaExceeded => "your disk quota is used up".into(),
        ErrorKind::FileTooLarge => "it would exceed the limit of file sizes (ulimit -f)".into(),
        _ => error.to_string(),
    }
}

fn write_advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::FileTooLarge => "raise the limit with ulimit -f unlimited",
        _ => "make room for them, or name another directory with --out",
    }
}

/// The directory of one run.
#[derive(Clone, Debug)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Creates the directory and checks that it is writable.
    pub fn create(path: &Path) -> Result<Self, RunDirError> {
        let fail = |what, source| RunDirError::Io {
            what,
            path: path.display().to_string(),
            source,
            advice: "name a directory that you may write with --out",
        };
        fs::create_dir_all(path).map_err(|e| fail("create", e))?;
        let probe = path.join(".writable");
        fs::write(&probe, b"").map_err(|e| fail("write in", e))?;
        fs::remove_file(&probe).map_err(|e| fail("write in", e))?;
        Ok(Self { path: path.to_path_buf() })
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `run.json` atomically: a reader sees the whole old file or the whole new file.
    pub fn save(&self, run: &Run) -> Result<(), RunDirError> {
        let text = serde_json::to_string(run)
            .map_err(|e| RunDirError::Parse { path: "run.json".into(), message: e.to_string() })?;
        self.put("run.json", text.as_bytes())
    }

    /// Writes any file of the run atomically.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), RunDirError> {
        let (target, temporary) = (self.path.join(name), self.path.join(format!(".{name}.new")));
        let write = || {
            let mut file = fs::File::create(&temporary)?;
            file.write_all(bytes)?;
            file.sync_data()?;
            fs::rename(&temporary, &target)
        };
        write().map_err(|error| {
            // Ignores an error while removing the temporary file, because the write error says more.
            let _ = fs::remove_file(&temporary);
            RunDirError::Write { path: target.display().to_string(), bytes: bytes.len(), error }
        })
    }
}
