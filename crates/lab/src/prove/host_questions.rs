//! Questions to the hosts of levers before these are pulled. Agents on the hosts answer them, because only the host
//! itself knows its processes, quotas and directories.

use std::path::Path;

use run::{AgentSpec, LeverCheck, LeverPlan};

use crate::TargetSetup;
use crate::agents::ask;
use crate::levers::Lever;

/// Asks the host of a lever whether it can be pulled there; the error says why not.
pub(super) fn check(setup: &TargetSetup, program: &Path, row: &Lever, plan: &LeverPlan) -> Result<LeverCheck, String> {
    let mut found = LeverCheck::default();
    for host in setup.hosts_of(row.place) {
        found = ask(host, program, row.id, &AgentSpec::CheckLever(plan.clone()))?.found.unwrap_or_default();
    }
    Ok(found)
}
