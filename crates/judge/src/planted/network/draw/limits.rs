//! Limits of the parts of a simulated network: the rate that each part allows.

use stats::queueing::{Servers, Station, closed};

use super::choice::Draw;
use super::parts::{Parts, UNLIMITED};
use crate::planted::network::limit::{Cause, Limit};
use crate::planted::network::world::{CLIENT, SERVER, Threads, World};

/// Minimum share of a host's CPU work that makes a program one of the causes of full CPUs.
const LARGE_PART: f64 = 0.35;

pub(super) fn limits(draw: &Draw, world: &World, parts: &Parts) -> Vec<Limit> {
    let mut limits = Vec::new();
    let mut put = |cause, rate: f64| limits.push(Limit { cause, rate });
    let here = parts.backend.filter(|b| b.here).map_or(0.0, |b| b.cpu_s);
    let client = if world.shared { parts.generator_s } else { 0.0 };
    let whole = parts.cpu_s + parts.serial_s + here + client;
    let large = |part: f64| part >= LARGE_PART * whole;
    let free = f64::from(draw.cpus) - draw.other;
    put(Cause::ServerHost { client: large(client), backend: large(here) }, free / whole);
    let server = world.programs[SERVER];
    if let Threads::Loops(loops) = server.threads {
        put(Cause::ServerLoops, loops as f64 / parts.cpu_s);
    }
    if parts.serial_s > 0.0 {
        put(Cause::Serial, 1.0 / parts.serial_s);
    }
    let station = |demand_s: f64, servers: usize| Station { demand_s, servers: Servers::Some(servers as u32) };
    let behind: Vec<Station> = parts.backend.map_or(Vec::new(), |b| match b.threads {
        Threads::Loops(n) | Threads::Pool(n) => vec![station(b.cpu_s + b.sleep_s, n)],
        Threads::PerConnection => vec![station(b.cpu_s, 4)],
    });
    if let Some(backend) = parts.backend {
        let rate =
            behind.iter().map(|s| if let Servers::Some(n) = s.servers { f64::from(n) / s.demand_s } else { 0.0 });
        put(Cause::Backend, rate.fold(f64::INFINITY, f64::min));
        if backend.connections < UNLIMITED {
            put(Cause::Connections, closed(&behind, backend.connections as u32).throughput);
        }
    }
    if let Threads::Pool(workers) = server.threads {
        let rest_s = parts.sleep_s + 0.01 * parts.rare_s;
        let own = [station(parts.cpu_s + parts.serial_s, draw.cpus as usize), Station::delay(rest_s)];
        put(Cause::Workers, closed(&[&own[..], &behind[..]].concat(), workers as u32).throughput);
    }
    put(Cause::Generator, world.load_threads() as f64 / parts.generator_s);
    if let Some(quota) = server.quota {
        put(Cause::ServerQuota, quota / (parts.cpu_s + parts.serial_s));
    }
    if let Some(quota) = world.programs[CLIENT].quota {
        put(Cause::GeneratorQuota, quota / parts.generator_s);
    }
    if let Some(limiter) = parts.limiter {
        put(Cause::RateLimit, limiter.rate);
    }
    if let Some(listener) = parts.listener {
        put(Cause::AcceptQueue, (listener.backlog + 1) as f64 / listener.every_s);
    }
    limits
}
