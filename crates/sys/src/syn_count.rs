//! Counts connection requests when they arrive. A packet socket has a filter that accepts only SYNs to one port, and
//! the kernel counts the accepted packets. The program reads no packet, so each arriving packet costs only one run of
//! the filter.
//!
//! Requires CAP_NET_RAW in the network namespace. Source: packet(7), PACKET_STATISTICS; the classic BPF of
//! linux/filter.h.

use std::ffi::CString;
use std::mem::{size_of, size_of_val};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::{Errno, Result, last_errno};

/// Protocol number of IPv4: only IPv4 packets are counted. SOCK_DGRAM removes all headers before the IP header.
const ETH_P_IP: u16 = 0x0800;
/// Offset (a special value) from which the filter loads the packet's direction: incoming or outgoing. On loopback, each
/// packet appears twice, as outgoing and as incoming.
const PACKET_TYPE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;

/// A running count of SYNs (without ACK) that arrive at an interface for one port.
#[derive(Debug)]
pub struct SynCounter {
    socket: OwnedFd,
    total: u64,
}

impl SynCounter {
    /// Family, type and protocol of the socket for [`SynCounter::on`].
    pub const KIND: (i32, i32, i32) = (libc::AF_PACKET, libc::SOCK_DGRAM, 0);

    /// Starts counting at an interface of the calling thread's network namespace. Fails with EPERM without CAP_NET_RAW,
    /// and with ENODEV for a missing interface.
    pub fn open(interface: &str, port: u16) -> Result<Self> {
        // SAFETY: socket() takes no pointers.
        let fd =
            unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0) };
        if fd < 0 {
            return Err(last_errno());
        }
        // SAFETY: the descriptor is new and owned by nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        Self::on(socket, interface, port)
    }

    /// Starts counting with a packet socket of [`SynCounter::KIND`] that was opened elsewhere, for example in another
    /// network namespace. `interface` is the name of an interface in that namespace.
    pub fn on(socket: OwnedFd, interface: &str, port: u16) -> Result<Self> {
        // Protocol 0 receives nothing until bind(), so no packet is counted before the filter is in place.
        attach(&socket, &filter(port))?;
        bind(&socket, interface, ETH_P_IP)?;
        Ok(Self { socket, total: 0 })
    }

    /// Returns the number of SYNs since the count was started.
    pub fn count(&mut self) -> Result<u64> {
        let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of_val(&stats) as libc::socklen_t;
        // SAFETY: both pointers are valid for the given sizes, and the kernel writes at most `length` bytes.
        let result = unsafe {
            let stats: *mut libc::tpacket_stats = &mut stats;
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                stats.cast(),
                &mut length,
            )
        };
        if result != 0 {
            return Err(last_errno());
        }
        // tp_packets counts packets that passed the filter, including those dropped because the buffer was full.
        // Reading the statistics resets the kernel's counter.
        self.total += u64::from(stats.tp_packets);
        Ok(self.total)
    }
}

/// Builds a filter that passes incoming IPv4 TCP packets to destination `port` that have SYN and no ACK. The filter
/// rejects the second and all later fragments of a fragmented packet.
fn filter(port: u16) -> [libc::sock_filter; 14] {
    const LD_W: u16 = 0x20;
    const LD_H: u16 = 0x28;
    const LD_B: u16 = 0x30;
    const LDX_HEADER_LENGTH: u16 = 0xb1;
    const LD_H_INDEXED: u16 = 0x48;
    const LD_B_INDEXED: u16 = 0x50;
    const AND: u16 = 0x54;
    const JUMP_EQUAL: u16 = 0x15;
    const JUMP_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    let op = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    // For a rejected packet, the filter jumps `to_end` instructions ahead, to the last instruction, which returns 0.
    let unless_equal = |k, to_end| libc::sock_filter { code: JUMP_EQUAL, jt: 0, jf: to_end, k };
    [
        op(LD_W, PACKET_TYPE),
        unless_equal(u32::from(libc::PACKET_HOST), 11),
        op(LD_B, 9),
        unless_equal(libc::IPPROTO_TCP as u32, 9),
        op(LD_H, 6),
        libc::sock_filter { code: JUMP_SET, jt: 7, jf: 0, k: 0x1fff },
        op(LDX_HEADER_LENGTH, 0),
        op(LD_H_INDEXED, 2),
        unless_equal(u32::from(port), 4),
        op(LD_B_INDEXED, 13),
        op(AND, 0x12),
        unless_equal(0x02, 1),
        op(RETURN, 1),
        op(RETURN, 0),
    ]
}

fn attach(socket: &OwnedFd, code: &[libc::sock_filter]) -> Result<()> {
    let len = u16::try_from(code.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog { len, filter: code.as_ptr().cast_mut() };
    let pointer: *const libc::sock_fprog = &program;
    // SAFETY: the program points to `len` instructions that live during the call. The kernel copies and only reads the
    // instructions.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            pointer.cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Lets a packet socket receive packets of one protocol (host byte order) on an interface of the socket's namespace.
pub(crate) fn bind(socket: &OwnedFd, interface: &str, protocol: u16) -> Result<()> {
    let index = index(socket, interface)?;
    // SAFETY: all-zero is a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index;
    let pointer: *const libc::sockaddr_ll = &address;
    // SAFETY: the pointer is valid for the given size, and the kernel only reads.
    let result =
        unsafe { libc::bind(socket.as_raw_fd(), pointer.cast(), size_of::<libc::sockaddr_ll>() as libc::socklen_t) };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Returns the number of an interface in the socket's network namespace.
fn index(socket: &OwnedFd, interface: &str) -> Result<i32> {
    let name = CString::new(interface).map_err(|_| Errno::INVAL)?;
    // SAFETY: all-zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let bytes = name.as_bytes_with_nul();
    if bytes.len() > request.ifr_name.len() {
        return Err(Errno::NODEV);
    }
    for (to, from) in request.ifr_name.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    // SAFETY: SIOCGIFINDEX reads and writes one ifreq, for which the pointer is valid.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFINDEX as _, &raw mut request) } != 0 {
        return Err(last_errno());
    }
    // SAFETY: after SIOCGIFINDEX the kernel has written this member of the union.
    Ok(unsafe { request.ifr_ifru.ifru_ifindex })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn counts_each_connect_once_and_nothing_else() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut counter = match SynCounter::open("lo", listener.local_addr().unwrap().port()) {
            Ok(counter) => counter,
            Err(e) => {
                let test = "counts_each_connect_once_and_nothing_else";
                return testkit::skip(test, format!("counting SYNs needs CAP_NET_RAW: {e}"));
            }
        };
        let connects: Vec<_> = (0..7).map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap()).collect();
        let _elsewhere = TcpStream::connect(other.local_addr().unwrap()).unwrap();
        assert_eq!(counter.count().unwrap(), 7);
        drop(connects);
        assert_eq!(counter.count().unwrap(), 7, "closing sends no SYN");
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        assert!(SynCounter::open("no-such-if", 1).is_err());
        assert!(SynCounter::open("nul\0", 1).is_err());
    }
}
