//! Passing descriptors to another process over a socketpair that keeps messages apart, and forking that process.
//! Source: unix(7) (SOCK_SEQPACKET, SCM_RIGHTS), fork(2), prctl(2) (PR_SET_PDEATHSIG).

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use crate::Result;

/// Bytes of one message.
pub const MESSAGE: usize = 24;

/// Two connected ends, non-blocking, closed on exec.
pub fn pair() -> Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)
}

/// Sends a message and, with it, a descriptor; EAGAIN when the other side is behind.
pub fn send(end: impl AsFd, message: &[u8; MESSAGE], fd: Option<std::os::fd::BorrowedFd<'_>>) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = fd.map(|fd| [fd]);
    if let Some(fds) = &fds {
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    sendmsg(end, &[IoSlice::new(message)], &mut control, SendFlags::NOSIGNAL).map(drop)
}

/// Takes a message, and the descriptor that came with it. `None` when the other side is gone, EAGAIN when nothing is there.
pub fn recv(end: impl AsFd) -> Result<Option<([u8; MESSAGE], Option<OwnedFd>)>> {
    let mut message = [0; MESSAGE];
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

/// A child made by [`fork`]; waited for when dropped.
#[derive(Debug)]
pub struct Child(libc::pid_t);

impl Drop for Child {
    fn drop(&mut self) {
        let mut status = 0;
        // SAFETY: waits for our own child; the pointer is valid for one int.
        while unsafe { libc::waitpid(self.0, &raw mut status, 0) } < 0 && crate::last_errno() == crate::Errno::INTR {}
    }
}

/// Forks; the child closes its copies of `not_there`, runs `body` and ends with its number, never returning here. It is killed when the parent's thread that
/// forked ends first.
///
/// `body` must not wait for a lock that another thread of this process may hold, nor for such a thread: in the child
/// only the calling thread lives on. Taking memory is fine (the system's allocator is made for this), printing is not.
pub fn fork(not_there: &[std::os::fd::BorrowedFd<'_>], body: impl FnOnce() -> u8) -> Result<Child> {
    // SAFETY: the child goes on with a copy of everything; what could hang there is excluded by the promise above, which
    // is about progress, not about memory. It leaves by `_exit`, so nothing of the parent's runs twice.
    match unsafe { libc::fork() } {
        -1 => Err(crate::last_errno()),
        0 => {
            // SAFETY: plain system calls without pointers. The descriptors that are closed are copies whose owners do not
            // exist in this process: it never returns to them.
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
    fn a_descriptor_arrives_in_a_forked_child_and_works_there() {
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
        let mut message = [0; MESSAGE];
        message[..2].copy_from_slice(b"hi");
        send(&here, &message, Some(theirs.as_fd())).unwrap();
        drop(theirs);
        let mut got = String::new();
        ours.read_to_string(&mut got).unwrap();
        assert_eq!(got, "hi");
        drop(child);
    }

    #[test]
    fn an_end_that_is_gone_is_told() {
        let (here, there) = pair().unwrap();
        assert_eq!(recv(&here).map(drop), Err(crate::Errno::AGAIN));
        drop(there);
        // The child of a neighbouring test may have a copy for a moment.
        assert!(testkit::eventually(|| recv(&here).ok()).is_none());
    }
}
