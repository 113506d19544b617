//! A full-duplex switch with a rate limit for each direction of each port. The kernel simulates the switch with a
//! bridge, and with an `htb` at both ends of each cable.

use std::sync::Arc;

use super::medium::{BuiltMedium, FROM_SWITCH, MediumPlan, NO_RATE, Wire};
use super::qdiscs::{KernelWire, MAX_LATENESS_US, Qdiscs};
use super::shared;
use crate::arguments::{self, Arguments};
use crate::error::Result;
use crate::net::{Net, port_name};
use crate::tools;

#[derive(Debug)]
struct Switch {
    bits_per_s: Option<u64>,
}

/// Wires of a switch: two per port, one for each direction. The list is empty if the switch has no rate limit.
struct Running(Vec<KernelWire>);

pub(super) fn plan(arguments: &mut Arguments) -> Result<Box<dyn MediumPlan>, String> {
    let plain = arguments.take_plain();
    let bits_per_s = match plain {
        None => arguments.take("rate", arguments::rate)?,
        Some(text) => Some(arguments::rate(&text).ok_or_else(|| format!("{text:?} is not a rate; give 100M or 1G"))?),
    };
    Ok(Box::new(Switch { bits_per_s }))
}

impl MediumPlan for Switch {
    fn join(&self, net: &Net) -> Result<Box<dyn BuiltMedium>> {
        shared::bridge(net)?;
        let Some(rate) = self.bits_per_s else { return Ok(Box::new(Running(Vec::new()))) };
        let script: String = shared::ports(net).iter().map(|port| shared::rate(port, rate)).collect();
        tools::tc(&net.middle.netns, &script)?;
        (0..net.hosts.len()).try_for_each(|host| tools::tc(net.netns(host), &shared::rate("eth0", rate)))?;
        let middle = Arc::new(Qdiscs::open(&net.middle.netns)?);
        let mut wires = Vec::with_capacity(2 * net.hosts.len());
        for (n, host) in net.hosts.iter().enumerate() {
            let own = Arc::new(Qdiscs::open(net.netns(n))?);
            wires.push(KernelWire::new(format!("switch from {}", host.name), "eth0", &own, rate));
            wires.push(KernelWire::new(format!("{FROM_SWITCH}{}", host.name), &port_name(n), &middle, rate));
        }
        Ok(Box::new(Running(wires)))
    }
}

impl BuiltMedium for Running {
    fn wires(&self) -> Vec<Wire> {
        self.0.iter().map(KernelWire::wire).collect()
    }

    fn set_speed(&self, share: f64) -> Result<(), String> {
        match self.0.is_empty() {
            true => Err(NO_RATE.into()),
            // If the rate of one wire cannot be set, the function still sets the rates of all other wires, which could
            // otherwise stay slow.
            false => self.0.iter().map(|wire| wire.set_speed(share)).fold(Ok(()), Result::and),
        }
    }

    fn made_of(&self) -> String {
        match self.0.is_empty() {
            false => "kernel: a bridge with htb on both ends of each port".into(),
            true => "kernel: a bridge whose ports have no rate".into(),
        }
    }

    fn catches_up_us(&self) -> u64 {
        if self.0.is_empty() { 0 } else { MAX_LATENESS_US }
    }
}
