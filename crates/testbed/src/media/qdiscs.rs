//! Simulated wires: Linux queueing disciplines (qdiscs) of a network namespace limit the rate and count the traffic.
//! Before a qdisc applies its rate, its size table (stab) adds the bytes of Ethernet's framing to the size of each
//! frame. The byte counts of this file therefore include the bytes of Ethernet's framing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sys::netns::{Netns, OpenSpec};
use sys::rtnl::{HtbRate, Qdisc, Rtnl};

use super::medium::Wire;
use crate::error::{Result, setup};
use crate::forward::Counts;

/// Maximum lateness of the kernel's timer at which the wire still reaches its full rate, microseconds. After a pause,
/// the wire may send without delay as much traffic as it normally carries in `MAX_LATENESS_US`. The amount that is sent
/// without delay may be less than one frame. `htb` first sends a whole frame, and then waits until it has enough tokens
/// again. The alternative qdisc `tbf` would need enough tokens for a whole frame before it sends the frame.
pub(super) const MAX_LATENESS_US: u64 = 400;
/// Maximum size of a frame on the wire, bytes. If several classes (stations) wait, each class sends this many bytes per
/// turn.
pub(super) const MAX_FRAME_BYTES: u32 = 1538;
/// Minor number of the `htb` class that represents the wire. The major number of the class is 1.
pub(super) const WIRE_CLASS: u16 = 0xfff;

/// Netlink access to the queueing disciplines of one namespace.
pub(super) struct Qdiscs {
    route: Mutex<Rtnl>,
}

impl Qdiscs {
    pub(super) fn open(netns: &Netns) -> Result<Self> {
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

/// A wire, implemented by the root qdisc `htb` of a network interface.
pub(super) struct KernelWire {
    name: String,
    interface: String,
    qdiscs: Arc<Qdiscs>,
    bits_per_s: u64,
    now: Mutex<RatePeriod>,
}

/// A period in which the wire has a constant rate. The fields are the constant rate, and the wire's total bytes and
/// busy time at the start of the period.
#[derive(Clone, Copy)]
struct RatePeriod {
    bits_per_s: u64,
    bytes: u64,
    busy_ns: u64,
}

impl RatePeriod {
    /// Returns the total busy time of the wire up to the moment when it had sent `bytes` bytes in total, nanoseconds.
    /// That moment must be within the period that `self` describes.
    fn busy_ns(&self, bytes: u64) -> u64 {
        let since = u128::from(bytes.saturating_sub(self.bytes)) * 8_000_000_000 / u128::from(self.bits_per_s);
        self.busy_ns + since as u64
    }
}

impl KernelWire {
    /// Creates the value for a wire. The wire carries the frames that leave the namespace through `interface`.
    pub(super) fn new(name: String, interface: &str, qdiscs: &Arc<Qdiscs>, bits_per_s: u64) -> Self {
        let now = Mutex::new(RatePeriod { bits_per_s, bytes: 0, busy_ns: 0 });
        Self { name, interface: interface.into(), qdiscs: Arc::clone(qdiscs), bits_per_s, now }
    }

    /// Returns a description of the wire with its current rate and its counts so far.
    pub(super) fn wire(&self) -> Wire {
        let now = *self.period();
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

    /// Sets the wire's rate to a share of its full rate.
    pub(super) fn set_speed(&self, share: f64) -> Result<(), String> {
        let mut now = self.period();
        let (index, root) = self.read()?;
        let bits_per_s = (self.bits_per_s as f64 * share) as u64;
        let rate = HtbRate { bits_per_s, burst_ns: MAX_LATENESS_US * 1000, quantum_bytes: MAX_FRAME_BYTES };
        let changed = self.qdiscs.route().set_htb_rate(index, 1 << 16 | u32::from(WIRE_CLASS), &rate);
        changed.map_err(|e| format!("{} cannot be given {bits_per_s} bit/s: {e}", self.name))?;
        *now = RatePeriod { bits_per_s, bytes: root.bytes, busy_ns: now.busy_ns(root.bytes) };
        Ok(())
    }

    fn period(&self) -> MutexGuard<'_, RatePeriod> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the index of the wire's interface, and the counters of the interface's root qdisc `htb`.
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
    use super::RatePeriod;

    #[test]
    fn time_in_use_counts_each_byte_at_its_own_rate() {
        let fast = RatePeriod { bits_per_s: 10_000_000, bytes: 0, busy_ns: 0 };
        assert_eq!(fast.busy_ns(1000), 800_000);
        let slow = RatePeriod { bits_per_s: 5_000_000, bytes: 1000, busy_ns: fast.busy_ns(1000) };
        assert_eq!(slow.busy_ns(2000), 800_000 + 1_600_000);
    }
}
