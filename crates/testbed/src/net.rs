//! Network namespaces of a testbed: one for the medium, and one for each host.

use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, OwnedFd};

use sys::netns::{Netns, OpenSpec};
use sys::tap::{Tap, checksums_by_host, offloads_off};

use crate::error::{Result, TestbedError, setup};
use crate::forward::Port;
use crate::holder::Holder;
use crate::tools;

/// Maximum number of hosts in a testbed.
pub(crate) const MAX_HOSTS: usize = 64;

/// One host of the testbed.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
    /// The host's own namespace, with the process that keeps it alive; `None` if all hosts share the medium's
    /// namespace.
    holder: Option<Holder>,
}

/// Namespaces of a testbed, and the processes that keep them alive.
#[derive(Debug)]
pub(crate) struct Net {
    pub(crate) hosts: Vec<Host>,
    /// The medium's namespace, with the process that keeps it alive. Rust drops fields in the order of their
    /// declaration, so the hosts end before the medium's namespace.
    pub(crate) middle: Holder,
}

impl Net {
    /// Creates the network namespaces of all hosts. If `apart` is true, each host gets its own namespace. If `apart` is
    /// false, all hosts share the medium's namespace.
    pub(crate) fn new(names: &[String], apart: bool) -> Result<Self> {
        check_names(names)?;
        let middle = Holder::first()?;
        tools::ip(&middle.netns, "link set lo up\n")?;
        let mut hosts = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            let holder = if apart { Some(middle.another()?) } else { None };
            let last = index as u8 + 1;
            let address = if apart { Ipv4Addr::new(10, 77, 0, last) } else { Ipv4Addr::new(127, 0, 77, last) };
            hosts.push(Host { name: name.clone(), address, holder });
        }
        Ok(Self { hosts, middle })
    }

    /// Returns the index of the host called `host`.
    pub(crate) fn index(&self, host: &str) -> Result<usize> {
        let known = || self.hosts.iter().map(|h| h.name.as_str()).collect::<Vec<_>>().join(", ");
        let at = self.hosts.iter().position(|h| h.name == host);
        at.ok_or_else(|| TestbedError::Host { name: host.into(), known: known() })
    }

    /// Returns the namespace of a host.
    pub(crate) fn netns(&self, host: usize) -> &Netns {
        self.holder(host).map_or(&self.middle.netns, |h| &h.netns)
    }

    /// Returns the ID of the process that keeps the host's namespace alive.
    pub(crate) fn pid(&self, host: usize) -> u32 {
        self.holder(host).map_or_else(|| self.middle.pid(), Holder::pid)
    }

    fn holder(&self, host: usize) -> Option<&Holder> {
        self.hosts.get(host)?.holder.as_ref()
    }

    /// Assigns an address to the interface `eth0` of each host, and tells each host the hardware addresses of all other
    /// hosts. The medium carries only the traffic of the load, because no host needs address resolution or sends IPv6
    /// traffic.
    pub(crate) fn address_hosts(&self) -> Result<()> {
        for (index, host) in self.hosts.iter().enumerate() {
            let mut script = String::from("link set lo up\n");
            script += &format!("link set eth0 address {} mtu 1500 addrgenmode none\n", mac_text(index));
            script += &format!("address add {}/24 dev eth0\nlink set eth0 up\n", host.address);
            for (other, peer) in self.hosts.iter().enumerate().filter(|(other, _)| *other != index) {
                let mac = mac_text(other);
                script += &format!("neighbour add {} lladdr {mac} nud permanent dev eth0\n", peer.address);
            }
            tools::ip(self.netns(index), &script)?;
        }
        Ok(())
    }

    /// Waits until the network links of all hosts and of the medium are active, because an inactive link loses frames.
    /// The hosts would not detect an inactive link, because they need no address resolution.
    pub(crate) fn wait_for_links(&self) -> Result<()> {
        tools::wait_for_links(&self.middle.netns)?;
        (0..self.hosts.len()).try_for_each(|host| tools::wait_for_links(self.netns(host)))
    }

    /// Turns off offloads with which an interface would send larger packets than a real wire can carry.
    pub(crate) fn real_packets(netns: &Netns, interfaces: &[String]) -> Result<()> {
        let control = netns.open(&[OpenSpec::CONTROL]).map_err(setup("open a socket in a namespace", ""))?;
        let Some(control) = control.first() else { return Ok(()) };
        for interface in interfaces {
            offloads_off(control.as_fd(), interface)
                .map_err(|e| setup(format!("turn offloads of {interface} off"), "the driver refuses")(e.into()))?;
            tools::ip(netns, &format!("link set {interface} gso_max_segs 1\n"))?;
        }
        Ok(())
    }

    /// Gives each host an interface `eth0` with an address. The forwarder carries the frames of the interfaces `eth0`.
    /// Returns the forwarder's ends of the interfaces, and their type in words.
    pub(crate) fn forwarded(&self) -> Result<(Vec<Port>, &'static str)> {
        // If the user may not open the TAP device, each host gets a veth pair instead. The forwarder reads the other
        // end of each veth pair.
        match self.netns(0).open(&[OpenSpec::tun()]) {
            Ok(_) => Ok((self.taps()?, "TAP interfaces")),
            Err(_) => Ok((self.cables()?, "packet sockets on veth pairs")),
        }
    }

    fn taps(&self) -> Result<Vec<Port>> {
        const ADVICE: &str = "/dev/net/tun must exist and be readable: load the module tun";
        let mut ports = Vec::with_capacity(self.hosts.len());
        for (index, host) in self.hosts.iter().enumerate() {
            let tap = Tap::attach(one(self.netns(index), OpenSpec::tun(), ADVICE)?, "eth0")
                .map_err(|e| setup(format!("make a TAP interface in {}", host.name), ADVICE)(e.into()))?;
            ports.push(Port { tap, mac: mac(index) });
        }
        self.address_hosts()?;
        Ok(ports)
    }

    fn cables(&self) -> Result<Vec<Port>> {
        const ADVICE: &str = "the kernel must have packet sockets and veth";
        tools::ip(&self.middle.netns, &self.cable_script())?;
        let mut ports = Vec::with_capacity(self.hosts.len());
        for (index, host) in self.hosts.iter().enumerate() {
            let tap = Tap::on_interface(one(&self.middle.netns, OpenSpec::FRAMES, ADVICE)?, &port_name(index))
                .map_err(|e| setup(format!("read the cable of {}", host.name), ADVICE)(e.into()))?;
            ports.push(Port { tap, mac: mac(index) });
        }
        self.address_hosts()?;
        (0..self.hosts.len()).try_for_each(|host| self.whole_frames(host))?;
        Ok(ports)
    }

    /// Returns the `ip` commands that create one veth pair per host. The pair's ends are `eth0` in the host, and
    /// `portN` in the medium's namespace.
    pub(crate) fn cable_script(&self) -> String {
        let cable = |host: usize| {
            let (port, mac, pid) = (port_name(host), mac_text(host), self.pid(host));
            format!(
                "link add {port} type veth peer name eth0 address {mac} netns {pid}\n\
                 link set {port} mtu 1500 addrgenmode none up\n"
            )
        };
        (0..self.hosts.len()).map(cable).collect()
    }

    /// Makes a host send each packet as a separate frame with its checksum, as on a real wire.
    fn whole_frames(&self, host: usize) -> Result<()> {
        Self::real_packets(self.netns(host), &["eth0".into()])?;
        let control = one(self.netns(host), OpenSpec::CONTROL, "")?;
        let refused = checksums_by_host(control.as_fd(), "eth0");
        let what = "turn the checksum offload of eth0 off";
        match refused.map_err(|e| setup(what, "the driver refuses")(e.into()))?.as_slice() {
            [] => Ok(()),
            _ => Err(setup(what, "use a kernel whose veth has it")(std::io::Error::other(
                "the driver has no such switch",
            ))),
        }
    }
}

/// Returns the name of the port that leads to a host. The port is an interface in the medium's namespace.
pub(crate) fn port_name(host: usize) -> String {
    format!("port{}", host + 1)
}

fn one(netns: &Netns, want: OpenSpec, advice: &'static str) -> Result<OwnedFd> {
    let mut fds = netns.open(&[want]).map_err(setup("open a device or socket in a namespace", advice))?;
    fds.pop().ok_or_else(|| TestbedError::Spec("no descriptor came out of a namespace".into()))
}

/// Returns the hardware (MAC) address of a host, from the range for locally administered addresses.
pub(crate) fn mac(host: usize) -> [u8; 6] {
    [2, 0, 0, 0, 0x77, host as u8 + 1]
}

pub(crate) fn mac_text(host: usize) -> String {
    mac(host).map(|byte| format!("{byte:02x}")).join(":")
}

fn check_names(names: &[String]) -> Result<()> {
    if names.is_empty() || names.len() > MAX_HOSTS {
        return Err(TestbedError::Spec(format!("{} hosts were asked for; give 1 to {MAX_HOSTS}", names.len())));
    }
    for (index, name) in names.iter().enumerate() {
        let fits = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if !fits || names[..index].contains(name) {
            return Err(TestbedError::Spec(format!(
                "host name {name:?} is empty, odd or taken; use a-z, 0-9, - and _"
            )));
        }
    }
    Ok(())
}
