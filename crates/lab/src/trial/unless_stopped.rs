//! Waits for a slow system call, such as a connect or a name look-up, and ends the wait as soon as the user wants to stop.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Interval between checks whether the user wants to stop. A person does not notice a delay of this length.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Calls `work` in a thread of its own, and returns the result. Returns `None` as soon as `stops` returns true; the
/// thread then ends when `work` ends, or with this process.
pub(crate) fn unless_stopped<T: Send + 'static>(
    stops: &dyn Fn() -> bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        // After a stop, nobody receives the result.
        let _ = sender.send(work());
    });
    loop {
        match receiver.recv_timeout(CHECK_INTERVAL) {
            Ok(result) => return Some(result),
            Err(RecvTimeoutError::Timeout) if !stops() => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_returned_unless_the_user_stops() {
        assert_eq!(unless_stopped(&|| false, || 7), Some(7));
        let endless = || std::thread::park_timeout(Duration::from_secs(3600));
        assert_eq!(unless_stopped(&|| true, endless), None);
    }
}
