//! Forks a process, and passes descriptors between the two processes over a socketpair that keeps message boundaries.
//! Source: unix(7) (SOCK_SEQPACKET, SCM_RIGHTS), fork(2), prctl(2) (PR_SET_PDEATHSIG).

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use crate::Result;

/// Size of one message in bytes.
pub const MESSAGE_BYTES: usize = 24;

/// Creates a connected pair of sockets, non-blocking and closed on exec.
pub fn pair() -> Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)
}

/// Sends a message with an optional descriptor. Fails with EAGAIN if the other end's queue is full.
pub fn send(end: impl AsFd, message: &[u8; MESSAGE_BYTES], fd: Option<std::os::fd::BorrowedFd<'_>>) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = fd.map(|fd| [fd]);
    if let Some(fds) = &fds {
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    sendmsg(end, &[IoSlice::new(message)], &mut control, SendFlags::NOSIGNAL).map(drop)
}

/// Receives a message, and its descriptor if it has one. Returns `None` if the other end is closed, and fails with
/// EAGAIN if no message waits.
pub fn recv(end: impl AsFd) -> Result<Option<([u8; MESSAGE_BYTES], Option<OwnedFd>)>> {
    let mut message = [0; MESSAGE_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = recvmsg(end, &mut [IoSliceMut::new(&mut message)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if got.bytes == 0 {
        return Ok(None);
    }
    let mut fd = None;
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut fds) = part {
            fd = fds.next();
        }
    }
    Ok(Some((message, fd)))
}

/// A child made by [`fork`]. Dropping this value waits for the child to end.
#[derive(Debug)]
pub struct Child(libc::pid_t);

impl Child {
    /// Returns the process ID of the child.
    pub fn pid(&self) -> u32 {
        self.0.unsigned_abs()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let mut status = 0;
        // SAFETY: waitpid(2) waits for a child of this process. The pointer is valid for one int.
        while unsafe { libc::waitpid(self.0, &raw mut status, 0) } < 0 && crate::last_errno() == crate::Errno::INTR {}
    }
}

/// Makes a copy of this process (fork). The child closes its copies of `not_there`, runs `body`, and exits with the
/// result of `body` as its status. The kernel kills the child if the forking thread of the parent ends first.
///
/// `body` must not wait for another thread of this process, or for a lock that another thread may hold. Only the
/// calling thread exists in the child. `body` may allocate, which the system's allocator supports after a fork, but
/// must not print.
pub fn fork(not_there: &[std::os::fd::BorrowedFd<'_>], body: impl FnOnce() -> u8) -> Result<Child> {
    // SAFETY: the child continues with a copy of all memory. A deadlock in the child would be sound, and the rules for
    // `body` exclude it. The child leaves by `_exit`, so no destructor of the parent runs twice.
    match unsafe { libc::fork() } {
        -1 => Err(crate::last_errno()),
        0 => {
            // SAFETY: these system calls take no pointers. The closed descriptors are copies, and this process never
            // returns to code that owns them.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                for fd in not_there {
                    libc::close(std::os::fd::AsRawFd::as_raw_fd(fd));
                }
                libc::_exit(i32::from(body()))
            }
        }
        pid => Ok(Child(pid)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn a_forked_child_receives_a_descriptor_and_uses_it() {
        let (here, there) = pair().unwrap();
        let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let child = fork(&[here.as_fd()], || {
            for _ in 0..20_000 {
                match recv(&there) {
                    Ok(Some((message, Some(fd)))) => return u8::from(crate::socket::send(&fd, &message[..2]).is_err()),
                    Ok(_) => return 2,
                    Err(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
                }
            }
            3
        })
        .unwrap();
        let mut message = [0; MESSAGE_BYTES];
        message[..2].copy_from_slice(b"hi");
        send(&here, &message, Some(theirs.as_fd())).unwrap();
        drop(theirs);
        let mut got = String::new();
        ours.read_to_string(&mut got).unwrap();
        assert_eq!(got, "hi");
        drop(child);
    }

    #[test]
    fn recv_reports_a_closed_end() {
        let (here, there) = pair().unwrap();
        assert_eq!(recv(&here).map(drop), Err(crate::Errno::AGAIN));
        drop(there);
        // A child process forked by a test that runs at the same time may hold a copy of the descriptor for a moment.
        assert!(testkit::eventually(|| recv(&here).ok()).is_none());
    }
}
