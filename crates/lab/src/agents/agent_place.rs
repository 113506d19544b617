//! Host and CPUs on which a waiting generator can take another task.

use run::AgentSpec;

use crate::Host;

/// Host and CPUs of a generator. The generator runs only on these CPUs and cannot switch to others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AgentPlace {
    place: String,
    cpus: Vec<u32>,
}

impl AgentPlace {
    /// Returns host and CPUs of a load agent; `None` for other agents, which take only one task.
    pub(super) fn of_load(host: &dyn Host, spec: &AgentSpec) -> Option<Self> {
        let AgentSpec::Load { plan, .. } = spec else { return None };
        Some(Self { place: host.place(), cpus: plan.cpus.clone() })
    }
}
