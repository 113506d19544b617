//! Hosts of the two studies of reading records, as network namespaces. The server runs in one of the namespaces.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use lab::agents::AgentGroup;
use lab::{CpuSplit, Lab, LabError, NamespaceHost, Observation, ObservedServer, ServerCounters, start_server};
use run::ServePlan;
use testbed::{Spec, Testbed};

use crate::Parameters;

/// Fixed time per exchange on the study's network, milliseconds: the time of a read (5114 µs) minus its time on the
/// wire (1813 µs).
const SOURCE_EXCHANGE_MS: f64 = 3.3;

/// Network namespaces joined by a medium (a simulated network). The server runs in one of the namespaces.
pub(super) struct NamespaceHosts {
    /// Handle of the server. Rust drops fields in the order of their declaration, so the server ends before its host.
    _server: Arc<Mutex<AgentGroup>>,
    pub(super) namespace_hosts: Vec<NamespaceHost>,
    pub(super) places: CpuSplit,
    /// Fixed time that the server adds to each exchange, milliseconds.
    pub(super) exchange_ms: f64,
    pub(super) bed: Testbed,
}

impl NamespaceHosts {
    /// Builds the hosts, and starts the server. `plan` is a function that makes the server's plan from the fixed time
    /// per exchange.
    pub(super) fn build(
        lab: &mut Lab<'_>,
        parameters: &Parameters,
        clients: u32,
        plan: impl FnOnce(f64) -> ServePlan,
    ) -> Result<(Self, SocketAddr, Observation), LabError> {
        let medium = parameters.text("medium", "ethernet10");
        let bed = Testbed::build(&Spec::server_and_clients(clients as usize, &medium))?;
        lab.note(format!("the medium is {medium}; {}", bed.made_of()));
        let exchange_ms = exchange_ms(lab, &bed, parameters.number("exchange_ms", -1.0));
        congestion(lab, &bed, &parameters.text("congestion", "reno"))?;
        let places = CpuSplit::for_own_server(&sys::limits::allowed_cpus().unwrap_or_default(), &[]);
        let host = |name: &str| NamespaceHost::in_testbed(&bed, name);
        let listen = SocketAddr::new(bed.address("server")?, 0).to_string();
        let plan = ServePlan { listen, cpus: places.server.clone(), ..plan(exchange_ms) };
        let (group, addr, notes) = start_server(&host("server")?, lab.program(), plan)?;
        notes.into_iter().for_each(|n| lab.note(n));
        lab.run.plan.target.url = format!("record://{addr}");
        let namespace_hosts = (1..=clients).map(|n| host(&format!("client{n}"))).collect::<Result<_, _>>()?;
        let observation = observation(lab, &bed, &group, addr, &places)?;
        let server = Arc::new(Mutex::new(group));
        let observation = observation.with_server_counters(ServerCounters::new(&server, "Records"));
        Ok((Self { _server: server, namespace_hosts, places, exchange_ms, bed }, addr, observation))
    }

    /// Returns all client hosts except the first, as (name, ID of a process in the namespace). On loopback, the result
    /// is empty: all clients share one namespace, which must be observed only once.
    pub(super) fn further(&self, clients: u32) -> Result<Vec<(String, u32)>, LabError> {
        if self.one_namespace() {
            return Ok(Vec::new());
        }
        let named = |n: u32| {
            let name = format!("client{n}");
            let pid = self.bed.netns_pid(&name)?;
            Ok((name, pid))
        };
        (2..=clients).map(named).collect()
    }

    /// Returns true if all hosts share one network namespace.
    pub(super) fn one_namespace(&self) -> bool {
        !self.bed.hosts_apart()
    }

    /// Returns true if the medium is like the study's network, a wire of 10 Mbit/s.
    pub(super) fn is_sources(&self) -> bool {
        is_sources(&self.bed)
    }
}

/// Returns the fixed time per exchange, milliseconds: `asked`, if it is at least 0. If `asked` is negative, returns the
/// study's fixed time on a medium like the study's network, and 0 on other media.
fn exchange_ms(lab: &mut Lab<'_>, bed: &Testbed, asked: f64) -> f64 {
    let exchange_ms = match asked >= 0.0 {
        true => asked,
        false if is_sources(bed) => SOURCE_EXCHANGE_MS,
        false => 0.0,
    };
    if exchange_ms > 0.0 {
        lab.note(format!(
            "every exchange takes {exchange_ms} ms besides the wire, as on the source's machines; exchange_ms = 0 leaves that out"
        ));
    }
    exchange_ms
}

/// Returns true if the medium is like the study's network, a wire of 10 Mbit/s.
fn is_sources(bed: &Testbed) -> bool {
    bed.medium_spec().name == "ethernet10"
}

/// Sets the congestion control algorithm of all hosts, before any of them opens a socket. If `asked` is `host`, all
/// hosts keep the congestion control algorithm of this machine. BBR, the default on some machines, adjusts its rate to
/// an estimate of the path's rate. If only one record is sent at a time, BBR's estimate of the path's rate stays too
/// low. With BBR, reads of 56 KiB over a switch had half of the throughput that they have with reno.
fn congestion(lab: &mut Lab<'_>, bed: &Testbed, asked: &str) -> Result<(), LabError> {
    if asked == "host" {
        lab.note("TCP uses this machine's own congestion control");
        return Ok(());
    }
    for host in bed.hosts() {
        bed.sysctl(host, "net.ipv4.tcp_congestion_control", asked)?;
    }
    lab.note(format!("TCP of all hosts uses {asked}; --set congestion=host leaves this machine's own"));
    Ok(())
}

fn observation(
    lab: &mut Lab<'_>,
    bed: &Testbed,
    group: &AgentGroup,
    addr: SocketAddr,
    places: &CpuSplit,
) -> Result<Observation, LabError> {
    let watched = ObservedServer::started("server", group, Some(bed.netns_pid("server")?), addr, places);
    for (name, role) in [("server", "server"), ("client1", "client")] {
        lab.host(probe::host_info(name, role));
    }
    let observation = lab
        .observation(addr, Some(watched))
        .with_client("client1", Some(bed.netns_pid("client1")?))
        .with_medium(bed.gauge());
    if places.shared() {
        lab.note("clients and server share CPUs, so CPU time is that of all hosts together");
        return Ok(observation);
    }
    lab.note(
        "all hosts share this machine; the server's CPUs stand for its host and the others for the clients'. \
         Received packets are handled on the CPU that sends them; interrupts are counted for the machine",
    );
    Ok(observation.with_processors(&places.client, &places.server))
}
