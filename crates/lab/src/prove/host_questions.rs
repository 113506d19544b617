//! Questions to the hosts of levers before these are pulled. Agents on the hosts answer them, because only the host
//! itself knows its processes, quotas and directories.

use run::{AgentSpec, LeverCheck, LeverPlan};

use crate::agents::ask_within;
use crate::levers::Lever;
use crate::{Lab, TargetSetup};

/// Asks the host of a lever whether it can be pulled there; the error says why not.
pub(super) fn check(lab: &Lab<'_>, setup: &TargetSetup, row: &Lever, plan: &LeverPlan) -> Result<LeverCheck, String> {
    let mut found = LeverCheck::default();
    for host in setup.hosts_of(row.place) {
        let question = (row.id, &AgentSpec::CheckLever(plan.clone()));
        found = ask_within(host, lab.program(), question, lab.left_s())?.found.unwrap_or_default();
    }
    Ok(found)
}
