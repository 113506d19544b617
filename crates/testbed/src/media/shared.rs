//! One shared half-duplex wire (`ethernet10`, `hub100`).
//!
//! In the kernel: a bridge joins the hosts; what each port takes in is redirected to one ifb interface, whose `tbf`
//! sends it at the wire's rate and gives it back to the bridge, so all hosts and both directions share one serialiser.
//! Where ifb or a part of tc is missing, our own hub on TAP interfaces does the same. Neither has collisions.

use std::fmt::Write as _;

use super::qdiscs::Qdiscs;
use super::{Joined, MediumPlan, Wire};
use crate::arguments::Arguments;
use crate::error::{Result, setup};
use crate::forward::{Engine, FRAMING_BYTES, Hub};
use crate::net::{Net, mac_text};
use crate::tools;

/// Bytes that may wait for the wire: 1 s at 10 Mbit/s would hide losses, one window of a client must fit.
const LIMIT_BYTES: u64 = 192_000;

#[derive(Debug)]
struct Shared {
    name: &'static str,
    bits_per_s: u64,
    user_space: bool,
}

struct Kernel {
    name: &'static str,
    bits_per_s: u64,
    qdiscs: Qdiscs,
}

struct UserSpace {
    name: &'static str,
    bits_per_s: u64,
    engine: Engine,
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
    fn join(&self, net: &Net) -> Result<Box<dyn Joined>> {
        if self.user_space {
            return self.hub(net, "asked for".into());
        }
        match tools::ip(&net.middle.netns, "link add ifb0 type ifb\nlink set ifb0 up\n") {
            Ok(()) => self.kernel(net),
            Err(e) => self.hub(net, e.to_string()),
        }
    }
}

impl Shared {
    fn kernel(&self, net: &Net) -> Result<Box<dyn Joined>> {
        bridge(net)?;
        let mut script = String::new();
        for port in ports(net) {
            let _ = write!(
                script,
                "qdisc add dev {port} clsact\n\
                 filter add dev {port} ingress protocol all prio 1 u32 match u32 0 0 action mirred egress redirect dev ifb0\n"
            );
        }
        script += &format!("qdisc add dev ifb0 root {}\n", tbf(self.bits_per_s));
        tools::tc(&net.middle.netns, &script)?;
        let qdiscs = Qdiscs::of(&net.middle.netns)?;
        Ok(Box::new(Kernel { name: self.name, bits_per_s: self.bits_per_s, qdiscs }))
    }

    fn hub(&self, net: &Net, why: String) -> Result<Box<dyn Joined>> {
        let ports = net.taps()?;
        net.address_hosts()?;
        let engine = Engine::start(ports, Box::new(Hub::new(self.bits_per_s, LIMIT_BYTES)))
            .map_err(setup("start the hub", "raise the limit of threads"))?;
        Ok(Box::new(UserSpace { name: self.name, bits_per_s: self.bits_per_s, engine, why }))
    }
}

impl Joined for Kernel {
    fn wires(&self) -> Vec<Wire> {
        let counts = self.qdiscs.tbf("ifb0", self.bits_per_s);
        vec![Wire { name: self.name.into(), bits_per_s: Some(self.bits_per_s), counts }]
    }

    fn made_of(&self) -> String {
        "kernel: a bridge whose ports share one ifb with tbf".into()
    }
}

impl Joined for UserSpace {
    fn wires(&self) -> Vec<Wire> {
        vec![Wire { name: self.name.into(), bits_per_s: Some(self.bits_per_s), counts: Ok(self.engine.counts()) }]
    }

    fn made_of(&self) -> String {
        format!("user space: a hub on TAP interfaces ({})", self.why)
    }
}

/// The names of the bridge's ports in the middle.
pub(super) fn ports(net: &Net) -> Vec<String> {
    (1..=net.hosts.len()).map(|n| format!("port{n}")).collect()
}

/// Joins all hosts with one bridge and gives them their addresses; all packets are as small as on a wire.
pub(super) fn bridge(net: &Net) -> Result<()> {
    let mut script =
        String::from("link add bridge0 type bridge mcast_snooping 0\nlink set bridge0 addrgenmode none up\n");
    for (host, port) in ports(net).iter().enumerate() {
        let _ = write!(
            script,
            "link add {port} type veth peer name eth0 address {} netns {}\n\
             link set {port} mtu 1500 addrgenmode none master bridge0 up\n",
            mac_text(host),
            net.pid(host)
        );
    }
    tools::ip(&net.middle.netns, &script)?;
    Net::real_packets(&net.middle.netns, &ports(net))?;
    net.address_hosts()?;
    (0..net.hosts.len()).try_for_each(|host| Net::real_packets(net.netns(host), &["eth0".into()]))
}

/// A token bucket that counts framing and sends at this rate. The bucket holds 1.28 ms, at 10 Mbit/s one frame: less
/// loses rate whenever a timer is late, more lets that much pass at once after a pause.
pub(super) fn tbf(bits_per_s: u64) -> String {
    let burst = 1600.max(bits_per_s / 8 * 128 / 100_000);
    format!(
        "stab overhead {FRAMING_BYTES} mpu 84 linklayer ethernet tbf rate {bits_per_s}bit burst {burst} limit {LIMIT_BYTES}"
    )
}
