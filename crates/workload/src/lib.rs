//! A workload from a script: threads that think, read and write records of a file, and compute, as Response Probe did
//! (source 0 and 3). Each process of the workload is a process of its own, visible under its name.
//!
//! A thread's cycle: think; then, as often as the cycle says, access the file and compute. Each thread records the cycles
//! that begin in the second half of the trial; the first one that ends a cycle after the trial's time ends all.

mod access;
mod burn;
mod cycle;
mod deviate;
mod members;
mod remote;
mod rows;
mod script;
mod spec;

pub use burn::Calibration;
pub use members::{child, run};
pub use rows::{Outcome, Row};
pub use script::read_script;
pub use spec::{Access, Mode, ProcessSpec, Spread, ThreadSpec, Workload};

/// What can go wrong with a workload.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A script or workload file does not fit.
    #[error("{file}{}: {message}", line.map_or(String::new(), |n| format!(" line {n}")))]
    Script {
        /// The file.
        file: String,
        /// The line, where there is one.
        line: Option<usize>,
        /// What does not fit, and what would.
        message: String,
    },
    /// A file or server cannot be used.
    #[error("cannot {what} {path}: {message}; {advice}")]
    Access {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: String,
        /// What the system or server said.
        message: String,
        /// What to do.
        advice: &'static str,
    },
    /// A process of the workload failed.
    #[error("process {name} of the workload: {message}")]
    Member {
        /// Its name.
        name: String,
        /// What it said.
        message: String,
    },
}

/// Result of this module.
pub type Result<T, E = WorkloadError> = std::result::Result<T, E>;

pub(crate) fn access(what: &'static str, path: &str, advice: &'static str) -> impl Fn(std::io::Error) -> WorkloadError {
    let path = path.to_string();
    move |e| WorkloadError::Access { what, path: path.clone(), message: e.to_string(), advice }
}
