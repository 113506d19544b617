//! What the kernel says of links, queueing disciplines and routes, by rtnetlink. Source: rtnetlink(7),
//! linux/rtnetlink.h, linux/pkt_sched.h, linux/gen_stats.h. Read only.

use std::net::IpAddr;
use std::os::fd::OwnedFd;

use crate::netlink::{Netlink, Walk, attribute, attributes, u32_at, u64_at};
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
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const STATS_BASIC: u16 = 1;
const STATS_QUEUE: u16 = 3;

/// A queueing discipline and what it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qdisc {
    /// Number of the interface.
    pub ifindex: u32,
    /// `tbf`, `fq_codel`, …
    pub kind: String,
    /// Its handle, major number in the upper 16 bits; 0 for a default one.
    pub handle: u32,
    /// Where it hangs: `u32::MAX` is the root of the interface.
    pub parent: u32,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets sent (merged ones count as their segments).
    pub packets: u32,
    /// Bytes that wait.
    pub backlog: u32,
    /// Packets dropped.
    pub drops: u32,
    /// Times that a packet had to wait for the rate.
    pub overlimits: u32,
    /// Packets put back by the driver.
    pub requeues: u32,
}

impl Qdisc {
    /// `8001:` for a handle, `root` for none.
    pub fn handle_name(&self) -> String {
        if self.handle == 0 { "root".into() } else { format!("{:x}:", self.handle >> 16) }
    }
}

/// A routing netlink socket.
#[derive(Debug)]
pub struct Rtnl(Netlink);

impl Rtnl {
    /// Opens one in the caller's network namespace. Needs no privilege.
    pub fn open() -> Result<Self> {
        Netlink::open(None).map(Self)
    }

    /// Takes over one that was opened in another network namespace.
    pub fn over(fd: OwnedFd) -> Result<Self> {
        Netlink::over(fd).map(Self)
    }

    /// Gives number and name of every interface.
    pub fn links(&mut self, mut each: impl FnMut(u32, &str)) -> Result<()> {
        self.0.ask(GETLINK, true, &[&[0; 16]], |kind, payload| {
            let name = attributes(payload.get(16..).unwrap_or_default()).find(|(k, _)| *k == IFLA_IFNAME);
            if let (NEWLINK, Some(index), Some((_, name))) = (kind, u32_at(payload, 4), name) {
                each(index, text(name));
            }
            Walk::On
        })?;
        Ok(())
    }

    /// Gives every queueing discipline; `scratch` is reused for each.
    pub fn qdiscs(&mut self, scratch: &mut Qdisc, mut each: impl FnMut(&Qdisc)) -> Result<()> {
        self.0.ask(GETQDISC, true, &[&[0; 20]], |kind, payload| {
            if kind == NEWQDISC && read_qdisc(payload, scratch).is_some() {
                each(scratch);
            }
            Walk::On
        })?;
        Ok(())
    }

    /// Whether an address belongs to this network namespace (the routing table says `local`).
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
            Walk::On
        });
        match asked {
            Ok(_) => Ok(local),
            Err(Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::INVAL) => Ok(false),
            Err(e) => Err(e),
        }
    }
}

/// `struct tcmsg`: interface at 4, handle at 8, parent at 12, attributes from 20.
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
    fn handles_have_names() {
        assert_eq!(Qdisc { handle: 0x8001_0000, ..Qdisc::default() }.handle_name(), "8001:");
        assert_eq!(Qdisc::default().handle_name(), "root");
    }
}
