//! Waits for a slow system call, such as a connect or a name look-up, and ends the wait as soon as the user wants to
//! stop.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Interval between checks whether the user wants to stop. A person does not notice a delay of this length.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Calls `work` in a thread of its own, and returns the result. Returns `None` as soon as `stops` returns true; the
/// thread then ends when `work` ends, or with this process. If no thread can be started (limit on processes), calls
/// `work` in this thread, and waits for its end.
pub(crate) fn unless_stopped<T: Send + 'static>(
    stops: &dyn Fn() -> bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = channel();
    let here = Arc::new(Mutex::new(Some(work)));
    let there = Arc::clone(&here);
    let started = std::thread::Builder::new().spawn(move || {
        // After a stop, nobody receives the result.
        call(&there).map(|result| sender.send(result))
    });
    if started.is_err() {
        return call(&here);
    }
    loop {
        match receiver.recv_timeout(CHECK_INTERVAL) {
            Ok(result) => return Some(result),
            Err(RecvTimeoutError::Timeout) if !stops() => {}
            Err(_) => return None,
        }
    }
}

/// Calls the function in `work` and returns its result. Returns `None` if the function was called before.
fn call<T>(work: &Mutex<Option<impl FnOnce() -> T>>) -> Option<T> {
    let work = work.lock().ok()?.take()?;
    Some(work())
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
