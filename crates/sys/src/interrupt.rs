//! Ctrl-C as a flag that a program looks at between two steps. Source: sigaction(2), signal-safety(7).

use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Result, last_errno};

static SEEN: AtomicU32 = AtomicU32::new(0);

/// How often SIGINT or SIGTERM came since [`catch`].
pub fn seen() -> u32 {
    SEEN.load(Ordering::Relaxed)
}

/// From now on SIGINT and SIGTERM are counted instead of ending the process. The third one ends it at once with
/// status 130, so that a program which does not look any more can still be stopped from the keyboard.
pub fn catch() -> Result<()> {
    install(libc::SIGINT)?;
    install(libc::SIGTERM)
}

extern "C" fn count(_: libc::c_int) {
    if SEEN.fetch_add(1, Ordering::Relaxed) >= 2 {
        // SAFETY: _exit(2) is async-signal-safe and takes no pointers.
        unsafe { libc::_exit(130) }
    }
}

fn install(signal: libc::c_int) -> Result<()> {
    // SAFETY: `action` is a fully initialised sigaction (all-zero is valid, then mask and handler are set); the handler
    // only touches an atomic and _exit, both async-signal-safe; the old action is not asked for.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as *const () as libc::sighandler_t;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, std::ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}
