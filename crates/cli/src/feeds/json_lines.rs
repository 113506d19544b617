//! `--json-lines`: prints one line of JSON per second to standard output, and a last line with the result.
//! docs/reference/json-lines.md describes the fields.

mod contents;

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use run::Run;
use serde::Serialize;

use super::every::Every;
use super::interval::{Look, Looks};
use crate::live::{Shared, Totals};
use contents::{RunResult, Second};

/// Time between two lines.
const INTERVAL: Duration = Duration::from_secs(1);

/// Handle of the thread that writes one line per second. The thread ends when the handle is dropped.
#[derive(Debug)]
pub(crate) struct JsonLines {
    _thread: Every<()>,
    /// True if the program that reads standard output has closed the pipe.
    closed: Arc<AtomicBool>,
}

/// State of the thread that writes the lines of JSON.
struct Lines {
    looks: Looks,
    start: Instant,
    /// Time at which the previous line was written.
    last: Instant,
    closed: Arc<AtomicBool>,
}

impl JsonLines {
    /// Starts the thread that writes one line per second.
    pub(crate) fn start(shared: &Shared) -> std::io::Result<Self> {
        let (start, closed) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        let lines = Lines { looks: Looks::new(shared), start, last: start, closed: Arc::clone(&closed) };
        Ok(Self { _thread: Every::start("loadline-lines", INTERVAL, lines, Lines::write, Lines::last)?, closed })
    }

    /// Returns true if the program that reads standard output has closed the pipe.
    pub(crate) fn closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}

impl Lines {
    /// Writes a line about the time since the previous line. Returns false if the pipe is closed.
    fn write(&mut self) -> bool {
        let look = self.looks.look();
        self.write_look(&look)
    }

    /// Writes a line about the last part of a second, unless nothing was counted since the previous line or the pipe is
    /// closed.
    fn last(mut self) {
        let look = self.looks.look();
        if look.counts != Totals::default() && !self.closed.load(Ordering::Relaxed) {
            self.write_look(&look);
        }
    }

    fn write_look(&mut self, look: &Look) -> bool {
        let now = Instant::now();
        let seconds = (now - std::mem::replace(&mut self.last, now)).as_secs_f64();
        let is_closed = write(&Second::new(look, seconds, now - self.start)).is_err();
        self.closed.store(is_closed, Ordering::Relaxed);
        !is_closed
    }
}

/// Writes the last line of a run. A closed pipe is not an error.
pub(crate) fn print_result(run: &Run, dir: Option<&std::path::Path>, exit_status: u8) -> anyhow::Result<()> {
    crate::output::print(&line(&RunResult::new(run, dir, exit_status))?)
}

fn line(content: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string(content)? + "\n")
}

fn write(content: &impl Serialize) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(line(content)?.as_bytes()).and_then(|()| out.flush())
}

#[cfg(test)]
mod tests;
