//! A question to a host, which a temporary agent on that host answers.

use std::path::Path;
use std::time::Duration;

use run::AgentSpec;

use super::group::{AgentGroup, Ready};
use crate::{Host, LabError};

/// Maximum time to wait for an answer, including the time to connect to the host.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// Starts an agent that answers one question on a host. The error gives the reason why there is no answer.
pub(crate) fn ask(host: &dyn Host, program: &Path, name: &str, spec: &AgentSpec) -> Result<Ready, String> {
    ask_patiently(host, program, (name, spec), Duration::ZERO)
}

/// Minimum time to wait for an answer, even if less time of the run's budget remains.
const MIN_ANSWER_TIME: Duration = Duration::from_millis(500);

/// Starts an agent on a host, which answers one question within the time that remains of the run's budget: `left_s`
/// seconds, which may be infinite. The time limit is at least [`MIN_ANSWER_TIME`] and at most [`ANSWER_TIMEOUT`].
pub(crate) fn ask_within(
    host: &dyn Host,
    program: &Path,
    (name, spec): (&str, &AgentSpec),
    left_s: f64,
) -> Result<Ready, String> {
    let left = Duration::try_from_secs_f64(left_s).unwrap_or(ANSWER_TIMEOUT).clamp(MIN_ANSWER_TIME, ANSWER_TIMEOUT);
    answered(host, program, (name, spec), left)
}

/// Starts an agent on a host, which answers one question. The time limit for the answer is `answer_time` longer than
/// [`ANSWER_TIMEOUT`].
pub(crate) fn ask_patiently(
    host: &dyn Host,
    program: &Path,
    (name, spec): (&str, &AgentSpec),
    answer_time: Duration,
) -> Result<Ready, String> {
    answered(host, program, (name, spec), ANSWER_TIMEOUT + answer_time)
}

fn answered(
    host: &dyn Host,
    program: &Path,
    (name, spec): (&str, &AgentSpec),
    patience: Duration,
) -> Result<Ready, String> {
    let mut group = AgentGroup::default();
    let answers = group.start(host, program, name, spec).and_then(|_| group.await_ready(patience));
    let why = match answers {
        Ok(ready) => return Ok(ready.into_iter().next().unwrap_or_default()),
        Err(LabError::Agent { why, .. } | LabError::Late { why, .. }) => why,
        Err(error) => error.to_string(),
    };
    Err(if host.is_remote() { format!("on {}, {why}", host.name()) } else { why })
}
