//! TAP interfaces (frames of an interface read and written by a program) and segmentation offloads of interfaces.
//! Source: Documentation/networking/tuntap.rst, ethtool ioctls of linux/ethtool.h, netdevice(7).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::{Errno, Result, last_errno};

const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const SIOCETHTOOL: libc::c_ulong = 0x8946;
const OFFLOADS: [(u32, &str); 3] = [(0x1f, "tso"), (0x24, "gso"), (0x2c, "gro")];

/// One TAP interface. It exists as long as this value.
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
        // SAFETY: the descriptor is open, and the pointer is valid for one `ifreq` over the call.
        match unsafe { libc::ioctl(fd.as_raw_fd(), TUNSETIFF as _, &raw mut request) } {
            -1 => Err(last_errno()),
            _ => Ok(Self { fd }),
        }
    }

    /// Reads one frame that the host sent; `AGAIN` when there is none.
    #[inline]
    pub fn read(&self, frame: &mut [u8]) -> Result<usize> {
        rustix::io::read(&self.fd, frame)
    }

    /// Gives one frame to the host.
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

/// Turns off segmentation and receive merging of an interface, so that its packets are those of the wire. `control`
/// is any socket of the interface's namespace. Returns what the driver would not turn off.
pub fn offloads_off(control: BorrowedFd<'_>, name: &str) -> Result<Vec<&'static str>> {
    let mut refused = Vec::new();
    for (command, what) in OFFLOADS {
        let mut value = EthtoolValue { command, data: 0 };
        let mut request = named(name)?;
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: the request names a live `EthtoolValue` of this stack, which is what these three commands read.
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
    fn names_that_do_not_fit_are_refused() {
        assert!(named("").is_err());
        assert!(named("a-name-that-is-too-long").is_err());
        assert!(named("eth0").is_ok());
    }
}
