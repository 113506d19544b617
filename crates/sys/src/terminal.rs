//! What the terminal is like, and what happens when the reader of a pipe leaves. Source: tty_ioctl(4), signal(7).

use rustix::termios::tcgetwinsize;

use crate::{Result, last_errno};

/// Columns of the terminal on standard output; `None` when there is no terminal or it does not say.
pub fn width() -> Option<usize> {
    let size = tcgetwinsize(rustix::stdio::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// A closed pipe ends this program quietly, as is usual for a command, instead of failing a write.
pub fn end_on_closed_pipe() -> Result<()> {
    // SAFETY: SIG_DFL is a valid disposition and no handler of ours is involved.
    let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    if before == libc::SIG_ERR { Err(last_errno()) } else { Ok(()) }
}
