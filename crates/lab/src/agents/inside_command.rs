//! A server that was started by a user's shell command. The server runs as a child of an agent, so that the server ends
//! when the conductor ends, even if the conductor is killed. The agent becomes the parent of server processes that run
//! in the background.
//!
//! There are two agents: an outer agent, and an inner agent that is its child. If the parent of a server process is
//! killed, the outer agent becomes the parent of the server process. The inner agent notices the end of the outer
//! agent, because the standard input of the inner agent ends. If one agent is killed, even together with the conductor,
//! the other agent ends all processes of the server.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use run::{AgentCommand, AgentReport, AgentSpec};

use super::ending::{END_TIMEOUT, end_all};
use super::group::{AgentEvent, AgentGroup};
use super::heartbeat::start_thread;
use super::left_servers;
use super::report_line::send_report;
use crate::{LabError, Local};

/// Interval between checks of the server's processes.
const INTERVAL: Duration = Duration::from_millis(20);
/// Maximum time to wait until the inner agent has started the command.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time to wait for the inner agent's answer to a request for counters, which contains the server's last
/// output.
const COUNT_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum number of bytes of the server's last output that an error shows.
const MAX_OUTPUT_BYTES: usize = 400;

/// Starts the inner agent, which runs the command, and waits until the command ends or is stopped. Calls `ready` once
/// the command has started.
pub(super) fn guard(shell: &str, commands: &Receiver<AgentCommand>, ready: &dyn Fn()) -> Result<(), String> {
    sys::orphans::adopt().map_err(|e| not_started(&e.into()))?;
    let mut inner = AgentGroup::default();
    let spec = AgentSpec::Command { shell: shell.into(), guarded: true, cpus: Vec::new() };
    let said = |error: LabError| match error {
        LabError::Agent { why, .. } => why,
        error => error.to_string(),
    };
    let program = std::env::current_exe().map_err(|e| not_started(&e))?;
    inner.start(&Local::default(), &program, "server", &spec).map_err(said)?;
    inner.await_ready(START_TIMEOUT).map_err(said)?;
    ready();
    let ended = pass_on(&mut inner, commands);
    inner.stop(2 * END_TIMEOUT);
    end_descendants();
    ended
}

/// Passes requests for counters to the inner agent, and passes its answers to the conductor. Returns when the agent is
/// told to stop, or with an error if the inner agent fails or ends.
fn pass_on(inner: &mut AgentGroup, commands: &Receiver<AgentCommand>) -> Result<(), String> {
    loop {
        match commands.try_recv() {
            Ok(AgentCommand::Count) => {
                let (counts, failures) = inner.counts(COUNT_TIMEOUT);
                send_report(&AgentReport::Counts { counts, failures });
            }
            Ok(AgentCommand::Stop) | Err(TryRecvError::Disconnected) => return Ok(()),
            Ok(_) | Err(TryRecvError::Empty) => {}
        }
        let heard = inner.hear(Instant::now() + INTERVAL).map(|(_, event)| event);
        if let Some(AgentEvent::Report(AgentReport::Failed { error }) | AgentEvent::Gone(error)) = heard {
            return Err(error);
        }
    }
}

fn not_started(error: &std::io::Error) -> String {
    format!("starting it: {error}")
}

/// Runs the command until it ends or is stopped. Calls `ready` once the command has started.
pub(super) fn run(shell: &str, commands: &Receiver<AgentCommand>, ready: &dyn Fn()) -> Result<(), String> {
    let failed = |e: std::io::Error| not_started(&e);
    sys::orphans::adopt().map_err(|e| failed(e.into()))?;
    let mut command = Command::new("sh");
    command.args(["-c", shell]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    left_servers::mark(&mut command);
    let mut child = sys::orphans::start_bound(&mut command).map_err(failed)?;
    let output = Arc::new(Mutex::new(Vec::new()));
    if let Some(stderr) = child.stderr.take() {
        let output = Arc::clone(&output);
        start_thread(move || keep_last(stderr, &output)).inspect_err(|_| end_descendants())?;
    }
    ready();
    let ended = await_end(child.id(), commands, &output);
    end_descendants();
    ended
}

/// Waits until the agent is told to stop the server. Returns an error if the server ends by itself.
fn await_end(first: u32, commands: &Receiver<AgentCommand>, output: &Mutex<Vec<u8>>) -> Result<(), String> {
    let mut status = None;
    loop {
        match commands.recv_timeout(INTERVAL) {
            Ok(AgentCommand::Count) => {
                let failures = Some(last_output(output)).filter(|output| !output.is_empty());
                let failures = failures.into_iter().collect();
                send_report(&AgentReport::Counts { counts: std::collections::BTreeMap::new(), failures });
            }
            Ok(AgentCommand::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
        status = sys::orphans::reap(first).or(status);
        // If the server runs in the background, it continues after its shell has ended.
        if let Some(status) = status.filter(|_| below().is_empty()) {
            let output = last_output(output);
            return Err(if output.is_empty() { status.to_string() } else { format!("{status}: {output}") });
        }
    }
}

/// Ends all descendants of this process.
fn end_descendants() {
    end_all(|| {
        sys::orphans::reap(0);
        below()
    });
}

fn below() -> Vec<u32> {
    probe::descendants_of(std::process::id())
}

fn last_output(output: &Mutex<Vec<u8>>) -> String {
    output.lock().map(|output| String::from_utf8_lossy(&output).trim().to_string()).unwrap_or_default()
}

/// Reads the output to its end, so that the writer never blocks, and keeps the last bytes.
fn keep_last(mut from: impl Read, output: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(n) = from.read(&mut buffer).map(|n| n.min(buffer.len())) {
        let Ok(mut output) = output.lock() else { return };
        if n == 0 {
            return;
        }
        output.extend_from_slice(&buffer[..n]);
        let excess = output.len().saturating_sub(MAX_OUTPUT_BYTES);
        output.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_output_is_kept() {
        let output = Mutex::new(Vec::new());
        keep_last(format!("{}end", "x".repeat(10_000)).as_bytes(), &output);
        let output = output.into_inner().unwrap();
        assert!(output.len() == MAX_OUTPUT_BYTES && output.ends_with(b"end"));
    }
}
