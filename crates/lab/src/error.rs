//! Why a run could not begin or go on. Each sentence says what was tried, what happened, what to do.

/// An error of the conductor.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The target cannot be used as written.
    #[error("{target:?} cannot be used as a target: {why}")]
    Target {
        /// As the user wrote it.
        target: String,
        /// What is wrong and what to do.
        why: String,
    },
    /// The first request, sent before any load, showed that the target cannot be measured.
    #[error("one request to {target} before any load: {why}")]
    Preflight {
        /// The target.
        target: String,
        /// What happened and what to do.
        why: String,
    },
    /// An agent did not start or gave up.
    #[error("the {name} agent cannot work: {why}")]
    Agent {
        /// Which agent.
        name: String,
        /// What happened and what to do.
        why: String,
    },
    /// An agent was killed before it was ready: no fault of its task.
    #[error("the {name} agent ended before it was ready: {why}")]
    Killed {
        /// Which agent.
        name: String,
        /// By what.
        why: String,
    },
    /// All load agents of a trial were lost.
    #[error("every generator of the trial {label:?} was lost: {why}")]
    Lost {
        /// Which trial.
        label: String,
        /// How they ended.
        why: String,
    },
    /// A value is out of range.
    #[error(transparent)]
    Plan(#[from] run::PlanError),
    /// The run could not be kept.
    #[error(transparent)]
    RunDir(#[from] run::RunDirError),
    /// The test hosts could not be made.
    #[error(transparent)]
    Testbed(#[from] testbed::TestbedError),
    /// Something was asked for by a name that is not there.
    #[error("there is no {what} {name:?}{near}; `loadline list` shows all")]
    Name {
        /// Kind of thing.
        what: &'static str,
        /// The name.
        name: String,
        /// `; did you mean …?` or nothing.
        near: String,
    },
    /// Set-up of an experiment failed.
    #[error("{what}: {why}")]
    SetUp {
        /// What was tried.
        what: String,
        /// What happened and what to do.
        why: String,
    },
}

impl LabError {
    /// A wrong name, with the nearest right one.
    pub fn name<'a>(what: &'static str, name: &str, right: impl IntoIterator<Item = &'a str>) -> Self {
        let near = run::nearest(name, right).map_or(String::new(), |n| format!("; did you mean {n:?}?"));
        Self::Name { what, name: name.into(), near }
    }

    /// A failed step of a set-up.
    pub fn set_up(what: impl Into<String>, why: impl std::fmt::Display) -> Self {
        Self::SetUp { what: what.into(), why: why.to_string() }
    }
}
