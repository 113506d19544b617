//! Questions to hosts before an experiment changes something there. An agent on each host answers, because only the
//! host itself has access to its processes, quotas and directories. A lever is a temporary change that an experiment
//! makes, such as slowing a CPU.

use run::{AgentSpec, LeverCheck, LeverPlan};

use crate::agents::ask_within;
use crate::levers::Lever;
use crate::{Lab, TargetSetup};

/// Asks the hosts of a lever whether the lever can be used there. The error gives the reason why the lever cannot be
/// used.
pub(super) fn check(lab: &Lab<'_>, setup: &TargetSetup, row: &Lever, plan: &LeverPlan) -> Result<LeverCheck, String> {
    let mut found = LeverCheck::default();
    for host in setup.hosts_of(row.place) {
        let question = (row.id, &AgentSpec::CheckLever(plan.clone()));
        found = ask_within(host, lab.program(), question, lab.left_s())?.found.unwrap_or_default();
    }
    Ok(found)
}
