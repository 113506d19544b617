//! Counts of kernel wires: what the queueing disciplines of a namespace say. Their bytes already hold the framing,
//! since a size table (stab) adds it before the rate is applied.

use std::sync::{Mutex, PoisonError};

use sys::netns::{Inside, Netns};
use sys::rtnl::{Qdisc, Rtnl};

use crate::error::{Result, setup};
use crate::forward::Counts;

/// A view into the disciplines of one namespace.
pub(super) struct Qdiscs {
    route: Mutex<Rtnl>,
}

impl Qdiscs {
    pub(super) fn of(netns: &Netns) -> Result<Self> {
        let open = || -> std::io::Result<Rtnl> {
            let fd = netns.open(&[Inside::ROUTE])?.pop().ok_or(std::io::ErrorKind::UnexpectedEof)?;
            Ok(Rtnl::over(fd)?)
        };
        let route = open().map_err(setup("open a netlink socket in a namespace", "check user namespaces"))?;
        Ok(Self { route: Mutex::new(route) })
    }

    /// What the root `htb` of an interface did.
    pub(super) fn root(&self, interface: &str, bits_per_s: u64) -> Result<Counts, String> {
        let mut route = self.route.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut index, mut counts) = (None, None);
        let fail = |e: sys::Errno| format!("netlink: {e}");
        route.links(|number, name| index = index.or((name == interface).then_some(number))).map_err(fail)?;
        let mut scratch = Qdisc::default();
        route
            .qdiscs(&mut scratch, |q| {
                if Some(q.ifindex) == index && q.parent == u32::MAX && q.kind == "htb" {
                    counts = Some(counts_of(q, bits_per_s));
                }
            })
            .map_err(fail)?;
        counts.ok_or_else(|| format!("{interface} has no htb"))
    }
}

fn counts_of(q: &Qdisc, bits_per_s: u64) -> Counts {
    Counts {
        bytes: q.bytes,
        frames: u64::from(q.packets),
        busy_ns: Some((u128::from(q.bytes) * 8_000_000_000 / u128::from(bits_per_s)) as u64),
        deferrals: u64::from(q.overlimits),
        drops: u64::from(q.drops),
        lost: 0,
        queue_bytes: u64::from(q.backlog),
    }
}
