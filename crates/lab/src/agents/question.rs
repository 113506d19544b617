//! One question to a host, answered by a temporary agent there.

use std::path::Path;
use std::time::Duration;

use run::AgentSpec;

use super::group::{AgentGroup, Ready};
use crate::{Host, LabError};

/// Maximum wait for an answer, including the connection to the host.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// Asks one question; the error says why there is no answer.
pub(crate) fn ask(host: &dyn Host, program: &Path, name: &str, spec: &AgentSpec) -> Result<Ready, String> {
    ask_patiently(host, program, (name, spec), Duration::ZERO)
}

/// Asks one question whose answer itself takes up to `answer_time`.
pub(crate) fn ask_patiently(
    host: &dyn Host,
    program: &Path,
    (name, spec): (&str, &AgentSpec),
    answer_time: Duration,
) -> Result<Ready, String> {
    let mut group = AgentGroup::default();
    let answers = group.start(host, program, name, spec).and_then(|_| group.await_ready(ANSWER_TIMEOUT + answer_time));
    let why = match answers {
        Ok(ready) => return Ok(ready.into_iter().next().unwrap_or_default()),
        Err(LabError::Agent { why, .. }) => why,
        Err(error) => error.to_string(),
    };
    Err(if host.is_remote() { format!("on {}, {why}", host.name()) } else { why })
}
