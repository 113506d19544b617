//! Heartbeats between agent and conductor. If the connection to the conductor breaks, an agent must stop its load.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use run::{AgentCommand, AgentReport, SILENCE_TIMEOUT_S};
use sys::clock;

use super::report_line::send_report;

/// Time for an agent to finish its work after the command to stop.
const GRACE: Duration = Duration::from_secs(3);
/// Interval between heartbeats.
const INTERVAL: Duration = Duration::from_secs(1);
/// Interval between checks of the time since the conductor's last line.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Watchdog that notices a silent conductor.
#[derive(Debug)]
pub(super) struct Heartbeat {
    /// Time at which the conductor's last line arrived, nanoseconds of the monotonic clock.
    heard_ns: AtomicU64,
    /// True if the work was ended because the conductor was silent.
    ended: AtomicBool,
    /// Channel for the commands of the current task; `None` before the first task.
    commands: Mutex<Option<Sender<AgentCommand>>>,
}

impl Heartbeat {
    /// Returns a watchdog that measures the conductor's silence from now on.
    pub(super) fn new() -> Self {
        let heard_ns = AtomicU64::new(clock::monotonic_ns());
        Self { heard_ns, ended: AtomicBool::new(false), commands: Mutex::new(None) }
    }

    /// Records that a line from the conductor arrived just now.
    pub(super) fn heard(&self) {
        self.heard_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
    }

    /// Begins a task: from now on, commands go to this task instead of the preceding task.
    pub(super) fn begin_task(&self) -> Receiver<AgentCommand> {
        let (sender, commands) = channel();
        *self.commands.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        commands
    }

    /// Passes a command to the current task, if that task is still running.
    pub(super) fn pass_on(&self, command: AgentCommand) {
        if let Some(sender) = &*self.commands.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = sender.send(command);
        }
    }

    /// Returns the explanation for the user if the load ended because the conductor was silent, and otherwise `None`.
    pub(super) fn explain_end(&self) -> Option<String> {
        let ended = self.ended.load(Ordering::Relaxed);
        ended.then(|| {
            format!("a generator stopped its load: it heard nothing from its conductor for {SILENCE_TIMEOUT_S:.0} s")
        })
    }

    fn silent_s(&self) -> f64 {
        clock::monotonic_ns().saturating_sub(self.heard_ns.load(Ordering::Relaxed)) as f64 / 1e9
    }

    /// Returns once the conductor has been silent for too long.
    fn wait_for_silence(&self) {
        while self.silent_s() < SILENCE_TIMEOUT_S {
            std::thread::sleep(CHECK_INTERVAL);
        }
    }

    /// Ends the agent's work when the conductor is silent for too long. The watchdog also ends the agent's process,
    /// because writing reports may block on a broken connection.
    pub(super) fn watch(&self) {
        self.wait_for_silence();
        self.ended.store(true, Ordering::Relaxed);
        self.end_task()
    }

    /// Asks the task to stop, gives the task [`GRACE`] to do so, and then ends the process.
    pub(super) fn end_task(&self) -> ! {
        self.pass_on(AgentCommand::Stop);
        std::thread::sleep(GRACE);
        std::process::exit(0)
    }
}

/// Ends the process if its hello (its first message) cannot be written in time. To keep the process running, the caller
/// drops the returned sender once the hello is written.
pub(super) fn guard_hello() -> Result<Sender<()>, String> {
    let (said, waits) = channel::<()>();
    start_thread(move || {
        if waits.recv_timeout(Duration::from_secs_f64(SILENCE_TIMEOUT_S)) == Err(RecvTimeoutError::Timeout) {
            std::process::exit(1);
        }
    })?;
    Ok(said)
}

/// Starts a thread of the agent. If the thread cannot be started, the error gives the reason, for example that the host
/// allows no more threads.
pub(super) fn start_thread(work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let started = std::thread::Builder::new().spawn(work);
    started.map(drop).map_err(|e| format!("no thread could be started: {}", sys::exhausted::why_not_started(&e)))
}

/// Sends a heartbeat every second, until the process ends. The function runs in its own thread, because writing may
/// block.
pub(super) fn send_all() {
    loop {
        std::thread::sleep(INTERVAL);
        send_report(&AgentReport::Heartbeat);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conductor_that_was_silent_for_40_s_is_gone_and_one_of_4_s_is_not() {
        let heard = |s: u64| {
            let heard_ns = AtomicU64::new(clock::monotonic_ns().saturating_sub(s * 1_000_000_000));
            Heartbeat { heard_ns, ..Heartbeat::new() }
        };
        let (gone, there) = (heard(40), heard(4));
        assert!(there.silent_s() >= 4.0 && there.silent_s() < SILENCE_TIMEOUT_S, "{}", there.silent_s());
        assert!(gone.silent_s() >= 40.0);
        gone.wait_for_silence();
        gone.heard();
        assert!(gone.silent_s() < SILENCE_TIMEOUT_S);
    }

    #[test]
    fn a_command_reaches_only_the_task_that_runs_when_it_arrives() {
        let heartbeat = Heartbeat::new();
        heartbeat.pass_on(AgentCommand::Stop);
        let first = heartbeat.begin_task();
        heartbeat.pass_on(AgentCommand::Count);
        let second = heartbeat.begin_task();
        heartbeat.pass_on(AgentCommand::Latest);
        assert_eq!(first.iter().collect::<Vec<_>>(), [AgentCommand::Count], "and it is over");
        assert_eq!(second.try_iter().collect::<Vec<_>>(), [AgentCommand::Latest]);
    }
}
