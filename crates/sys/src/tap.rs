//! Access to the frames of an interface, and control of its offloads. Frames pass through a TAP interface, or through a
//! packet socket on the other end of a veth pair, which requires no device file. Source:
//! Documentation/networking/tuntap.rst, packet(7), ethtool ioctls of linux/ethtool.h, netdevice(7).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::socket::set_int;
use crate::{Errno, Result, last_errno};

const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const SIOCETHTOOL: libc::c_ulong = 0x8946;
const SEGMENTS: [(u32, &str); 3] = [(0x1f, "tso"), (0x24, "gso"), (0x2c, "gro")];
const CHECKSUMS: [(u32, &str); 1] = [(0x17, "tx checksums")];
/// Socket option that hides outgoing packets, such as those that this program sends.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// Size of the send buffer and of the receive buffer of a packet socket, bytes. The queue of a TAP interface has about
/// the same size as these buffers.
const QUEUE_BYTES: libc::c_int = 1 << 20;

/// The access that this program has to the frames of an interface. A TAP interface exists as long as the value of this
/// type.
#[derive(Debug)]
pub struct Tap {
    fd: OwnedFd,
}

#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

impl Tap {
    /// Turns an open `/dev/net/tun` into a TAP interface of the namespace in which it was opened.
    pub fn attach(fd: OwnedFd, name: &str) -> Result<Self> {
        let mut request = named(name)?;
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as i16;
        // SAFETY: the descriptor is open, and the pointer is valid for one `ifreq` during the call.
        match unsafe { libc::ioctl(fd.as_raw_fd(), TUNSETIFF as _, &raw mut request) } {
            -1 => Err(last_errno()),
            _ => Ok(Self { fd }),
        }
    }

    /// Accesses the frames of an interface in the socket's namespace through a raw packet socket. The socket must be
    /// `AF_PACKET`, `SOCK_RAW`, protocol 0, non-blocking. Reading returns frames that the interface receives. Writing
    /// makes the interface send frames.
    pub fn on_interface(fd: OwnedFd, name: &str) -> Result<Self> {
        set_int(&fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
        // The kernel reduces larger sizes to net.core.rmem_max and net.core.wmem_max.
        set_int(&fd, libc::SOL_SOCKET, libc::SO_RCVBUF, QUEUE_BYTES)?;
        set_int(&fd, libc::SOL_SOCKET, libc::SO_SNDBUF, QUEUE_BYTES)?;
        crate::syn_count::bind(&fd, name, libc::ETH_P_ALL as u16)?;
        Ok(Self { fd })
    }

    /// Reads one frame that the host sent to a TAP interface, or that another interface received. Fails with `AGAIN` if
    /// no frame is waiting.
    #[inline]
    pub fn read(&self, frame: &mut [u8]) -> Result<usize> {
        rustix::io::read(&self.fd, frame)
    }

    /// Passes one frame to the host through a TAP interface, or makes another interface send the frame.
    #[inline]
    pub fn write(&self, frame: &[u8]) -> Result<usize> {
        rustix::io::write(&self.fd, frame)
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Turns off segmentation offload and receive merging of an interface, so its packets look as they would on a wire.
/// `control` is any socket of the interface's namespace. Returns the offloads that the driver did not turn off.
pub fn offloads_off(control: BorrowedFd<'_>, name: &str) -> Result<Vec<&'static str>> {
    turn_off(control, name, &SEGMENTS)
}

/// Makes the kernel compute the checksums of packets that an interface sends. A veth interface normally does not
/// compute these checksums. If the kernel did not compute the checksums, frames that pass through a program would be
/// invalid. The parameters and the result have the same meaning as for [`offloads_off`].
pub fn checksums_by_host(control: BorrowedFd<'_>, name: &str) -> Result<Vec<&'static str>> {
    turn_off(control, name, &CHECKSUMS)
}

fn turn_off(control: BorrowedFd<'_>, name: &str, offloads: &[(u32, &'static str)]) -> Result<Vec<&'static str>> {
    let mut refused = Vec::new();
    for &(command, what) in offloads {
        let mut value = EthtoolValue { command, data: 0 };
        let mut request = named(name)?;
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: the request points to a live `EthtoolValue` on this stack, which these commands read.
        if unsafe { libc::ioctl(control.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) } == -1 {
            match last_errno() {
                Errno::OPNOTSUPP | Errno::INVAL => refused.push(what),
                e => return Err(e),
            }
        }
    }
    Ok(refused)
}

fn named(name: &str) -> Result<libc::ifreq> {
    // SAFETY: all-zero is a valid value of this plain C structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() || name.is_empty() {
        return Err(Errno::INVAL);
    }
    request.ifr_name.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from as _);
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interface_names_that_are_too_long_are_refused() {
        assert!(named("").is_err());
        assert!(named("a-name-that-is-too-long").is_err());
        assert!(named("eth0").is_ok());
    }
}
