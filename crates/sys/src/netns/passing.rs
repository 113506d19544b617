//! Passes descriptors from a short-lived child process to its parent. Source: unix(7) (SCM_RIGHTS).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::open_spec::OpenSpec;

pub(super) fn io_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Opens one descriptor and sends it to the parent. Uses only async-signal-safe calls, because it runs in a forked
/// child.
pub(super) fn send_one(to: &OwnedFd, want: &OpenSpec) -> io::Result<()> {
    // SAFETY: open and socket get valid arguments. The message and its control buffer live on this stack during
    // sendmsg, and the control buffer has room for one descriptor.
    unsafe {
        let fd = match want {
            OpenSpec::File(path) => libc::open(path.as_ptr(), libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC),
            OpenSpec::Socket { family, kind, protocol } => libc::socket(*family, kind | libc::SOCK_CLOEXEC, *protocol),
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut byte = [0_u8; 1];
        let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        let mut control = [0_u64; 4];
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<i32>() as u32) as _;
        let head = libc::CMSG_FIRSTHDR(&raw const message);
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(size_of::<i32>() as u32) as _;
        libc::CMSG_DATA(head).cast::<i32>().write_unaligned(fd);
        match libc::sendmsg(to.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) {
            1 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

pub(super) fn receive_one(from: &OwnedFd) -> Option<OwnedFd> {
    // SAFETY: message, buffer and control buffer live on this stack during recvmsg. A descriptor in the control buffer
    // is new and has no other owner.
    unsafe {
        let mut byte = [0_u8; 1];
        let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        let mut control = [0_u64; 4];
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        if libc::recvmsg(from.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) != 1 {
            return None;
        }
        let head = libc::CMSG_FIRSTHDR(&raw const message);
        if head.is_null() || (*head).cmsg_type != libc::SCM_RIGHTS || (*head).cmsg_level != libc::SOL_SOCKET {
            return None;
        }
        Some(OwnedFd::from_raw_fd(libc::CMSG_DATA(head).cast::<i32>().read_unaligned()))
    }
}

pub(super) fn exit_code(child: i32) -> io::Result<i32> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is valid for one status. `child` is a child of this process that was not waited for.
        if unsafe { libc::waitpid(child, &raw mut status, 0) } == child {
            return Ok(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { libc::EIO });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
