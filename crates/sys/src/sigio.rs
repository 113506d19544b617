//! Signal-driven I/O: sockets raise real-time signals, which queue for one thread. Source: fcntl(2) F_SETSIG,
//! F_SETOWN_EX, O_ASYNC; sigtimedwait(2); sigaction(2) on `si_band` and `si_fd`.

use std::os::fd::{AsFd, AsRawFd, RawFd};

use crate::{Errno, Result, last_errno};

/// Command of fcntl(2) that the libc crate defines only for some targets.
const F_SETOWN_EX: libc::c_int = 15;
/// Command of fcntl(2) that the libc crate defines only for some targets.
const F_SETSIG: libc::c_int = 10;
/// Kind of owner for `F_SETOWN_EX`: one thread.
const F_OWNER_TID: libc::c_int = 0;

#[repr(C)]
struct OwnerEx {
    kind: libc::c_int,
    id: libc::pid_t,
}

/// The start of `siginfo_t` for signals of descriptors on 64-bit Linux; the kernel writes 128 bytes.
#[repr(C)]
struct Info {
    signal: i32,
    errno: i32,
    code: i32,
    pad: i32,
    band: i64,
    fd: i32,
    rest: [i32; 25],
}

const _: () = assert!(size_of::<Info>() == 128);

/// A signal taken from the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// An event on the contained descriptor, which may already be closed.
    Descriptor(RawFd),
    /// The queue was full and signals were lost: check every descriptor.
    Overflow,
}

/// Signals of the descriptors that one thread watches. A `Signals` value must stay on the thread that created it.
#[derive(Debug)]
pub struct Signals {
    thread: libc::pid_t,
    number: libc::c_int,
    set: u64,
    // Prevents sending the value to another thread, because the signals go to the thread that created it.
    only_here: std::marker::PhantomData<*const ()>,
}

impl Signals {
    /// Blocks the signals for the calling thread, so that they queue until [`Signals::wait`] takes them.
    pub fn for_this_thread() -> Result<Self> {
        let number = libc::SIGRTMIN() + 3;
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises the set, and the other calls take a pointer to it while it lives. Nothing
        // else in the program uses the two blocked signals.
        let r = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), number);
            libc::sigaddset(set.as_mut_ptr(), libc::SIGIO);
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut())
        };
        if r != 0 {
            return Err(Errno::from_raw_os_error(r));
        }
        let bit = |n: libc::c_int| 1_u64 << (n - 1);
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        Ok(Self { thread, number, set: bit(number) | bit(libc::SIGIO), only_here: std::marker::PhantomData })
    }

    /// Makes each later change of the descriptor raise a signal. A descriptor that is already ready raises no signal.
    pub fn watch(&self, fd: impl AsFd) -> Result<()> {
        let owner = OwnerEx { kind: F_OWNER_TID, id: self.thread };
        let fd = fd.as_fd().as_raw_fd();
        // SAFETY: the pointer refers to a `struct f_owner_ex` that lives during the call. All other calls of fcntl(2)
        // here take numbers, not pointers.
        let r = unsafe {
            let mut r = libc::fcntl(fd, F_SETOWN_EX, &raw const owner);
            r |= libc::fcntl(fd, F_SETSIG, self.number);
            r | libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK | libc::O_ASYNC)
        };
        if r == 0 { Ok(()) } else { Err(last_errno()) }
    }

    /// Stops the signals of the descriptor.
    pub fn unwatch(&self, fd: impl AsFd) -> Result<()> {
        // SAFETY: the call takes no pointers.
        let r = unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        if r == 0 { Ok(()) } else { Err(last_errno()) }
    }

    /// Takes one signal from the queue. If the queue is empty, waits for a signal for at most `timeout_ns` nanoseconds.
    /// Returns `None` if no signal came before the timeout, or if another signal ended the wait.
    pub fn wait(&self, timeout_ns: u64) -> Result<Option<Signal>> {
        let timeout = crate::timespec(timeout_ns);
        let mut info = std::mem::MaybeUninit::<Info>::zeroed();
        // SAFETY: the set has the stated 8 bytes, `info` has the size of siginfo_t, and the timeout lives during the
        // call. All-zero is a valid `Info`, so it may be read even if the kernel wrote nothing.
        let (r, info) = unsafe {
            let set = &raw const self.set;
            let r = libc::syscall(libc::SYS_rt_sigtimedwait, set, info.as_mut_ptr(), &raw const timeout, 8_usize);
            (r, info.assume_init())
        };
        match r {
            -1 => match last_errno() {
                Errno::AGAIN | Errno::INTR => Ok(None),
                e => Err(e),
            },
            n if n == libc::c_long::from(libc::SIGIO) => Ok(Some(Signal::Overflow)),
            _ => Ok(Some(Signal::Descriptor(info.fd))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_change_queues_a_signal_of_its_descriptor() {
        std::thread::spawn(|| {
            let (a, mut b) = std::os::unix::net::UnixStream::pair().unwrap();
            let signals = Signals::for_this_thread().unwrap();
            signals.watch(&a).unwrap();
            assert_eq!(signals.wait(0).unwrap(), None);
            b.write_all(b"x").unwrap();
            assert_eq!(signals.wait(30_000_000_000).unwrap(), Some(Signal::Descriptor(a.as_raw_fd())));
            signals.unwatch(&a).unwrap();
            b.write_all(b"x").unwrap();
            assert_eq!(signals.wait(0).unwrap(), None);
        })
        .join()
        .unwrap();
    }
}
