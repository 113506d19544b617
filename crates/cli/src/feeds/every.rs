//! A thread that calls a function at regular intervals, until its owner ends the thread.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Handle of a thread that calls a function at regular intervals. The thread ends when the handle is dropped.
#[derive(Debug)]
pub(super) struct Every<T> {
    /// Sender that tells the thread to end when it is dropped; `None` once it was dropped.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Every<T> {
    /// Starts a thread that calls `step` once per interval, until `step` returns false or the owner ends the thread.
    /// After the last call of `step`, the thread calls `last` and returns its result.
    pub(super) fn start<S: Send + 'static>(
        name: &str,
        interval: Duration,
        mut state: S,
        step: impl Fn(&mut S) -> bool + Send + 'static,
        last: impl FnOnce(S) -> T + Send + 'static,
    ) -> io::Result<Self> {
        let (end, ended) = channel::<()>();
        let body = move || {
            // Successive calls begin one interval apart. If a call takes longer than the interval, the next call
            // follows at once, and the thread skips the calls that it missed.
            let mut due = Instant::now() + interval;
            while ended.recv_timeout(due.saturating_duration_since(Instant::now())) == Err(RecvTimeoutError::Timeout) {
                if !step(&mut state) {
                    break;
                }
                due = (due + interval).max(Instant::now());
            }
            last(state)
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(body)?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl<T> Every<T> {
    /// Ends the thread and returns its result. Returns `None` if the thread panicked (and the panic wrote a message),
    /// or if the thread had already ended.
    pub(super) fn end(&mut self) -> Option<T> {
        drop(self.end.take());
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

impl<T> Drop for Every<T> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_taken_until_one_returns_false_or_the_owner_ends_them() {
        let count = |interval, most| {
            let step = move |steps: &mut u32| {
                *steps += 1;
                *steps < most
            };
            Every::start("test", interval, 0_u32, step, |steps| steps).unwrap()
        };
        let mut three = count(Duration::from_millis(1), 3);
        while !three.thread.as_ref().unwrap().is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!((three.end(), three.end()), (Some(3), None));
        assert_eq!(count(Duration::from_secs(3600), 3).end(), Some(0), "no step was due");
    }
}
