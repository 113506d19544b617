//! Questions to the hosts of levers, before and after these are pulled. Agents on the hosts answer them, because only
//! the host itself knows its processes, quotas and directories.

use std::path::Path;
use std::time::Duration;

use run::{AgentSpec, LeverCheck, LeverPlan};

use crate::agents::{AgentGroup, Ready};
use crate::levers::{self, Lever, LeverHost};
use crate::{Host, Lab, LabError, TargetSetup};

/// Maximum wait for an answer, including the connection to the host.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// Asks the host of a lever whether it can be pulled there; the error says why not.
pub(super) fn check(setup: &TargetSetup, program: &Path, row: &Lever, plan: &LeverPlan) -> Result<LeverCheck, String> {
    let mut found = LeverCheck::default();
    for host in setup.hosts_of(row.place) {
        found = ask(host, program, row.id, &AgentSpec::CheckLever(plan.clone()))?.found.unwrap_or_default();
    }
    Ok(found)
}

/// Undoes changes left by killed agents of earlier experiments, here and on the server's host, and notes them.
pub(super) fn put_back(lab: &mut Lab<'_>, setup: &TargetSetup) {
    let mut told = Vec::new();
    for host in setup.hosts_of(LeverHost::Server).into_iter().filter(|host| host.is_remote()) {
        match ask(host, lab.program(), "undo", &AgentSpec::RestoreLevers) {
            Ok(ready) => told.extend(ready.notes.iter().map(|note| format!("on {}, {note}", host.name()))),
            Err(why) => told.push(format!("changes left by a killed experiment were not looked for: {why}")),
        }
    }
    told.extend(levers::put_back());
    told.into_iter().for_each(|sentence| lab.note(sentence));
}

/// Asks one question through a temporary agent.
fn ask(host: &dyn Host, program: &Path, name: &str, spec: &AgentSpec) -> Result<Ready, String> {
    let mut group = AgentGroup::default();
    let answers = group.start(host, program, name, spec).and_then(|_| group.await_ready(ANSWER_TIMEOUT));
    let why = match answers {
        Ok(ready) => return Ok(ready.into_iter().next().unwrap_or_default()),
        Err(LabError::Agent { why, .. }) => why,
        Err(error) => error.to_string(),
    };
    Err(if host.is_remote() { format!("on {}, {why}", host.name()) } else { why })
}
