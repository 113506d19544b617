//! The agent's own sign of life, and its watch over the conductor's: with the line cut, a load must not go on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use run::{AgentCommand, AgentReport, SILENCE_S};
use sys::clock;

use super::say::say;

/// An agent that was told to stop has this long to do it in order.
pub(super) const GRACE: Duration = Duration::from_secs(3);
/// Between two signs of life.
const BEAT: Duration = Duration::from_secs(1);
/// Between two looks at how long nothing was heard.
const LOOK: Duration = Duration::from_millis(250);

/// When the conductor was last heard, nanoseconds of the monotonic clock.
#[derive(Debug)]
pub(super) struct Pulse(AtomicU64);

impl Pulse {
    /// Heard now.
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(clock::monotonic_ns()))
    }

    /// The conductor was heard.
    pub(super) fn heard(&self) {
        self.0.store(clock::monotonic_ns(), Ordering::Relaxed);
    }

    fn silent_s(&self) -> f64 {
        clock::monotonic_ns().saturating_sub(self.0.load(Ordering::Relaxed)) as f64 / 1e9
    }

    /// Ends the agent's work once the conductor was silent for too long: in order, and, where that does not come about
    /// since its words find no way out, by ending the process. It must not live on for as long as the line is cut.
    pub(super) fn watch(&self, commands: &Sender<AgentCommand>) {
        while self.silent_s() < SILENCE_S {
            std::thread::sleep(LOOK);
        }
        let _ = commands.send(AgentCommand::Stop);
        std::thread::sleep(GRACE);
        std::process::exit(0);
    }
}

/// Says each second that the agent is there. Its words may find no way out, so it has a thread of its own.
pub(super) fn beat() {
    loop {
        std::thread::sleep(BEAT);
        say(&AgentReport::Beat);
    }
}
