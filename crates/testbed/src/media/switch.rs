//! A switch: full duplex, each port with its own rate each way. A bridge, and an `htb` on both ends of each cable.

use super::medium::{Joined, MediumPlan, Wire};
use super::qdiscs::Qdiscs;
use super::shared;
use crate::arguments::{self, Arguments};
use crate::error::Result;
use crate::net::Net;
use crate::tools;

#[derive(Debug)]
struct Switch {
    bits_per_s: Option<u64>,
}

struct Running {
    bits_per_s: Option<u64>,
    hosts: Vec<(String, Qdiscs)>,
    middle: Qdiscs,
}

pub(super) fn plan(arguments: &mut Arguments) -> Result<Box<dyn MediumPlan>, String> {
    let plain = arguments.take_plain();
    let bits_per_s = match plain {
        None => arguments.take("rate", arguments::rate)?,
        Some(text) => Some(arguments::rate(&text).ok_or_else(|| format!("{text:?} is no rate; give 100M or 1G"))?),
    };
    Ok(Box::new(Switch { bits_per_s }))
}

impl MediumPlan for Switch {
    fn join(&self, net: &Net) -> Result<Box<dyn Joined>> {
        shared::bridge(net)?;
        if let Some(rate) = self.bits_per_s {
            let script: String = shared::ports(net).iter().map(|port| shared::rate(port, rate)).collect();
            tools::tc(&net.middle.netns, &script)?;
            (0..net.hosts.len()).try_for_each(|host| tools::tc(net.netns(host), &shared::rate("eth0", rate)))?;
        }
        let view = |(n, host): (usize, &crate::net::Host)| Ok((host.name.clone(), Qdiscs::of(net.netns(n))?));
        let hosts = net.hosts.iter().enumerate().map(view).collect::<Result<_>>()?;
        Ok(Box::new(Running { bits_per_s: self.bits_per_s, hosts, middle: Qdiscs::of(&net.middle.netns)? }))
    }
}

impl Joined for Running {
    fn wires(&self) -> Vec<Wire> {
        let Some(rate) = self.bits_per_s else { return Vec::new() };
        let wire = |name: String, counts| Wire { name, bits_per_s: Some(rate), counts };
        let each = self.hosts.iter().enumerate().flat_map(|(n, (host, qdiscs))| {
            [
                wire(format!("switch from {host}"), qdiscs.root("eth0", rate)),
                wire(format!("switch to {host}"), self.middle.root(&format!("port{}", n + 1), rate)),
            ]
        });
        each.collect()
    }

    fn made_of(&self) -> String {
        match self.bits_per_s {
            Some(_) => "kernel: a bridge with htb on both ends of each port".into(),
            None => "kernel: a bridge whose ports have no rate".into(),
        }
    }

    fn catches_up_us(&self) -> u64 {
        self.bits_per_s.map_or(0, |_| shared::LATE_US)
    }
}
