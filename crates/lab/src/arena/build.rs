//! Builds a server with a shell command. The command runs as the child of an agent, so that all its processes end when
//! this program ends.

use std::path::Path;
use std::time::{Duration, Instant};

use run::{AgentReport, AgentSpec, visible};

use crate::agents::{AgentEvent, AgentGroup};
use crate::servers::quoted;
use crate::{LabError, Local, own_program};

/// Maximum time of a build.
const BUILD_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Maximum time to wait until the agent of a build is ready.
const READY_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum time for the agent to end all processes of a build.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval between checks of a build.
const INTERVAL: Duration = Duration::from_millis(50);

/// Builds a server by running a shell command. The shell creates the file `mark` after the command has succeeded. If
/// the build fails, the error contains the last output of the build.
pub(super) fn build(command: &str, mark: &Path, stop: &dyn Fn() -> bool) -> Result<(), String> {
    let _ = std::fs::remove_file(mark);
    let built = await_mark(command, mark, stop);
    let _ = std::fs::remove_file(mark);
    built.map_err(|why| visible(&run::hide_tokens_of_command(&why)).into_owned())
}

fn await_mark(command: &str, mark: &Path, stop: &dyn Fn() -> bool) -> Result<(), String> {
    let shell = format!("exec 1>&2; ( {command}\n) && : >{}", quoted(&mark.display().to_string()));
    let spec = AgentSpec::Command { shell, guarded: false, cpus: Vec::new() };
    let mut agent = AgentGroup::default();
    let said = |error: LabError| error.to_string();
    agent.start(&Local::default(), &own_program().map_err(said)?, "build", &spec).map_err(said)?;
    agent.await_ready(READY_TIMEOUT).map_err(said)?;
    let deadline = Instant::now() + BUILD_TIMEOUT;
    let ended = loop {
        let heard = agent.hear(Instant::now() + INTERVAL).map(|(_, event)| event);
        match heard {
            Some(AgentEvent::Report(AgentReport::Failed { error }) | AgentEvent::Gone(error)) => break error,
            // A build may leave processes running. All processes of a build end with its agent.
            _ if mark.exists() => break String::new(),
            _ if stop() => break "interrupted".into(),
            _ if Instant::now() > deadline => {
                break format!("it took longer than {} min", BUILD_TIMEOUT.as_secs() / 60);
            }
            _ => {}
        }
    };
    agent.stop(END_TIMEOUT);
    if mark.exists() { Ok(()) } else { Err(format!("its build failed: {ended}")) }
}
