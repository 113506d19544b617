//! Errors in a plan.

/// Error in a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The TOML text is not a valid plan.
    #[error("{file}: {message}")]
    Toml {
        /// Plan file that was read.
        file: String,
        /// Description of the error, its position, and the nearest valid key.
        message: String,
    },
    /// A value of a plan file is out of its range.
    #[error("{file}: {what} is {value}: {advice}")]
    InFile {
        /// Plan file that was read.
        file: String,
        /// Path of the value in the plan.
        what: &'static str,
        /// Value that is out of range, as text.
        value: String,
        /// Advice to the user that states the allowed values.
        advice: &'static str,
    },
    /// A value is out of its range. loadline checks a plan file's values when it reads the file, so this value comes
    /// from a flag.
    #[error("{} is {value}{}: {advice}", flag(what).0, flag(what).1)]
    Range {
        /// Path of the value in the plan.
        what: &'static str,
        /// Value that is out of range, as text.
        value: String,
        /// Advice to the user that states the allowed values.
        advice: &'static str,
    },
}

/// Values of the plan that a flag sets; each row has the path of the value in the plan, the flag, and the value's unit.
const FLAGS: &[(&str, &str, &str)] = &[
    ("load.threads", "--threads", ""),
    ("load.duration_s", "--duration", " s"),
    ("load.timeout_s", "--timeout", " s"),
    ("load.connect_rate", "--connect-rate", ""),
    ("load.two_process", "--two-process", ""),
    ("load.tls.resume", "--resume", ""),
    ("load.tls.early_data", "--early-data", ""),
    ("load.protocol.expect_status", "--expect-status", ""),
    ("load.protocol.deadline_s", "--deadline", " s"),
    ("load.blocks", "--block", ""),
    ("load.blocks.block", "--block", ""),
    ("load.blocks.block_rate_bytes_per_s", "--block-rate", ""),
    ("load.stages", "--rate", ""),
    ("a stage of load.stages", "a stage of --rate", ""),
    ("load.intensity.pipeline", "--pipeline", ""),
    ("load.requests.recorded.speed", "--speed", ""),
    ("load.requests.order", "--order", ""),
    ("load.stream", "--stream", ""),
    ("load.stream.stall_s", "--stall", " s"),
    ("connections", "--connections", ""),
    ("max_connections", "--max-connections", ""),
    ("rate", "--rate", ""),
    ("pipeline", "--pipeline", ""),
    ("descriptors", "--s-clients", ""),
    ("connect_timeout_ms", "--connect-timeout", " ms"),
    ("think.mean_ms", "--think", " ms"),
    ("objective.errors", "--errors", ""),
    ("objective.p50_us", "--p50", " µs"),
    ("objective.p99_us", "--p99", " µs"),
    ("objective.p99_9_us", "--p99.9", " µs"),
    ("objective.mean_us", "--mean", " µs"),
    ("objective.first_byte", "--first-byte", " µs"),
    ("objective.first_event", "--first-event", " µs"),
    ("objective.gap", "--gap", " µs"),
    ("search.max_connections", "--connections", ""),
    ("search.users", "--users", ""),
    ("search.precision", "--precision", ""),
    ("search.budget_s", "--budget", " s"),
    ("repeats", "--repeat", ""),
    ("cold.rate", "--cold-rate", ""),
    ("cold.trickle_ms", "--cold-trickle", " ms"),
    ("observe.behind", "--behind", ""),
    ("observe.interval_s", "--interval", " s"),
    ("hosts", "--client-hosts", ""),
    ("hosts.name", "--client-hosts or --server-host", ""),
    ("hosts.agents", "--agents-per-host", ""),
];

/// Returns the flag and the unit of a value. If no flag sets the value, returns its path in the plan and no unit.
fn flag(path: &&'static str) -> (&'static str, &'static str) {
    FLAGS.iter().find(|row| row.0 == *path).map_or((*path, ""), |row| (row.1, row.2))
}

impl PlanError {
    /// Converts an error about a flag into an error about a value in the plan file `file`. An error that is not about a
    /// flag is returned unchanged.
    pub(crate) fn in_file(self, file: &str) -> Self {
        match self {
            Self::Range { what, value, advice } => Self::InFile { file: file.into(), what, value, advice },
            other => other,
        }
    }
}

/// Returns the error for a value out of its range if `fits` is false.
pub(crate) fn range(fits: bool, what: &'static str, value: f64, advice: &'static str) -> Result<(), PlanError> {
    if fits { Ok(()) } else { out_of_range(what, value.to_string(), advice) }
}

/// Returns the error for a value that is out of range.
pub(crate) fn out_of_range<T>(what: &'static str, value: String, advice: &'static str) -> Result<T, PlanError> {
    Err(PlanError::Range { what, value, advice })
}
