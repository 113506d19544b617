//! Simulation of a long-distance line between hosts. A forwarder in user space simulates the line, because many kernels
//! lack netem.

use super::medium::{BuiltMedium, MediumPlan, Wire};
use crate::arguments::{self, Arguments};
use crate::error::{Result, setup};
use crate::forward::{Engine, Line, LinePlan};
use crate::net::Net;

#[derive(Debug)]
struct Wan(LinePlan);

struct Running {
    engine: Engine,
    /// Names of the wires: one wire per host, on which this host sends. The wires are in the order of the hosts.
    names: Vec<String>,
    /// Type of the interfaces between the forwarder and the hosts, on which the forwarder reads and writes frames.
    ends: &'static str,
}

pub(super) fn plan(arguments: &mut Arguments) -> Result<Box<dyn MediumPlan>, String> {
    let plan = LinePlan {
        delay_ns: arguments.take("delay", arguments::time_ns)?.unwrap_or(0),
        jitter_ns: arguments.take("jitter", arguments::time_ns)?.unwrap_or(0),
        loss: arguments.take("loss", arguments::share)?.unwrap_or(0.0),
        reorder: arguments.take("reorder", arguments::share)?.unwrap_or(0.0),
        bits_per_s: arguments.take("rate", arguments::rate)?,
        limit_bytes: arguments.take("queue", arguments::whole)?.unwrap_or(192_000),
        seed: arguments.take("seed", arguments::whole)?.unwrap_or(1),
    };
    match plan.jitter_ns > plan.delay_ns {
        true => Err("jitter is greater than delay: a frame cannot arrive before it left".into()),
        false => Ok(Box::new(Wan(plan))),
    }
}

impl MediumPlan for Wan {
    fn join(&self, net: &Net) -> Result<Box<dyn BuiltMedium>> {
        let (ports, ends) = net.forwarded()?;
        let relay = Box::new(Line::new(self.0, ports.len()));
        let engine = Engine::start(ports, relay, self.0.bits_per_s);
        let engine = engine.map_err(setup("start the forwarder", "raise the limit of threads"))?;
        let names = net.hosts.iter().map(|host| format!("wan from {}", host.name)).collect();
        Ok(Box::new(Running { engine, names, ends }))
    }
}

impl BuiltMedium for Running {
    fn wires(&self) -> Vec<Wire> {
        let wire = |(at, name): (usize, &String)| Wire {
            name: name.clone(),
            bits_per_s: self.engine.bits_per_s(),
            counts: Ok(self.engine.counts(at)),
        };
        self.names.iter().enumerate().map(wire).collect()
    }

    fn set_speed(&self, share: f64) -> Result<(), String> {
        self.engine.set_speed(share)
    }

    fn made_of(&self) -> String {
        format!("user space: a forwarder on {} with a timer heap", self.ends)
    }
}
