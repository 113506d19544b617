//! What the terminal is like, what happens when the reader of a pipe leaves, and a terminal that is taken for a full-screen
//! view and given back whatever ends the program. Source: tty_ioctl(4), termios(3), signal(7), signal-safety(7).

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{isatty, tcgetpgrp, tcgetwinsize};

use crate::{Errno, Result, last_errno};

/// Columns of the terminal on standard output; `None` when there is no terminal or it does not say.
pub fn width() -> Option<usize> {
    size().map(|(columns, _)| usize::from(columns))
}

/// Columns and lines of the terminal on standard output; `None` when there is no terminal or it does not say.
pub fn size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(rustix::stdio::stdout()).ok()?;
    Some((size.ws_col, size.ws_row)).filter(|(columns, lines)| *columns > 0 && *lines > 0)
}

/// A closed pipe ends this program quietly, as is usual for a command, instead of failing a write.
pub fn end_on_closed_pipe() -> Result<()> {
    // SAFETY: SIG_DFL is a valid disposition and no handler of ours is involved.
    let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    if before == libc::SIG_ERR { Err(last_errno()) } else { Ok(()) }
}

/// Whether this program is the one that its terminal belongs to now: one in the background would be stopped when it changes
/// the terminal.
pub fn in_foreground() -> bool {
    tcgetpgrp(rustix::stdio::stdout()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Alternate screen, cursor hidden; and back.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// Signals that end a program that does not care for them. SIGINT, SIGTERM and SIGHUP are [`crate::interrupt`]'s; those of a
/// fault in memory stay with the runtime, which says what happened.
const FATAL: [libc::c_int; 6] =
    [libc::SIGQUIT, libc::SIGABRT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM, libc::SIGXCPU];

const FREE: u8 = 0;
const SCREEN: u8 = 1;
const SCREEN_AND_KEYS: u8 = 2;
const BUSY: u8 = 3;

/// What is to be given back. `state` says whether `saved` is set; whoever moves it to [`BUSY`] alone touches `saved`.
struct Held {
    state: AtomicU8,
    saved: UnsafeCell<MaybeUninit<libc::termios>>,
}

// SAFETY: `saved` is only touched by the one thread that moved `state` to BUSY by compare-and-exchange.
unsafe impl Sync for Held {}

static HELD: Held = Held { state: AtomicU8::new(FREE), saved: UnsafeCell::new(MaybeUninit::uninit()) };

/// The terminal while a view has it; given back when this is dropped, by a panic, and before a signal ends the program.
#[derive(Debug)]
pub struct Taken {
    keys: bool,
}

impl Taken {
    /// Takes the terminal on standard output for a full-screen view. Keys are read without a line end where standard input
    /// is a terminal too; Ctrl-C stays a signal. An error where the view has it already.
    pub fn take() -> Result<Self> {
        HELD.state.compare_exchange(FREE, BUSY, Ordering::AcqRel, Ordering::Relaxed).map_err(|_| Errno::BUSY)?;
        let keys = isatty(rustix::stdio::stdin()) && save_and_set().is_ok();
        FATAL.iter().for_each(|signal| give_back_before(*signal));
        HELD.state.store(if keys { SCREEN_AND_KEYS } else { SCREEN }, Ordering::Release);
        write(ENTER);
        Ok(Self { keys })
    }

    /// Waits for a key, at most this long; the byte that it sent. What has several bytes (arrows) comes one by one.
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
        // A terminal that went away is ready all the time.
        if came || !self.keys {
            std::thread::sleep(at_most);
        }
        None
    }

    /// Whether keys are read at all.
    pub fn has_keys(&self) -> bool {
        self.keys
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back, if a view has it. Safe in a signal handler and in a panic.
pub fn give_back() {
    for (had, with_keys) in [(SCREEN, false), (SCREEN_AND_KEYS, true)] {
        if HELD.state.compare_exchange(had, BUSY, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            continue;
        }
        write(LEAVE);
        if with_keys {
            // SAFETY: the state said that `saved` was written before, and BUSY keeps everybody else from it; tcsetattr(3)
            // is async-signal-safe and only reads it.
            unsafe { libc::tcsetattr(0, libc::TCSANOW, (*HELD.saved.get()).as_ptr()) };
        }
        HELD.state.store(FREE, Ordering::Release);
    }
}

/// Keeps what the terminal is set to, and sets it to hand over each key unechoed. The caller holds [`BUSY`].
fn save_and_set() -> Result<()> {
    // SAFETY: all-zero is a valid termios that tcgetattr(3) fills; `saved` is ours while the state is BUSY.
    unsafe {
        let mut now: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(0, &mut now) != 0 {
            return Err(last_errno());
        }
        (*HELD.saved.get()).write(now);
        now.c_lflag &= !(libc::ICANON | libc::ECHO);
        (now.c_cc[libc::VMIN], now.c_cc[libc::VTIME]) = (0, 0);
        // A program that is stopped leaves its view on the screen.
        now.c_cc[libc::VSUSP] = libc::_POSIX_VDISABLE;
        if libc::tcsetattr(0, libc::TCSANOW, &now) != 0 { Err(last_errno()) } else { Ok(()) }
    }
}

fn write(bytes: &[u8]) {
    // SAFETY: the pointer and length are those of one slice; write(2) is async-signal-safe. What fails is only the look.
    let _ = unsafe { libc::write(1, bytes.as_ptr().cast(), bytes.len()) };
}

extern "C" fn fatal(signal: libc::c_int) {
    give_back();
    // SAFETY: the handler was installed with SA_RESETHAND, so the signal now does what it does without us; raise(3) is
    // async-signal-safe.
    unsafe { libc::raise(signal) };
}

/// The terminal is given back before this signal does what it does. One that somebody already cares for is left alone.
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
