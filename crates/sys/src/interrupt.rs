//! Ctrl-C, and a terminal that goes away, as a flag that a program looks at between two steps. Source: sigaction(2), signal-safety(7).

use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Result, last_errno};

static SEEN: AtomicU32 = AtomicU32::new(0);

/// How often SIGINT, SIGTERM or SIGHUP came since [`catch`].
pub fn seen() -> u32 {
    SEEN.load(Ordering::Relaxed)
}

/// From now on SIGINT, SIGTERM and SIGHUP are counted instead of ending the process. The third one ends it at once with
/// status 130, so that a program which does not look any more can still be stopped from the keyboard. A SIGHUP that is
/// ignored (nohup(1)) stays so.
pub fn catch() -> Result<()> {
    install(libc::SIGINT)?;
    install(libc::SIGTERM)?;
    if is_ignored(libc::SIGHUP)? { Ok(()) } else { install(libc::SIGHUP) }
}

fn is_ignored(signal: libc::c_int) -> Result<bool> {
    // SAFETY: the new action is null, so nothing is installed; `old` is valid for one sigaction, which the kernel fills.
    let (result, old) = unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &mut old), old)
    };
    if result == 0 { Ok(old.sa_sigaction == libc::SIG_IGN) } else { Err(last_errno()) }
}

extern "C" fn count(_: libc::c_int) {
    if SEEN.fetch_add(1, Ordering::Relaxed) >= 2 {
        crate::terminal::give_back();
        // SAFETY: _exit(2) is async-signal-safe and takes no pointers.
        unsafe { libc::_exit(130) }
    }
}

fn install(signal: libc::c_int) -> Result<()> {
    // SAFETY: `action` is a fully initialised sigaction (all-zero is valid, then mask and handler are set); the handler
    // only touches atomics, the terminal by write(2) and tcsetattr(3), and _exit, all async-signal-safe; the old action is not asked for.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as *const () as libc::sighandler_t;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, std::ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}
