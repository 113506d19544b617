//! One half-duplex wire that all hosts share (`ethernet10`, `hub100`).
//!
//! In the kernel, a bridge joins the hosts. The kernel redirects the frames that enter each port to one `ifb`
//! interface. The queueing discipline `htb` of the `ifb` interface sends the frames at the wire's rate, and the frames
//! return to the bridge. All hosts and both directions therefore share one sender with a limited rate. If the kernel
//! lacks `ifb` or a feature that `tc` needs, a hub in user space replaces the kernel's wire. Neither the kernel's wire
//! nor the hub in user space simulates collisions.
//!
//! The stations (hosts) take turns, as on an Ethernet, and each station has its own queue. In one common queue, a
//! request would wait behind all answers that were queued before it. With one queue for all stations, the clients of a
//! closed loop would also fall into step. The clients would all send at about the same time, and all wait at the same
//! time. A wire with one queue for all stations would therefore be idle at times: five clients would use only 79 % of
//! it.

use std::fmt::Write as _;
use std::sync::Arc;

use super::medium::{BuiltMedium, MediumPlan, Wire};
use super::qdiscs::{KernelWire, MAX_FRAME_BYTES, MAX_LATENESS_US, Qdiscs, WIRE_CLASS};
use crate::arguments::Arguments;
use crate::error::{Result, setup};
use crate::forward::{Engine, FRAMING_BYTES, Hub};
use crate::net::{Net, port_name};
use crate::tools;

/// Maximum number of bytes in each station's queue. A queue that takes more than about 1 s to send at 10 Mbit/s would
/// hide losses. The queue must also have room for a client's whole TCP window.
const LIMIT_BYTES: u64 = 192_000;

#[derive(Debug)]
struct Shared {
    name: &'static str,
    bits_per_s: u64,
    user_space: bool,
}

struct Kernel {
    wire: KernelWire,
}

struct UserSpace {
    name: &'static str,
    engine: Engine,
    /// Type of the interfaces between the hub and the hosts, on which the hub reads and writes frames.
    ends: &'static str,
    why: String,
}

pub(super) fn plan(
    name: &'static str,
    bits_per_s: u64,
    arguments: &mut Arguments,
) -> Result<Box<dyn MediumPlan>, String> {
    let user_space = match arguments.take_plain().as_deref() {
        None => false,
        Some("user") => true,
        Some(other) => return Err(format!("{other:?} is not known; `{name}:user` asks for the hub in user space")),
    };
    Ok(Box::new(Shared { name, bits_per_s, user_space }))
}

impl MediumPlan for Shared {
    fn join(&self, net: &Net) -> Result<Box<dyn BuiltMedium>> {
        if self.user_space {
            return self.hub(net, "asked for".into());
        }
        match self.serialiser(net) {
            Ok(()) => self.kernel(net),
            Err(e) => self.hub(net, e.to_string()),
        }
    }
}

impl Shared {
    /// Creates the `ifb` interface through which all frames pass. The interface `ifb0` is created first, because this
    /// shows whether the kernel has everything that the medium needs.
    fn serialiser(&self, net: &Net) -> Result<()> {
        tools::ip(&net.middle.netns, "link add ifb0 type ifb\nlink set ifb0 up\n")?;
        tools::tc(&net.middle.netns, &stations(self.bits_per_s, net.hosts.len()))
    }

    fn kernel(&self, net: &Net) -> Result<Box<dyn BuiltMedium>> {
        bridge(net)?;
        let mut script = String::new();
        for port in ports(net) {
            let _ = write!(
                script,
                "qdisc add dev {port} clsact\n\
                 filter add dev {port} ingress protocol all prio 1 u32 match u32 0 0 action mirred egress redirect dev ifb0\n"
            );
        }
        tools::tc(&net.middle.netns, &script)?;
        let qdiscs = Arc::new(Qdiscs::open(&net.middle.netns)?);
        Ok(Box::new(Kernel { wire: KernelWire::new(self.name.into(), "ifb0", &qdiscs, self.bits_per_s) }))
    }

    fn hub(&self, net: &Net, why: String) -> Result<Box<dyn BuiltMedium>> {
        let (ports, ends) = net.forwarded()?;
        let hub = Box::new(Hub::new(self.bits_per_s, LIMIT_BYTES, ports.len()));
        let engine = Engine::start(ports, hub, Some(self.bits_per_s));
        let engine = engine.map_err(setup("start the hub", "raise the limit of threads"))?;
        Ok(Box::new(UserSpace { name: self.name, engine, ends, why }))
    }
}

impl BuiltMedium for Kernel {
    fn wires(&self) -> Vec<Wire> {
        vec![self.wire.wire()]
    }

    fn set_speed(&self, share: f64) -> Result<(), String> {
        self.wire.set_speed(share)
    }

    fn made_of(&self) -> String {
        "kernel: a bridge whose ports share one ifb with htb, stations in turn".into()
    }

    fn catches_up_us(&self) -> u64 {
        MAX_LATENESS_US
    }
}

impl BuiltMedium for UserSpace {
    fn wires(&self) -> Vec<Wire> {
        vec![Wire { name: self.name.into(), bits_per_s: self.engine.bits_per_s(), counts: Ok(self.engine.counts(0)) }]
    }

    fn set_speed(&self, share: f64) -> Result<(), String> {
        self.engine.set_speed(share)
    }

    fn made_of(&self) -> String {
        format!("user space: a hub on {} ({})", self.ends, self.why)
    }
}

/// Returns the names of the bridge's ports, which are interfaces in the medium's namespace.
pub(super) fn ports(net: &Net) -> Vec<String> {
    (0..net.hosts.len()).map(port_name).collect()
}

/// Joins all hosts by a bridge, and assigns their addresses. Offloads are turned off, so that no packet is larger than
/// on a real wire.
pub(super) fn bridge(net: &Net) -> Result<()> {
    let mut script =
        String::from("link add bridge0 type bridge mcast_snooping 0\nlink set bridge0 addrgenmode none up\n");
    script += &net.cable_script();
    for port in ports(net) {
        let _ = writeln!(script, "link set {port} master bridge0");
    }
    tools::ip(&net.middle.netns, &script)?;
    Net::real_packets(&net.middle.netns, &ports(net))?;
    net.address_hosts()?;
    (0..net.hosts.len()).try_for_each(|host| Net::real_packets(net.netns(host), &["eth0".into()]))
}

/// Returns the `tc` commands that limit the rate of the traffic that leaves through `dev`. The rate includes the bytes
/// that Ethernet adds.
pub(super) fn rate(dev: &str, bits_per_s: u64) -> String {
    let burst = bits_per_s / 8 * MAX_LATENESS_US / 1_000_000;
    format!(
        "qdisc add dev {dev} root handle 1: stab overhead {FRAMING_BYTES} mpu 84 linklayer ethernet htb default {WIRE_CLASS:x}\n\
         class add dev {dev} parent 1: classid 1:{WIRE_CLASS:x} htb rate {bits_per_s}bit ceil {bits_per_s}bit burst {burst} \
         cburst {burst} quantum {MAX_FRAME_BYTES}\n\
         qdisc add dev {dev} parent 1:{WIRE_CLASS:x} bfifo limit {LIMIT_BYTES}\n"
    )
}

/// Returns the `tc` commands for a wire with one `htb` class per station. The sender's hardware address selects the
/// class. The stations take turns, each with one frame of maximum size. The guaranteed rate of each class is almost 0,
/// so the stations borrow nearly all their rate from the wire's class.
fn stations(bits_per_s: u64, hosts: usize) -> String {
    let mut script = rate("ifb0", bits_per_s);
    script.truncate(script.find("qdisc add dev ifb0 parent").unwrap_or(script.len()));
    for host in 0..hosts {
        let (class, [.., high, low]) = (host + 1, crate::net::mac(host));
        let _ = write!(
            script,
            "class add dev ifb0 parent 1:{WIRE_CLASS:x} classid 1:{class:x} htb rate 8bit ceil 10gbit burst 1 cburst 1600 \
             quantum {MAX_FRAME_BYTES}\n\
             qdisc add dev ifb0 parent 1:{class:x} bfifo limit {LIMIT_BYTES}\n\
             filter add dev ifb0 parent 1: protocol all prio 1 u32 match u16 0x{high:02x}{low:02x} 0xffff at -4 \
             flowid 1:{class:x}\n"
        );
    }
    script
}
