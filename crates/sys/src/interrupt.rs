//! Counts Ctrl-C and closed terminals. A program checks the counter between two steps of its work. Source:
//! sigaction(2), signal-safety(7).

use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Result, last_errno};

static SIGNALS_SEEN: AtomicU32 = AtomicU32::new(0);
/// Maximum number of signals that are only counted. The next signal after these ends the process.
static SIGNALS_SURVIVED: AtomicU32 = AtomicU32::new(2);

/// Returns the number of SIGINT, SIGTERM and SIGHUP signals since [`catch`].
pub fn seen() -> u32 {
    SIGNALS_SEEN.load(Ordering::Relaxed)
}

/// Makes SIGINT, SIGTERM and SIGHUP increase a counter instead of ending the process. The third signal ends the process
/// immediately with status 130, so a user can stop a program that no longer checks the counter. SIGHUP stays ignored if
/// it was ignored before (nohup(1)).
pub fn catch() -> Result<()> {
    install(libc::SIGINT)?;
    install(libc::SIGTERM)?;
    if is_ignored(libc::SIGHUP)? { Ok(()) } else { install(libc::SIGHUP) }
}

/// Counts signals as [`catch`] does, but no number of signals ends the process. Use this function only in programs that
/// must undo a change and will soon end by themselves.
pub fn catch_every() -> Result<()> {
    SIGNALS_SURVIVED.store(u32::MAX, Ordering::Relaxed);
    catch()
}

fn is_ignored(signal: libc::c_int) -> Result<bool> {
    // SAFETY: the new action is null, so no handler is installed. `old` is valid for one sigaction, which the kernel
    // fills.
    let (result, old) = unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &mut old), old)
    };
    if result == 0 { Ok(old.sa_sigaction == libc::SIG_IGN) } else { Err(last_errno()) }
}

extern "C" fn count(_: libc::c_int) {
    if SIGNALS_SEEN.fetch_add(1, Ordering::Relaxed) >= SIGNALS_SURVIVED.load(Ordering::Relaxed) {
        crate::terminal::give_back();
        // SAFETY: _exit(2) is async-signal-safe and takes no pointers.
        unsafe { libc::_exit(130) }
    }
}

fn install(signal: libc::c_int) -> Result<()> {
    // SAFETY: `action` is a fully initialised sigaction: all-zero is valid, and mask and handler are set afterwards.
    // The handler only uses atomics, write(2), tcsetattr(3) and _exit(2), which are async-signal-safe. The old signal
    // action is not requested.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as *const () as libc::sighandler_t;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, std::ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}
