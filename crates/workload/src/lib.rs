//! Scripted workloads: threads that pause, read and write records of a file, and use the CPU. The workloads copy those
//! of Response Probe, a program that R. Blake describes in *Optimizing Windows NT* (1993). Each process of a workload
//! is a real process with its own name.
//!
//! A cycle of a thread is a pause, followed by a number of file accesses. The thread uses the CPU after each access.
//! Each thread measures its cycles that begin in the second half of the trial. Once the trial's time is over, the first
//! thread that finishes a cycle stops all threads.

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

/// Error of a workload.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A script or workload file has an error.
    #[error("{file}{}: {message}", line.map_or(String::new(), |n| format!(" line {n}")))]
    Script {
        /// Name of the file.
        file: String,
        /// Line number, counted from 1; `None` if unknown.
        line: Option<usize>,
        /// Error message, which also names the valid values.
        message: String,
    },
    /// A file or a record server cannot be used.
    #[error("cannot {what} {path}: {message}; {advice}")]
    Access {
        /// Description of the action that failed.
        what: &'static str,
        /// Path of the file, or URL of the server.
        path: String,
        /// Error message of the system or of the server.
        message: String,
        /// Advice to the user.
        advice: &'static str,
    },
    /// A process of the workload failed.
    #[error("process {name} of the workload: {message}")]
    Member {
        /// Name of the process.
        name: String,
        /// Error message of the process.
        message: String,
    },
}

/// Result type of this crate.
pub type Result<T, E = WorkloadError> = std::result::Result<T, E>;

pub(crate) fn access(what: &'static str, path: &str, advice: &'static str) -> impl Fn(std::io::Error) -> WorkloadError {
    let path = path.to_string();
    move |e| WorkloadError::Access { what, path: path.clone(), message: e.to_string(), advice }
}
