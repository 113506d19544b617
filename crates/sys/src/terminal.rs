//! Terminal size, closed pipes, and a full-screen view that restores the terminal however the program ends. Source:
//! tty_ioctl(4), termios(3), signal(7), signal-safety(7).

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{isatty, tcgetpgrp, tcgetwinsize};

use crate::{Errno, Result, last_errno};

/// Returns the number of columns of the terminal on standard output. Returns `None` if there is no terminal or its size
/// is unknown.
pub fn width() -> Option<usize> {
    size().map(|(columns, _)| usize::from(columns))
}

/// Returns the numbers of columns and lines of the terminal on standard output. Returns `None` if there is no terminal
/// or its size is unknown.
pub fn size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(rustix::stdio::stdout()).ok()?;
    Some((size.ws_col, size.ws_row)).filter(|(columns, lines)| *columns > 0 && *lines > 0)
}

/// Makes a write to a closed pipe end this program silently, as is usual for a command. By default, a Rust program
/// ignores SIGPIPE, and a write to a closed pipe returns an error.
pub fn end_on_closed_pipe() -> Result<()> {
    // SAFETY: SIG_DFL is a valid disposition and no handler of ours is involved.
    let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    if before == libc::SIG_ERR { Err(last_errno()) } else { Ok(()) }
}

/// Returns true if this program is in the terminal's foreground. If a background program changed the terminal, the
/// kernel would stop the program.
pub fn in_foreground() -> bool {
    tcgetpgrp(rustix::stdio::stdout()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Escape sequences that enter the alternate screen, hide the cursor and clear the screen.
const ENTER_SCREEN: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[2J";
/// Escape sequences that reset colours, show the cursor and leave the alternate screen.
const LEAVE_SCREEN: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// Signals that end a program if it has no handler for them. [`crate::interrupt`] handles SIGINT, SIGTERM and SIGHUP.
/// Signals of memory faults are missing, because the Rust runtime handles and reports them.
const FATAL_SIGNALS: [libc::c_int; 6] =
    [libc::SIGQUIT, libc::SIGABRT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM, libc::SIGXCPU];

const FREE: u8 = 0;
const SCREEN: u8 = 1;
const SCREEN_AND_KEYS: u8 = 2;
const BUSY: u8 = 3;

/// Terminal settings that must be restored. `state` tells whether `saved` is set. Only the thread that moves `state` to
/// [`BUSY`] accesses `saved`.
struct SavedTerminal {
    state: AtomicU8,
    saved: UnsafeCell<MaybeUninit<libc::termios>>,
}

// SAFETY: only the one thread that moved `state` to BUSY by compare-and-exchange accesses `saved`.
unsafe impl Sync for SavedTerminal {}

static SAVED: SavedTerminal =
    SavedTerminal { state: AtomicU8::new(FREE), saved: UnsafeCell::new(MaybeUninit::uninit()) };

/// The terminal while a full-screen view uses it. The terminal's settings are restored on drop, on a panic, and before
/// a signal ends the program.
#[derive(Debug)]
pub struct FullScreen {
    keys: bool,
}

impl FullScreen {
    /// Prepares the terminal on standard output for a full-screen view. If standard input is also a terminal, the
    /// program receives each key immediately, and not only at the end of a line. Ctrl-C still raises SIGINT. Fails if
    /// another view uses the terminal.
    pub fn take() -> Result<Self> {
        SAVED.state.compare_exchange(FREE, BUSY, Ordering::AcqRel, Ordering::Relaxed).map_err(|_| Errno::BUSY)?;
        let keys = isatty(rustix::stdio::stdin()) && save_and_set().is_ok();
        FATAL_SIGNALS.iter().for_each(|signal| give_back_before(*signal));
        SAVED.state.store(if keys { SCREEN_AND_KEYS } else { SCREEN }, Ordering::Release);
        write(ENTER_SCREEN);
        Ok(Self { keys })
    }

    /// Waits up to `at_most` for a key and returns its byte. A key of several bytes, such as an arrow, arrives byte by
    /// byte.
    pub fn key(&self, at_most: Duration) -> Option<u8> {
        let timeout = rustix::time::Timespec {
            tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: at_most.subsec_nanos().into(),
        };
        let stdin = rustix::stdio::stdin();
        let mut byte = [0];
        let came = self.keys && poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)).is_ok_and(|n| n > 0);
        if came && rustix::io::read(stdin, &mut byte).is_ok_and(|n| n == 1) {
            return Some(byte[0]);
        }
        // A closed terminal always counts as ready. On a closed terminal, the sleep prevents callers from polling
        // without a pause.
        if came || !self.keys {
            std::thread::sleep(at_most);
        }
        None
    }

    /// Returns true if keys can be read.
    pub fn has_keys(&self) -> bool {
        self.keys
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Restores the terminal if a view uses it. May be called in a signal handler and in a panic.
pub fn give_back() {
    for (had, with_keys) in [(SCREEN, false), (SCREEN_AND_KEYS, true)] {
        if SAVED.state.compare_exchange(had, BUSY, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            continue;
        }
        write(LEAVE_SCREEN);
        if with_keys {
            // SAFETY: the state showed that `saved` was written before, and BUSY excludes all other threads.
            // tcsetattr(3) is async-signal-safe and only reads `saved`.
            unsafe { libc::tcsetattr(0, libc::TCSANOW, (*SAVED.saved.get()).as_ptr()) };
        }
        SAVED.state.store(FREE, Ordering::Release);
    }
}

/// Saves the terminal's settings, then turns off echo and line input. The caller must have moved the state to [`BUSY`].
fn save_and_set() -> Result<()> {
    // SAFETY: all-zero is a valid termios, which tcgetattr(3) fills. In the state BUSY, only this thread accesses
    // `saved`.
    unsafe {
        let mut now: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(0, &mut now) != 0 {
            return Err(last_errno());
        }
        (*SAVED.saved.get()).write(now);
        now.c_lflag &= !(libc::ICANON | libc::ECHO);
        (now.c_cc[libc::VMIN], now.c_cc[libc::VTIME]) = (0, 0);
        // Disables Ctrl-Z, because a stopped program would leave its view on the screen.
        now.c_cc[libc::VSUSP] = libc::_POSIX_VDISABLE;
        if libc::tcsetattr(0, libc::TCSANOW, &now) != 0 { Err(last_errno()) } else { Ok(()) }
    }
}

fn write(bytes: &[u8]) {
    // SAFETY: pointer and length are those of one slice, and write(2) is async-signal-safe. A failed write only affects
    // the display.
    let _ = unsafe { libc::write(1, bytes.as_ptr().cast(), bytes.len()) };
}

extern "C" fn fatal(signal: libc::c_int) {
    give_back();
    // SAFETY: the handler was installed with SA_RESETHAND, so the signal has its default effect again. raise(3) is
    // async-signal-safe.
    unsafe { libc::raise(signal) };
}

/// Installs a handler that restores the terminal before the signal takes effect. Does nothing if the signal already has
/// a handler or is ignored.
fn give_back_before(signal: libc::c_int) {
    // SAFETY: both actions are valid; the handler only calls give_back and raise, which are async-signal-safe.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &mut old) != 0 || old.sa_sigaction != libc::SIG_DFL {
            return;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = fatal as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_NODEFER;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}
