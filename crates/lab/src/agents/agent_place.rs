//! Host and CPUs of a generator process. A generator that has finished its task can take another task only on the same
//! host and CPUs.

use run::AgentSpec;

use crate::Host;

/// Host and CPUs of a generator process. A generator process cannot change to CPUs that are not in `cpus`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AgentPlace {
    place: String,
    cpus: Vec<u32>,
}

impl AgentPlace {
    /// Returns the host and CPUs of an agent that generates load. Returns `None` for an agent that generates no load
    /// and therefore takes only one task.
    pub(super) fn of_load(host: &dyn Host, spec: &AgentSpec) -> Option<Self> {
        let AgentSpec::Load { plan, .. } = spec else { return None };
        Some(Self { place: host.place(), cpus: plan.cpus.clone() })
    }
}
