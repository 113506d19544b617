//! Where text goes and how it looks there.

use std::io::{self, Write as _};

use anyhow::Context as _;

/// The reader of a pipe may leave early: that is no error of ours, and no message.
pub(crate) fn quiet_on_closed_pipe() {
    // Should it fail, a closed pipe is a write error with a message: worse, but not wrong.
    let _ = sys::terminal::end_on_closed_pipe();
}

/// Logs go to standard error when LOADLINE_LOG asks for them.
pub(crate) fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("LOADLINE_LOG");
    if let Ok(filter) = filter {
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
    }
}

/// Writes to standard output.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to standard output")
}
