//! A server that a shell command of the user starts. It runs below an agent, so that it ends with the conductor, even if
//! the conductor is killed. The agent becomes the parent of processes that the server puts into the background.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use run::{AgentCommand, AgentReport};

use super::report_line::send_report;

/// Interval between checks of the server's processes.
const INTERVAL: Duration = Duration::from_millis(20);
/// Time that the server has to end after SIGTERM, and after SIGKILL.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of bytes of the server's last output in an error.
const MAX_OUTPUT_BYTES: usize = 400;

/// Runs the command until it ends or is stopped. Calls `ready` with the number of the first process.
pub(super) fn run(shell: &str, commands: &Receiver<AgentCommand>, ready: impl FnOnce(u32)) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("starting it: {e}");
    sys::orphans::adopt().map_err(|e| failed(e.into()))?;
    let mut command = Command::new("sh");
    command.args(["-c", shell]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = sys::orphans::start_bound(&mut command).map_err(failed)?;
    let output = Arc::new(Mutex::new(Vec::new()));
    if let Some(stderr) = child.stderr.take() {
        let output = Arc::clone(&output);
        std::thread::spawn(move || keep_last(stderr, &output));
    }
    ready(child.id());
    let ended = await_end(child.id(), commands, &output);
    end_all();
    ended
}

/// Waits until the server ends, which is an error, or until it is to be stopped.
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
        // A server in the background goes on after the shell.
        if let Some(status) = status.filter(|_| below().is_empty()) {
            let output = last_output(output);
            return Err(if output.is_empty() { status.to_string() } else { format!("{status}: {output}") });
        }
    }
}

/// Ends all processes below this one, also stopped ones.
fn end_all() {
    for signal in [sys::signal::end, sys::signal::kill] {
        let deadline = Instant::now() + END_TIMEOUT;
        let mut told = Vec::new();
        while Instant::now() < deadline {
            sys::orphans::reap(0);
            let pids = below();
            if pids.is_empty() {
                return;
            }
            for pid in pids.iter().filter(|pid| !told.contains(*pid)) {
                // A process that has just ended needs no signal.
                let _ = (signal(*pid), sys::signal::resume(*pid));
            }
            told = pids;
            std::thread::sleep(INTERVAL);
        }
    }
}

fn below() -> Vec<u32> {
    probe::descendants_of(std::process::id())
}

fn last_output(output: &Mutex<Vec<u8>>) -> String {
    output.lock().map(|output| String::from_utf8_lossy(&output).trim().to_string()).unwrap_or_default()
}

/// Reads to the end, so that the writer never waits, and keeps the last bytes.
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
