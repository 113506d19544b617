//! Errors that prevent a run from starting or continuing. Each message says what loadline tried, what happened and what
//! the user can do.

/// Error of the conductor.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The target cannot be used as it is written.
    #[error("{target:?} is not a usable target: {why}")]
    Target {
        /// Target as the user wrote it.
        target: String,
        /// Reason for the failure, and its remedy.
        why: String,
    },
    /// The test request, sent before any load, showed that the target cannot be measured.
    #[error("test request to {target} failed: {why}")]
    Preflight {
        /// Target as the user wrote it.
        target: String,
        /// Reason for the failure, and its remedy.
        why: String,
    },
    /// The user ended the run before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// The server sent answers without requests during the load, so its throughput and latency are unknown.
    #[error("measuring {target} failed: {why}")]
    Unasked {
        /// Target as the user wrote it.
        target: String,
        /// Data that came without a request, and the remedy.
        why: String,
    },
    /// An agent did not start, or failed.
    #[error("the agent {name:?} failed: {why}")]
    Agent {
        /// Name of the agent.
        name: String,
        /// Reason for the failure, and its remedy.
        why: String,
    },
    /// An agent was not ready in time.
    #[error("the agent {name:?} failed: {why}")]
    Late {
        /// Name of the agent.
        name: String,
        /// Time that the agent was given to become ready, and the probable cause of the delay.
        why: String,
    },
    /// The user's command did not start a server.
    #[error("{command:?} {why}")]
    CommandServer {
        /// The command, without secrets.
        command: String,
        /// Events that led to the error, and the server's last output.
        why: String,
    },
    /// An agent was killed before it was ready. The agent's task did not cause the agent's end.
    #[error("the agent {name:?} ended before it was ready: {why}")]
    Killed {
        /// Name of the agent.
        name: String,
        /// Signal that killed the agent.
        why: String,
    },
    /// Every generator process of a load test was lost.
    #[error("every generator of the trial {label:?} was lost: {why}")]
    Lost {
        /// Label of the load test.
        label: String,
        /// Reason why the generator processes ended.
        why: String,
    },
    /// A value of the plan is out of range.
    #[error(transparent)]
    Plan(#[from] run::PlanError),
    /// The run directory could not be written.
    #[error(transparent)]
    RunDir(#[from] run::RunDirError),
    /// The hosts of a testbed (network namespaces on this machine) could not be created.
    #[error(transparent)]
    Testbed(#[from] testbed::TestbedError),
    /// The user gave an unknown name.
    #[error("no {what} is called {name:?}{near}; `loadline list` shows all")]
    Name {
        /// Kind of object that the user tried to name, such as a table or an experiment.
        what: &'static str,
        /// Name that the user gave.
        name: String,
        /// Suggestion (`; did you mean …?`); empty if no known name is similar.
        near: String,
    },
    /// A step of an experiment's set-up failed.
    #[error("{what}: {why}")]
    SetUp {
        /// Step that failed.
        what: String,
        /// Reason for the failure, and its remedy.
        why: String,
    },
}

impl LabError {
    /// Returns true if generators were lost or could not start. The results of earlier load tests remain valid.
    pub(crate) const fn is_of_generators(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Agent { .. } | Self::Late { .. } | Self::SetUp { .. })
    }

    /// Returns the error for an unknown name, with the most similar known name as a suggestion.
    pub fn name<'a>(what: &'static str, name: &str, right: impl IntoIterator<Item = &'a str>) -> Self {
        let near = run::nearest(name, right).map_or(String::new(), |n| format!("; did you mean {n:?}?"));
        Self::Name { what, name: name.into(), near }
    }

    /// Returns the error for a failed set-up step.
    pub fn set_up(what: impl Into<String>, why: impl std::fmt::Display) -> Self {
        Self::SetUp { what: what.into(), why: why.to_string() }
    }
}
