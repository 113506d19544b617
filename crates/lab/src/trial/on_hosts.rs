//! An experiment on named hosts: a reference server, generators on the clients' hosts, and an observer on each host.
//! Counters that only a testbed has (such as those of its network) are missing.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use run::{HostPlan, Role, ServePlan, Side, Window};

use crate::agents::AgentGroup;
use crate::hosts::agents_of;
use crate::observe::RemoteObserver;
use crate::observe::hosts::Hosts;
use crate::observe::{Observation, ObservedServer};
use crate::trial::asker::Asker;
use crate::trial::own_server::start_server;
use crate::trial::target_setup::note_remote_hosts;
use crate::{CpuSplit, Host, Lab, LabError, ServerCounters};

/// Maximum time for a server to finish the connections that a load test left.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Length of one observation of the connections that a load test left, seconds.
const OBSERVATION_S: f64 = 0.1;
/// Time after the end of a load until no TCP handshake at the server is half-open any more. The server repeats its
/// SYN-ACK after a second. A client that has given up answers the repeated SYN-ACK with a reset. Source: RFC 6298, 2.1.
const HALF_OPEN: Duration = Duration::from_millis(1200);

/// Hosts and server of an experiment on named hosts.
pub struct HostsSetup {
    /// Agents of the server. The server's agents are dropped first, so that the server ends before the connection to
    /// its host closes.
    server: Arc<Mutex<AgentGroup>>,
    /// Address of the server.
    pub addr: SocketAddr,
    /// Observers of client and server.
    pub observation: Observation,
    clients: Box<dyn Host>,
    _server_host: Box<dyn Host>,
}

impl HostsSetup {
    /// Starts the server on its host, at an address that clients can reach. If the user requested no address, the
    /// server's address is the one that clients find for the name of its host.
    pub fn start(lab: &mut Lab<'_>, listen: &str, plan: &ServePlan) -> Result<Self, LabError> {
        let plans = lab.run.plan.hosts.clone();
        let server_plan = plans.iter().find(|host| host.role == Role::Server);
        let program = lab.program().to_path_buf();
        let hosts = Hosts::connect(&plans, &program)?;
        let asker = Asker::new(hosts.clients(), &program);
        let look_up = |name: &str| asker.look_up(lab, name, 0);
        let plan = ServePlan { listen: listen_at(server_plan, listen, look_up)?, ..plan.clone() };
        let (group, addr, notes) = start_server(hosts.server(), &program, plan)?;
        notes.into_iter().for_each(|note| lab.note(note));
        let clients = hosts.observe_clients(&program, &addr.into())?;
        let server = hosts.observe_server(&program, None, Some(addr.into()), &lab.run.plan.observe)?;
        note_hosts(lab, &clients, server.as_ref());
        let watched = watched(&group, addr, &clients, server.as_ref());
        let observation = lab.observation(addr, Some(watched)).with_hosts(clients, server);
        let [clients, server_host] = hosts.into_sides();
        Ok(Self { server: Arc::new(Mutex::new(group)), addr, observation, clients, _server_host: server_host })
    }

    /// Adds counters that the server itself reports. `object` is the part of the counters' IDs before the dot.
    #[must_use]
    pub fn with_counters(mut self, object: &'static str) -> Self {
        self.observation = self.observation.with_server_counters(ServerCounters::new(&self.server, object));
        self
    }

    /// Returns the server's agents, which can be asked for the server's counters.
    pub fn server(&self) -> Arc<Mutex<AgentGroup>> {
        Arc::clone(&self.server)
    }

    /// Returns all client hosts as one host, over which a load is spread.
    pub fn clients(&self) -> &dyn Host {
        &*self.clients
    }

    /// Returns the client host of each load agent. The hosts take turns in the returned list, and each host occurs as
    /// often as it has agents.
    pub fn places(&self) -> Vec<&dyn Host> {
        agents_of(self.clients())
    }

    /// Returns the number of CPUs that the generators on a client host may use, at least 1.
    pub fn processors(&self, host: &str) -> f64 {
        let there = self.observation.remote_clients().find(|observer| observer.host() == host);
        let here = || sys::limits::allowed_cpus().map_or(1, |cpus| cpus.len() as u32);
        f64::from(there.map_or_else(here, RemoteObserver::processors).max(1))
    }

    /// Waits until no connection of a load test waits to be accepted (at most [`SETTLE_TIMEOUT`]), and until half-open
    /// handshakes are over.
    pub fn settle(&self, lab: &mut Lab<'_>) {
        let end = Instant::now() + SETTLE_TIMEOUT;
        while Instant::now() < end && !lab.stopped() && self.waiting() > 0.0 {}
        std::thread::sleep(HALF_OPEN);
    }

    /// Returns the number of connections that wait to be accepted.
    fn waiting(&self) -> f64 {
        let sides = self.observation.at_rest(OBSERVATION_S, OBSERVATION_S, &|| false);
        let queue = |side: &Side| side.recording.sum("listen.queue", Window::ALL, |_| true).value();
        sides.iter().filter_map(queue).fold(0.0, f64::max)
    }
}

/// Records the hosts of clients and server in the run.
fn note_hosts(lab: &mut Lab<'_>, clients: &[RemoteObserver], server: Option<&RemoteObserver>) {
    note_remote_hosts(lab, clients, server);
    match (clients.is_empty(), server.is_none()) {
        (true, _) => lab.host(probe::host_info("localhost", "client")),
        (false, true) => lab.host(probe::host_info("localhost", "server")),
        (false, false) => {}
    }
    lab.note(
        "server and clients are on hosts of their own; what joins them has no counters that could be read from here, so \
         how much of the wire was used is not known",
    );
}

/// Returns the facts about the server that its observer found. If the server was started on this host, its agent group
/// gives the processes.
fn watched(
    group: &AgentGroup,
    addr: SocketAddr,
    clients: &[RemoteObserver],
    server: Option<&RemoteObserver>,
) -> ObservedServer {
    let here = probe::boot_id();
    let machine = server.map_or_else(|| here.clone(), RemoteObserver::machine);
    let shared = match clients.is_empty() {
        true => machine == here,
        false => clients.iter().any(|client| client.machine() == machine),
    };
    let here = || ObservedServer::started("localhost", group, None, addr, &CpuSplit::default());
    ObservedServer { shared, ..server.map_or_else(here, ObservedServer::remote) }
}

/// Returns the address at which the server listens. The result is the requested address, or the first address that
/// `look_up` returns for the name of the server's host. Clients cannot connect to a wildcard address.
fn listen_at(
    server: Option<&HostPlan>,
    asked: &str,
    look_up: impl Fn(&str) -> Result<Vec<SocketAddr>, String>,
) -> Result<String, LabError> {
    let fail = |why: String| LabError::set_up("finding where the experiment's own server is to listen", why);
    let advice = "give an address of the server's host that the clients reach: --listen ADDRESS[:PORT]";
    let found = match asked.parse::<IpAddr>() {
        Ok(ip) => SocketAddr::new(ip, 0),
        Err(_) if !asked.is_empty() => asked.parse().map_err(|e| fail(format!("{asked:?}: {e}; {advice}")))?,
        Err(_) => {
            let name = server.map(|host| host.name.rsplit('@').next().unwrap_or_default());
            let name = name.ok_or_else(|| fail(format!("the server runs on this host; {advice}")))?;
            let resolved = look_up(name).map_err(|why| fail(format!("{why}; {advice}")))?;
            resolved.first().copied().ok_or_else(|| fail(format!("{name:?} has no address; {advice}")))?
        }
    };
    match found.ip().is_unspecified() {
        true => Err(fail(format!("{found} means all addresses of a host, so clients cannot connect to it; {advice}"))),
        false => Ok(found.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_the_one_asked_for_or_the_host_s() {
        let host = |name: &str| HostPlan { name: name.into(), role: Role::Server, ..HostPlan::default() };
        // loadline looks up the servers' names on the clients' host.
        let look_up = |name: &str| match name {
            "web1" => Ok(vec!["192.0.2.7:0".parse().unwrap(), "192.0.2.8:0".parse().unwrap()]),
            other => Err(format!("from c1: the host {other:?} cannot be found")),
        };
        let at = |server: Option<&str>, asked| {
            listen_at(server.map(host).as_ref(), asked, look_up).map_err(|error| error.to_string())
        };
        assert_eq!(at(None, "192.0.2.1").unwrap(), "192.0.2.1:0");
        assert_eq!(at(Some("web1"), "192.0.2.1:80").unwrap(), "192.0.2.1:80");
        assert_eq!(at(Some("user@web1"), "").unwrap(), "192.0.2.7:0");
        let unknown = at(Some("web2"), "").unwrap_err();
        assert!(unknown.contains("from c1: ") && unknown.contains("--listen"), "{unknown}");
        assert!(at(None, "").unwrap_err().contains("--listen"));
        assert!(at(None, "nonsense").unwrap_err().contains("nonsense"));
        assert!(at(None, "0.0.0.0:80").unwrap_err().contains("means all addresses"));
    }
}
