//! The run and the directory that keeps it: `run.json`, `report.html`, histogram logs. Rewritten after every trial, so
//! an interrupt loses nothing.

pub(crate) mod read;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{Findings, Plan, Side, Trial};

/// Name and version of the format of `run.json`.
pub const FORMAT: &str = "loadline-run/1";

/// One run: the plan, every trial, and what was concluded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Run {
    /// [`FORMAT`].
    pub format: String,
    /// Version of the program that wrote it.
    pub version: String,
    /// The command line as it was typed.
    pub command: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How long it took so far, seconds.
    #[serde(with = "Figure")]
    pub elapsed_s: f64,
    /// What was asked for.
    pub plan: Plan,
    /// The hosts that took part.
    pub hosts: Vec<HostInfo>,
    /// What joins client and server, where both are hosts of one testbed of `loadline testbed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<MediumInfo>,
    /// The counters before any load, by side: `client`, `server`.
    pub at_rest: Vec<Side>,
    /// The operating points, in the order they were tried.
    #[serde(with = "crate::trial::axes")]
    #[cfg_attr(test, schemars(with = "Vec<crate::trial::axes::Written<'static>>"))]
    pub trials: Vec<Trial>,
    /// What was concluded; refilled by newer code when an old run is read.
    pub findings: Findings,
    /// What the user should know.
    pub notes: Vec<Note>,
    /// The run was ended early; what was measured is all here.
    pub interrupted: bool,
}

impl Run {
    /// Whether any trial asked a server for anything: those that only time a library do not.
    pub fn asked(&self) -> bool {
        self.trials.iter().any(|t| t.tally.attempted > 0 || t.tally.sent > 0)
    }

    /// Whether it only watched what somebody else loaded: requests and response times are not known.
    pub fn only_watched(&self) -> bool {
        !self.trials.is_empty() && self.trials.iter().all(|t| t.kind == crate::TrialKind::Watched)
    }

    /// The end or stop of a server or generator that ended the run, or of the only one who watched, and the trial that it happened in.
    pub fn died(&self) -> Option<(&Trial, &crate::Incident)> {
        self.trials.iter().find_map(|t| Some((t, t.incidents.iter().find(|i| t.kind.ends_with(i.kind))?)))
    }

    /// The trial at one of the places that [`crate::Picks`] names.
    pub fn picked(&self, place: impl Fn(&crate::Picks) -> Option<usize>) -> Option<&Trial> {
        self.trials.get(place(&self.findings.picks)?)
    }

    /// The trials of each repeat, in order; all together where nothing was repeated.
    pub fn repeats(&self) -> impl Iterator<Item = &[Trial]> {
        self.trials.chunk_by(|a, b| a.repeat == b.repeat)
    }

    /// The trials of the repeat that goes on.
    pub fn last_repeat(&self) -> &[Trial] {
        self.repeats().last().unwrap_or_default()
    }

    /// The trials, each with what it came to; nothing is known of a run that was not judged.
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
    /// Its name in this run.
    pub name: String,
    /// `client`, `server`, or `client and server`.
    pub role: String,
    /// Kernel release.
    pub kernel: String,
    /// Processors that are online.
    pub cpus: u32,
    /// Their model name.
    pub cpu_model: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Facts that bear on the results: sysctls, clock source, virtualisation.
    pub facts: std::collections::BTreeMap<String, String>,
}

/// The medium of a named testbed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MediumInfo {
    /// The testbed's name.
    pub testbed: String,
    /// The client's host there, and the server's.
    pub hosts: [String; 2],
    /// What was asked for, as in `loadline list media`.
    pub medium: String,
    /// What it is made of, in one sentence.
    pub made_of: String,
    /// Whether it is one wire for all hosts and both ways (half duplex).
    pub shared_wire: bool,
}

/// Something to know, with what to do about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Note {
    /// The sentence.
    pub text: String,
}

/// Why a run could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    /// A file operation failed.
    #[error("cannot {what} {path}: {source}; {advice}")]
    Io {
        /// The operation.
        what: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
        /// What to do.
        advice: &'static str,
    },
    /// A file of a run could not be written; nothing of it is left.
    #[error(
        "cannot write {path}: {source}; it needs {bytes} bytes: make room for them, or name another directory with --out"
    )]
    Write {
        /// The file.
        path: String,
        /// How long it is.
        bytes: usize,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is more in it than is read.
    #[error("{path} has {found}, at most {most} are read; split the run, or sample less often (--interval)")]
    TooLarge {
        /// The file.
        path: String,
        /// How much it has, with the unit.
        found: String,
        /// How much is read.
        most: u64,
    },
    /// The file is not a run.
    #[error("{path} is not a run of loadline: {message}")]
    Parse {
        /// The file.
        path: String,
        /// What does not fit.
        message: String,
    },
    /// The file is of a format that this version cannot read.
    #[error(
        "{path} has format {found:?}, this version reads {FORMAT:?}; use the loadline that wrote it, or a newer one"
    )]
    Format {
        /// The file.
        path: String,
        /// What it says.
        found: String,
    },
}

/// The directory of one run.
#[derive(Clone, Debug)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Makes the directory and checks that it can be written, before any load is sent.
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `run.json`; a reader sees the old or the new one, never a part.
    pub fn save(&self, run: &Run) -> Result<(), RunDirError> {
        let text = serde_json::to_string(run)
            .map_err(|e| RunDirError::Parse { path: "run.json".into(), message: e.to_string() })?;
        self.put("run.json", text.as_bytes())
    }

    /// Writes any file of the run in the same safe way.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), RunDirError> {
        let (target, temporary) = (self.path.join(name), self.path.join(format!(".{name}.new")));
        let write = || {
            let mut file = fs::File::create(&temporary)?;
            file.write_all(bytes)?;
            file.sync_data()?;
            fs::rename(&temporary, &target)
        };
        write().map_err(|source| {
            // Should removing fail as well, the message about writing says more.
            let _ = fs::remove_file(&temporary);
            RunDirError::Write { path: target.display().to_string(), bytes: bytes.len(), source }
        })
    }
}
