//! Ends processes that a user's command started.

use std::time::{Duration, Instant};

/// Interval between checks of the processes.
const INTERVAL: Duration = Duration::from_millis(20);
/// Maximum time to wait for processes to end after SIGTERM, and again after SIGKILL.
pub(super) const END_TIMEOUT: Duration = Duration::from_secs(2);

/// Ends all processes that `running` returns, including suspended processes and processes that start in the meantime.
/// Returns true once no process is left, and false if a process survives SIGKILL.
pub(super) fn end_all(running: impl Fn() -> Vec<u32>) -> bool {
    for signal in [sys::signal::end, sys::signal::kill] {
        let deadline = Instant::now() + END_TIMEOUT;
        let mut told = Vec::new();
        while Instant::now() < deadline {
            let pids = running();
            if pids.is_empty() {
                return true;
            }
            for pid in pids.iter().filter(|pid| !told.contains(*pid)) {
                // Ignore errors, because a process that has just ended needs no signal.
                let _ = (signal(*pid), sys::signal::resume(*pid));
            }
            told = pids;
            std::thread::sleep(INTERVAL);
        }
    }
    false
}
