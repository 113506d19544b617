//! Links, queueing disciplines and routes as the kernel reports them (rtnetlink). Source: rtnetlink(7),
//! linux/rtnetlink.h, linux/pkt_sched.h, linux/gen_stats.h. This module changes only the rate of an `htb` class, and
//! reads everything else.

use std::net::IpAddr;
use std::os::fd::OwnedFd;

use crate::netlink::{DumpControl, Netlink, attribute, attributes, u32_at, u64_at};
use crate::{Errno, Result};

const NEWLINK: u16 = 16;
const GETLINK: u16 = 18;
const NEWROUTE: u16 = 24;
const GETROUTE: u16 = 26;
const NEWQDISC: u16 = 36;
const GETQDISC: u16 = 38;
const IFLA_IFNAME: u16 = 3;
const RTA_DST: u16 = 1;
const RTN_LOCAL: u8 = 2;
const NEWTCLASS: u16 = 40;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const STATS_BASIC: u16 = 1;
const STATS_QUEUE: u16 = 3;
const HTB_PARMS: u16 = 1;
const HTB_RATE64: u16 = 6;
const HTB_CEIL64: u16 = 7;
/// Link layer for which the rates of an `htb` class apply. For Ethernet, the kernel computes the sending time of a
/// packet from its length. No table of sending times is therefore passed with the rates.
const LINKLAYER_ETHERNET: u8 = 1;
/// Length of a packet scheduler tick in nanoseconds (PSCHED_SHIFT).
const TICK_NS: u64 = 64;

/// A queueing discipline and its counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qdisc {
    /// Number (index) of the network interface.
    pub ifindex: u32,
    /// Name of the discipline: `tbf`, `fq_codel`, …
    pub kind: String,
    /// Handle with the major number in the upper 16 bits; 0 for a default discipline.
    pub handle: u32,
    /// Parent handle; `u32::MAX` is the root of the interface.
    pub parent: u32,
    /// Number of bytes that the discipline has sent.
    pub bytes: u64,
    /// Number of packets that the discipline has sent. A packet that was merged from several segments counts once per
    /// segment.
    pub packets: u32,
    /// Number of bytes that wait in the queue.
    pub backlog: u32,
    /// Number of packets that the discipline has dropped.
    pub drops: u32,
    /// Number of times that the rate limit delayed a packet.
    pub overlimits: u32,
    /// Number of times that the driver returned a packet to the queue (requeues).
    pub requeues: u32,
}

impl Qdisc {
    /// Returns the handle as text, for example `8001:`; `root` for handle 0.
    pub fn handle_name(&self) -> String {
        if self.handle == 0 { "root".into() } else { format!("{:x}:", self.handle >> 16) }
    }
}

/// Send limits of an `htb` class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbRate {
    /// Rate limit, bits per second.
    pub bits_per_s: u64,
    /// Size of the burst that may be sent without delay after a pause. The size is given as the time that sending the
    /// burst takes at the limited rate, nanoseconds.
    pub burst_ns: u64,
    /// Number of bytes that the class may send before the scheduler serves the next class.
    pub quantum_bytes: u32,
}

/// A routing netlink socket.
#[derive(Debug)]
pub struct Rtnl(Netlink);

impl Rtnl {
    /// Opens a socket in the caller's network namespace. Opening the socket requires no privilege.
    pub fn open() -> Result<Self> {
        Netlink::open(None).map(Self)
    }

    /// Uses a socket that was opened in another network namespace.
    pub fn over(fd: OwnedFd) -> Result<Self> {
        Netlink::over(fd).map(Self)
    }

    /// Calls `each` with number and name of every interface.
    pub fn links(&mut self, mut each: impl FnMut(u32, &str)) -> Result<()> {
        self.0.ask(GETLINK, true, &[&[0; 16]], |kind, payload| {
            let name = attributes(payload.get(16..).unwrap_or_default()).find(|(k, _)| *k == IFLA_IFNAME);
            if let (NEWLINK, Some(index), Some((_, name))) = (kind, u32_at(payload, 4), name) {
                each(index, text(name));
            }
            DumpControl::Continue
        })?;
        Ok(())
    }

    /// Calls `each` with every queueing discipline. `scratch` is reused for each discipline.
    pub fn qdiscs(&mut self, scratch: &mut Qdisc, mut each: impl FnMut(&Qdisc)) -> Result<()> {
        self.0.ask(GETQDISC, true, &[&[0; 20]], |kind, payload| {
            if kind == NEWQDISC && read_qdisc(payload, scratch).is_some() {
                each(scratch);
            }
            DumpControl::Continue
        })?;
        Ok(())
    }

    /// Changes the rate of an existing `htb` class directly below the root of an interface. Requires CAP_NET_ADMIN in
    /// the network namespace of the socket.
    pub fn set_htb_rate(&mut self, ifindex: u32, class: u32, rate: &HtbRate) -> Result<()> {
        let mut head = [0_u8; 20];
        head[4..8].copy_from_slice(&ifindex.to_ne_bytes());
        head[8..12].copy_from_slice(&class.to_ne_bytes());
        head[12..16].copy_from_slice(&(class & 0xffff_0000).to_ne_bytes());
        let options = attribute(TCA_OPTIONS, &htb_options(rate));
        self.0.change(NEWTCLASS, &[&head, &attribute(TCA_KIND, b"htb\0"), &options])
    }

    /// Returns true if an address belongs to this network namespace (the routing table has it as `local`).
    pub fn is_local(&mut self, addr: IpAddr) -> Result<bool> {
        let (family, bits, bytes) = match addr {
            IpAddr::V4(a) => (2_u8, 32_u8, a.octets().to_vec()),
            IpAddr::V6(a) => (10, 128, a.octets().to_vec()),
        };
        let mut head = [0_u8; 12];
        (head[0], head[1]) = (family, bits);
        let mut local = false;
        let asked = self.0.ask(GETROUTE, false, &[&head, &attribute(RTA_DST, &bytes)], |kind, payload| {
            local = kind == NEWROUTE && payload.get(7) == Some(&RTN_LOCAL);
            DumpControl::Continue
        });
        match asked {
            Ok(_) => Ok(local),
            Err(Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::INVAL) => Ok(false),
            Err(e) => Err(e),
        }
    }
}

/// Encodes `struct tc_htb_opt` (rate, ceiling, the burst of each in ticks, quantum, level, priority). Rate and ceiling
/// follow the structure as 64-bit numbers.
fn htb_options(rate: &HtbRate) -> Vec<u8> {
    let bytes_per_s = rate.bits_per_s / 8;
    // `struct tc_ratespec`: cell logarithm, link layer, overhead (16 bits), alignment (16), minimum packet (16), rate
    // (32).
    let mut spec = vec![0, LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0];
    spec.extend(u32::try_from(bytes_per_s).unwrap_or(u32::MAX).to_ne_bytes());
    let ticks = u32::try_from(rate.burst_ns / TICK_NS).unwrap_or(u32::MAX);
    let mut parms = [spec.clone(), spec].concat();
    [ticks, ticks, rate.quantum_bytes, 0, 0].iter().for_each(|word| parms.extend(word.to_ne_bytes()));
    let wide = bytes_per_s.to_ne_bytes();
    [attribute(HTB_PARMS, &parms), attribute(HTB_RATE64, &wide), attribute(HTB_CEIL64, &wide)].concat()
}

/// Parses `struct tcmsg`: interface at offset 4, handle at 8, parent at 12, attributes from 20.
fn read_qdisc(payload: &[u8], into: &mut Qdisc) -> Option<()> {
    let mut kind = std::mem::take(&mut into.kind);
    kind.clear();
    *into = Qdisc {
        ifindex: u32_at(payload, 4)?,
        handle: u32_at(payload, 8)?,
        parent: u32_at(payload, 12)?,
        kind,
        ..Qdisc::default()
    };
    let mut told = None;
    for (attribute, value) in attributes(payload.get(20..)?) {
        match attribute {
            TCA_KIND => into.kind.push_str(text(value)),
            TCA_STATS2 => told = read_stats(value, into),
            _ => {}
        }
    }
    told
}

fn read_stats(value: &[u8], into: &mut Qdisc) -> Option<()> {
    for (kind, v) in attributes(value) {
        match kind {
            STATS_BASIC => (into.bytes, into.packets) = (u64_at(v, 0)?, u32_at(v, 8)?),
            STATS_QUEUE => {
                into.backlog = u32_at(v, 4)?;
                into.drops = u32_at(v, 8)?;
                into.requeues = u32_at(v, 12)?;
                into.overlimits = u32_at(v, 16)?;
            }
            _ => {}
        }
    }
    Some(())
}

fn text(bytes: &[u8]) -> &str {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    std::str::from_utf8(&bytes[..end]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_a_link_and_local() {
        let mut rtnl = Rtnl::open().unwrap();
        let mut names = Vec::new();
        rtnl.links(|index, name| names.push((index, name.to_owned()))).unwrap();
        assert!(names.contains(&(1, "lo".to_owned())), "{names:?}");
        assert!(rtnl.is_local("127.0.0.1".parse().unwrap()).unwrap());
        assert!(!rtnl.is_local("192.0.2.77".parse().unwrap()).unwrap());
        rtnl.qdiscs(&mut Qdisc::default(), |q| assert!(!q.kind.is_empty())).unwrap();
    }

    #[test]
    fn the_rate_of_a_class_is_written_as_the_kernel_reads_it() {
        let bytes = htb_options(&HtbRate { bits_per_s: 7_500_000, burst_ns: 400_000, quantum_bytes: 1538 });
        let found: Vec<(u16, &[u8])> = attributes(&bytes).collect();
        let (parms, wide) = (found[0].1, found[1].1);
        assert_eq!(
            (found.len(), parms.len(), u32_at(parms, 8), u32_at(parms, 20)),
            (3, 44, Some(937_500), Some(937_500))
        );
        assert_eq!((u32_at(parms, 24), u32_at(parms, 32), u64_at(wide, 0)), (Some(6250), Some(1538), Some(937_500)));
    }

    #[test]
    fn handles_are_printed_as_tc_prints_them() {
        assert_eq!(Qdisc { handle: 0x8001_0000, ..Qdisc::default() }.handle_name(), "8001:");
        assert_eq!(Qdisc::default().handle_name(), "root");
    }
}
