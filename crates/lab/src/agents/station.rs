//! Where a generator can go on with another task.

use run::AgentSpec;

use crate::Host;

/// Where a generator runs: its host, and the CPUs that it confined itself to, which it does not leave again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Station {
    place: String,
    cpus: Vec<u32>,
}

impl Station {
    /// Of the agents that wait for another task behind theirs: those that make load.
    pub(super) fn of(host: &dyn Host, spec: &AgentSpec) -> Option<Self> {
        let AgentSpec::Load { plan, .. } = spec else { return None };
        Some(Self { place: host.place(), cpus: plan.cpus.clone() })
    }
}
