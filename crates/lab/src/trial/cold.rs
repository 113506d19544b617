//! Cold (idle) connections during a load test. Separate agents open the cold connections before the load test, hold
//! them during the load test and count them afterwards. The number of agent processes follows from the descriptor
//! limit. On IPv4 loopback, each process has its own source addresses if there are many connections.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::{Duration, Instant};

use run::{Address, AgentReport, AgentSpec, ColdPart, ColdPlan, Trial, even_share};

use crate::agents::{AgentEvent, AgentGroup};
use crate::{Host, LabError};

/// Number of descriptors that an agent needs in addition to those of its connections.
const SPARE_DESCRIPTORS: u64 = 64;
/// Maximum number of connections of one process. If each process has its own source address, ports remain free for
/// other programs.
const MAX_PER_PROCESS: u32 = 20_000;
/// Maximum number of connections from one source address. The kernel first looks for a free port in one half of the
/// ephemeral ports (14,000 of 28,000 by default). With more connections from one address, each connect searches all
/// used ports, and only 160 connections per second are established.
const MAX_PER_SOURCE: u32 = 10_000;
/// First loopback address that is used as a source: 127.0.1.1.
const FIRST_SOURCE: u32 = 0x7f00_0101;

/// Agents that hold cold connections.
pub struct Cold {
    group: AgentGroup,
    agents: usize,
    /// Notes from the agents' ready reports.
    pub notes: Vec<String>,
}

impl Cold {
    /// Opens the cold connections. Returns when each connection is established or has failed.
    pub fn open(
        host: &dyn Host,
        program: &Path,
        plan: &ColdPlan,
        addr: &Address,
        descriptors: u64,
    ) -> Result<Self, LabError> {
        let mut group = AgentGroup::default();
        let shares = divide(host, plan, addr, descriptors);
        for (n, (host, share)) in shares.iter().enumerate() {
            let spec = AgentSpec::Cold { plan: share.clone(), addr: addr.clone() };
            group.start(*host, program, &format!("cold {}", n + 1), &spec)?;
        }
        let takes = f64::from(plan.connections) / plan.rate.max(0.1);
        let ready = group.await_ready(Duration::from_secs_f64(takes + 30.0))?;
        let notes = ready.into_iter().flat_map(|r| r.notes).collect();
        Ok(Self { group, agents: shares.len(), notes })
    }

    /// Ends the agents and returns the counts of their connections. A lost agent counts as an agent without
    /// connections.
    pub fn close(mut self) -> ColdPart {
        self.group.tell_all(&run::AgentCommand::Stop);
        let (mut part, mut open) = (ColdPart::default(), self.agents);
        let deadline = Instant::now() + Duration::from_secs(5);
        while open > 0
            && let Some((_, event)) = self.group.hear(deadline)
        {
            match event {
                AgentEvent::Report(AgentReport::Held(one)) => part.merge(&one),
                AgentEvent::Gone(_) => open -= 1,
                AgentEvent::Report(_) | AgentEvent::Pong(..) => {}
            }
        }
        self.group.stop(Duration::from_millis(500));
        part
    }
}

/// Records in a load test how many cold connections were held during the test.
pub fn record(trial: &mut Trial, asked: u32, part: &ColdPart) {
    trial.key.cold = u32::try_from(part.held).ok();
    if part.held < u64::from(asked) || part.lost > 0 {
        trial.notes.push(format!(
            "of {asked} cold connections {} were established and {} were lost before the trial ended",
            part.held, part.lost
        ));
    }
}

/// Divides the connections equally among the hosts, and the share of each host among as many processes as the share
/// needs.
fn divide<'a>(host: &'a dyn Host, plan: &ColdPlan, addr: &Address, descriptors: u64) -> Vec<(&'a dyn Host, ColdPlan)> {
    let mut members: Vec<&dyn Host> = host.members().into_iter().map(|(host, _)| host).collect();
    if members.is_empty() {
        members.push(host);
    }
    let hosts = u32::try_from(members.len()).unwrap_or(u32::MAX);
    let part = |n: u32| plan.connections / hosts + u32::from(n < plan.connections % hosts);
    let share = |(n, host): (u32, &'a dyn Host)| {
        let share = ColdPlan { connections: part(n), rate: plan.rate / f64::from(hosts), ..plan.clone() };
        let shares = if share.connections > 0 { split(&share, addr, descriptors) } else { Vec::new() };
        shares.into_iter().map(move |share| (host, share)).collect::<Vec<_>>()
    };
    (0..).zip(members).flat_map(share).collect()
}

fn split(plan: &ColdPlan, addr: &Address, descriptors: u64) -> Vec<ColdPlan> {
    let each =
        u32::try_from(descriptors.saturating_sub(SPARE_DESCRIPTORS)).unwrap_or(u32::MAX).clamp(1, MAX_PER_PROCESS);
    let agents = plan.connections.div_ceil(each).max(1);
    let part = |n: u32| even_share(plan.connections, n, agents);
    let v4_loopback = addr.inet().is_some_and(|addr| addr.is_ipv4() && addr.ip().is_loopback());
    let many = v4_loopback && plan.sources.is_empty() && plan.connections > MAX_PER_SOURCE;
    let own = |n: u32| -> Vec<IpAddr> {
        let sources = part(0).div_ceil(MAX_PER_SOURCE);
        let address = |i| IpAddr::V4(Ipv4Addr::from(FIRST_SOURCE + n * sources + i));
        if many { (0..sources).map(address).collect() } else { plan.sources.clone() }
    };
    (0..agents)
        .map(|n| ColdPlan {
            connections: part(n),
            rate: plan.rate / f64::from(agents),
            sources: own(n),
            ..plan.clone()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_in_a_split_and_sources_differ() {
        let plan = ColdPlan { connections: 50_001, ..ColdPlan::default() };
        let parts = split(&plan, &"127.0.0.1:80".parse().unwrap(), 20_000);
        assert_eq!(parts.iter().map(|p| p.connections).collect::<Vec<_>>(), [16_667; 3]);
        let all: std::collections::BTreeSet<_> = parts.iter().flat_map(|p| p.sources.clone()).collect();
        assert!(all.len() == 6 && all.iter().all(IpAddr::is_loopback), "10,000 of each at most: {all:?}");
        let one = split(&ColdPlan { connections: 10, ..plan }, &"127.0.0.1:80".parse().unwrap(), 20_000);
        assert!(one.len() == 1 && one[0].sources.is_empty());
    }
}
