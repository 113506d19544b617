//! System calls in which threads wait, with their numbers on each architecture. Source:
//! arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of the kernel.

/// Kind of a system call in which threads wait. The kind of a system call determines the meaning of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// `futex(address, operation, value, …)`.
    Futex,
    /// `futex_wait(address, value, …)`.
    FutexWait,
    /// The first argument is a descriptor that is read or connected.
    Read,
    /// The first argument is a descriptor that is written.
    Write,
    /// The first argument is the descriptor of a file that is flushed or changed.
    File,
    /// A path is opened, renamed, removed or examined, or memory is flushed to its file (msync(2)).
    Path,
    /// `accept` and `accept4`.
    Accept,
    /// `poll(array, length, …)` and `ppoll`.
    Poll,
    /// `select(highest + 1, …)` and `pselect6`.
    Select,
    /// Call that waits for any of several events: on an epoll descriptor, an io_uring, or a context of asynchronous
    /// input and output. Idle threads wait in this call, and so do threads with a read or a write in progress.
    Events,
    /// A call that sleeps for a fixed time.
    Sleep,
    /// A call that waits for a child process, or creates one.
    Child,
    /// A call that waits for a semaphore of System V.
    FileLock,
    /// `flock(descriptor, operation)`.
    Flock,
    /// `fcntl(descriptor, command, …)`.
    Fcntl,
    /// A call that waits for a signal.
    Signal,
    /// A call that waits for a message from a message queue (msgrcv, mq_timedreceive).
    Message,
    /// A call that changes the memory map of the process.
    Memory,
    /// Continues a wait that a signal interrupted, with the arguments of the interrupted call; see [`restarted`].
    Restart,
}

/// CPU architecture that has a column in [`CALLS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arch {
    X86,
    Arm,
}

impl Arch {
    /// Architecture of this program and of all processes on this host; `None` if [`CALLS`] has no column for it.
    pub(super) const HOST: Option<Self> = if cfg!(target_arch = "x86_64") {
        Some(Self::X86)
    } else if cfg!(target_arch = "aarch64") {
        Some(Self::Arm)
    } else {
        None
    };
}

/// Value in [`CALLS`] in place of the number of a call that an architecture lacks.
const ABSENT: u16 = u16::MAX;

/// Rows: name, number on x86_64, number on aarch64, kind.
const CALLS: &[(&str, u16, u16, Call)] = &[
    ("read", 0, 63, Call::Read),
    ("write", 1, 64, Call::Write),
    ("open", 2, ABSENT, Call::Path),
    ("poll", 7, ABSENT, Call::Poll),
    ("mmap", 9, 222, Call::Memory),
    ("mprotect", 10, 226, Call::Memory),
    ("munmap", 11, 215, Call::Memory),
    ("brk", 12, 214, Call::Memory),
    ("pread64", 17, 67, Call::Read),
    ("pwrite64", 18, 68, Call::Write),
    ("readv", 19, 65, Call::Read),
    ("writev", 20, 66, Call::Write),
    ("select", 23, ABSENT, Call::Select),
    ("msync", 26, 227, Call::Path),
    ("madvise", 28, 233, Call::Memory),
    ("pause", 34, ABSENT, Call::Signal),
    ("nanosleep", 35, 101, Call::Sleep),
    ("sendfile", 40, 71, Call::Write),
    ("connect", 42, 203, Call::Read),
    ("accept", 43, 202, Call::Accept),
    ("sendto", 44, 206, Call::Write),
    ("recvfrom", 45, 207, Call::Read),
    ("sendmsg", 46, 211, Call::Write),
    ("recvmsg", 47, 212, Call::Read),
    ("clone", 56, 220, Call::Child),
    ("vfork", 58, ABSENT, Call::Child),
    ("wait4", 61, 260, Call::Child),
    ("semop", 65, 193, Call::FileLock),
    ("msgrcv", 70, 188, Call::Message),
    ("fcntl", 72, 25, Call::Fcntl),
    ("flock", 73, 32, Call::Flock),
    ("fsync", 74, 82, Call::File),
    ("fdatasync", 75, 83, Call::File),
    ("ftruncate", 77, 46, Call::File),
    ("rename", 82, ABSENT, Call::Path),
    ("unlink", 87, ABSENT, Call::Path),
    ("rt_sigtimedwait", 128, 137, Call::Signal),
    ("rt_sigsuspend", 130, 133, Call::Signal),
    ("futex", 202, 98, Call::Futex),
    ("io_getevents", 208, 4, Call::Events),
    ("getdents64", 217, 61, Call::File),
    ("restart_syscall", 219, 128, Call::Restart),
    ("semtimedop", 220, 192, Call::FileLock),
    ("clock_nanosleep", 230, 115, Call::Sleep),
    ("epoll_wait", 232, ABSENT, Call::Events),
    ("mq_timedreceive", 243, 183, Call::Message),
    ("waitid", 247, 95, Call::Child),
    ("openat", 257, 56, Call::Path),
    ("newfstatat", 262, 79, Call::Path),
    ("unlinkat", 263, 35, Call::Path),
    ("renameat", 264, 38, Call::Path),
    ("pselect6", 270, 72, Call::Select),
    ("ppoll", 271, 73, Call::Poll),
    ("splice", 275, 76, Call::Read),
    ("sync_file_range", 277, 84, Call::File),
    ("epoll_pwait", 281, 22, Call::Events),
    ("fallocate", 285, 47, Call::File),
    ("accept4", 288, 242, Call::Accept),
    ("preadv", 295, 69, Call::Read),
    ("pwritev", 296, 70, Call::Write),
    ("recvmmsg", 299, 243, Call::Read),
    ("syncfs", 306, 267, Call::File),
    ("sendmmsg", 307, 269, Call::Write),
    ("renameat2", 316, 276, Call::Path),
    ("copy_file_range", 326, 285, Call::File),
    ("preadv2", 327, 286, Call::Read),
    ("pwritev2", 328, 287, Call::Write),
    ("io_pgetevents", 333, 292, Call::Events),
    ("io_uring_enter", 426, 426, Call::Events),
    ("clone3", 435, 435, Call::Child),
    ("epoll_pwait2", 441, 441, Call::Events),
    ("futex_wait", 455, 455, Call::FutexWait),
];

/// Returns name and kind of a system call; `None` for a call that is not in the table.
pub(super) fn call(arch: Arch, number: u64) -> Option<(&'static str, Call)> {
    let row = CALLS.iter().find(|(_, x86, arm, _)| {
        let own = if arch == Arch::X86 { *x86 } else { *arm };
        own != ABSENT && u64::from(own) == number
    });
    row.map(|(name, _, _, call)| (*name, *call))
}

/// Returns the kind of the first call of a thread that waits in restart_syscall(2). `place` is the function of the
/// kernel in which the thread waits, from `/proc/PID/task/TID/wchan`. Returns `None` if the kernel does not tell the
/// function.
pub(super) fn restarted(place: &str) -> Option<Call> {
    let calls = [("futex", Call::Futex), ("poll", Call::Poll), ("nanosleep", Call::Sleep)];
    calls.into_iter().find(|(part, _)| place.contains(part)).map(|(_, call)| call)
}

/// Contents of `/proc/PID/task/TID/syscall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocked {
    /// The thread runs or is ready to run.
    Running,
    /// The thread waits outside of a system call: it is stopped, or it waits for a page of memory.
    OutsideCall,
    /// The thread waits in a system call.
    InCall {
        /// Number of the call.
        number: u64,
        /// First five arguments of the system call.
        arguments: [u64; 5],
        /// Stack pointer and program counter.
        stack: (u64, u64),
    },
}

/// Parses the text of `/proc/PID/task/TID/syscall`. Source: Documentation/filesystems/proc.rst, proc_pid_syscall(5).
pub(super) fn parse(text: &[u8]) -> Option<Blocked> {
    let mut words = crate::text::words(text);
    let number = match words.next()? {
        b"running" => return Some(Blocked::Running),
        b"-1" => return Some(Blocked::OutsideCall),
        word => crate::text::number(word)?,
    };
    let mut hex = [0; 8];
    for value in &mut hex {
        *value = crate::text::hex(words.next()?.strip_prefix(b"0x")?)?;
    }
    let [a, b, c, d, e, _, sp, pc] = hex;
    Some(Blocked::InCall { number, arguments: [a, b, c, d, e], stack: (sp, pc) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_architectures_have_the_calls_of_a_server() {
        for (name, x86, arm) in [("futex", 202, 98), ("epoll_pwait", 281, 22), ("recvfrom", 45, 207)] {
            assert_eq!(call(Arch::X86, x86).map(|c| c.0), Some(name));
            assert_eq!(call(Arch::Arm, arm).map(|c| c.0), Some(name));
        }
        assert_eq!(call(Arch::Arm, u64::from(ABSENT)), None);
        assert_eq!(call(Arch::X86, 9999), None);
    }

    /// This test repeats a situation that was observed with MySQL: nine idle threads wait in io_getevents(2).
    #[test]
    fn a_wait_for_any_completion_is_no_wait_for_a_disk() {
        for number in [208, 333, 426] {
            assert_eq!(call(Arch::X86, number).map(|(_, call)| call), Some(Call::Events), "{number}");
        }
        assert_eq!(call(Arch::X86, 26), Some(("msync", Call::Path)));
    }

    #[test]
    fn the_first_call_of_a_restarted_wait_is_found() {
        assert_eq!(call(Arch::X86, 219), call(Arch::Arm, 128));
        assert_eq!(restarted("futex_wait_queue"), Some(Call::Futex));
        assert_eq!(restarted("poll_schedule_timeout.constprop.0"), Some(Call::Poll));
        assert_eq!(restarted("hrtimer_nanosleep"), Some(Call::Sleep));
        assert_eq!(restarted("0"), None);
    }

    #[test]
    fn numbers_are_unique_on_each_architecture() {
        for column in [|row: &(&str, u16, u16, Call)| row.1, |row: &(&str, u16, u16, Call)| row.2] {
            let mut numbers: Vec<u16> = CALLS.iter().map(column).filter(|n| *n != ABSENT).collect();
            let all = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), all);
        }
    }

    #[test]
    fn each_form_of_the_file_is_read() {
        assert_eq!(parse(b"running\n"), Some(Blocked::Running));
        assert_eq!(parse(b"-1 0x7ffe 0x7f01\n"), Some(Blocked::OutsideCall));
        let waits = parse(b"202 0x55d0 0x80 0x2 0x0 0x0 0x0 0x7ffe10 0x7f01\n");
        let (arguments, stack) = ([0x55d0, 0x80, 2, 0, 0], (0x7f_fe10, 0x7f01));
        assert_eq!(waits, Some(Blocked::InCall { number: 202, arguments, stack }));
        for odd in [&b""[..], b"202 0x1", b"x 0x1 0x1", b"202 1 1 1 1 1 1 1 1"] {
            assert_eq!(parse(odd), None, "{odd:?}");
        }
    }
}
