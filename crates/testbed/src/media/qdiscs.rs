//! Wires of the kernel: what the queueing disciplines of a namespace say, and their rates. Bytes already hold the framing,
//! since a size table (stab) adds it before the rate is applied.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sys::netns::{Netns, OpenSpec};
use sys::rtnl::{HtbRate, Qdisc, Rtnl};

use super::medium::Wire;
use crate::error::{Result, setup};
use crate::forward::Counts;

/// How late the kernel's timer may be before the wire loses rate, as time on the wire; after a pause this much passes
/// at once. `htb` sends into debt and waits until it is paid, so unlike with `tbf` the frame need not fit into it.
pub(super) const LATE_US: u64 = 400;
/// The longest frame with its framing: what a class sends in its turn.
pub(super) const LONGEST_BYTES: u32 = 1538;
/// The minor number of the class that is the wire, below the handle `1:`.
pub(super) const WIRE: u16 = 0xfff;

/// A view into the disciplines of one namespace.
pub(super) struct Qdiscs {
    route: Mutex<Rtnl>,
}

impl Qdiscs {
    pub(super) fn of(netns: &Netns) -> Result<Self> {
        let open = || -> std::io::Result<Rtnl> {
            let fd = netns.open(&[OpenSpec::ROUTE])?.pop().ok_or(std::io::ErrorKind::UnexpectedEof)?;
            Ok(Rtnl::over(fd)?)
        };
        let route = open().map_err(setup("open a netlink socket in a namespace", "check user namespaces"))?;
        Ok(Self { route: Mutex::new(route) })
    }

    fn route(&self) -> MutexGuard<'_, Rtnl> {
        self.route.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One wire: the root `htb` of an interface.
pub(super) struct KernelWire {
    name: String,
    interface: String,
    qdiscs: Arc<Qdiscs>,
    bits_per_s: u64,
    now: Mutex<Stretch>,
}

/// A stretch of time in which the rate is one: what had been carried when it began.
#[derive(Clone, Copy)]
struct Stretch {
    bits_per_s: u64,
    bytes: u64,
    busy_ns: u64,
}

impl Stretch {
    /// Nanoseconds that the wire was in use once it has carried so many bytes in all.
    fn busy_ns(&self, bytes: u64) -> u64 {
        let since = u128::from(bytes.saturating_sub(self.bytes)) * 8_000_000_000 / u128::from(self.bits_per_s);
        self.busy_ns + since as u64
    }
}

impl KernelWire {
    /// The wire whose frames leave by an interface.
    pub(super) fn new(name: String, interface: &str, qdiscs: &Arc<Qdiscs>, bits_per_s: u64) -> Self {
        let now = Mutex::new(Stretch { bits_per_s, bytes: 0, busy_ns: 0 });
        Self { name, interface: interface.into(), qdiscs: Arc::clone(qdiscs), bits_per_s, now }
    }

    /// What it did so far.
    pub(super) fn wire(&self) -> Wire {
        let now = *self.stretch();
        let counts = self.read().map(|(_, root)| Counts {
            bytes: root.bytes,
            frames: u64::from(root.packets),
            busy_ns: Some(now.busy_ns(root.bytes)),
            deferrals: u64::from(root.overlimits),
            drops: u64::from(root.drops),
            lost: 0,
            queue_bytes: u64::from(root.backlog),
        });
        Wire { name: self.name.clone(), bits_per_s: Some(now.bits_per_s), counts }
    }

    /// Gives it this share of its rate.
    pub(super) fn set_speed(&self, share: f64) -> Result<(), String> {
        let mut now = self.stretch();
        let (index, root) = self.read()?;
        let bits_per_s = (self.bits_per_s as f64 * share) as u64;
        let rate = HtbRate { bits_per_s, burst_ns: LATE_US * 1000, quantum_bytes: LONGEST_BYTES };
        let changed = self.qdiscs.route().set_htb_rate(index, 1 << 16 | u32::from(WIRE), &rate);
        changed.map_err(|e| format!("{} cannot be given {bits_per_s} bit/s: {e}", self.name))?;
        *now = Stretch { bits_per_s, bytes: root.bytes, busy_ns: now.busy_ns(root.bytes) };
        Ok(())
    }

    fn stretch(&self) -> MutexGuard<'_, Stretch> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of its interface, and what the `htb` at its root did.
    fn read(&self) -> Result<(u32, Qdisc), String> {
        let mut route = self.qdiscs.route();
        let (mut index, mut root) = (None, None);
        let fail = |e: sys::Errno| format!("netlink: {e}");
        route.links(|number, name| index = index.or((name == self.interface).then_some(number))).map_err(fail)?;
        let mut scratch = Qdisc::default();
        route
            .qdiscs(&mut scratch, |q| {
                if Some(q.ifindex) == index && q.parent == u32::MAX && q.kind == "htb" {
                    root = Some(q.clone());
                }
            })
            .map_err(fail)?;
        index.zip(root).ok_or_else(|| format!("{} has no htb", self.interface))
    }
}

#[cfg(test)]
mod tests {
    use super::Stretch;

    #[test]
    fn time_in_use_is_that_of_the_rate_at_which_each_byte_was_carried() {
        let fast = Stretch { bits_per_s: 10_000_000, bytes: 0, busy_ns: 0 };
        assert_eq!(fast.busy_ns(1000), 800_000);
        let slow = Stretch { bits_per_s: 5_000_000, bytes: 1000, busy_ns: fast.busy_ns(1000) };
        assert_eq!(slow.busy_ns(2000), 800_000 + 1_600_000);
    }
}
