//! Hosts on which the entries run: the plan's hosts, this machine with its loopback, or namespaces joined by a
//! simulated network. As in the paper, a simulated network has one server and three clients.

use std::net::SocketAddr;

use run::Role;
use testbed::{Spec, Testbed};

use super::servers::Servers;
use crate::Parameters;
use lab::{CpuSplit, Host, Lab, LabError, Local, NamespaceHost, Observation, ObservedServer};

/// Number of client hosts in a simulated network. The paper used the same number of client machines.
const CLIENTS: usize = 3;

/// Hosts on which the entries run.
pub(super) enum Stage {
    /// Server and clients on this machine.
    ThisMachine(Box<ThisMachine>),
    /// Hosts of the plan, with the number of load generators on all client hosts.
    OtherHosts(u32),
}

impl Stage {
    /// Uses the hosts that the plan names. If the plan names no hosts, prepares hosts on this machine.
    pub(super) fn build(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<Self, LabError> {
        if lab.run.plan.hosts.is_empty() {
            return ThisMachine::build(lab, parameters).map(|here| Self::ThisMachine(Box::new(here)));
        }
        let clients = lab.run.plan.hosts.iter().filter(|host| host.role == Role::Client);
        Ok(Self::OtherHosts(clients.map(|host| host.agents).sum::<u32>().max(1)))
    }

    /// Returns the number of client hosts (or load generators) that share a load.
    pub(super) fn clients(&self) -> u32 {
        match self {
            Self::ThisMachine(here) => here.clients.len() as u32,
            Self::OtherHosts(places) => *places,
        }
    }
}

/// Hosts of the server and of the clients on this machine.
pub(super) struct ThisMachine {
    server: Box<dyn Host>,
    clients: Vec<Box<dyn Host>>,
    bed: Option<Testbed>,
}

impl ThisMachine {
    /// Builds the hosts of the server and of the clients. The parameter `medium` names the simulated network that joins
    /// the hosts. If `medium` is missing or `loopback`, all hosts share this machine's loopback interface.
    fn build(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<Self, LabError> {
        let medium = parameters.text("medium", "");
        if medium.is_empty() || medium == "loopback" {
            return Ok(Self {
                server: Box::new(Local::default()),
                clients: vec![Box::new(Local::default())],
                bed: None,
            });
        }
        let bed = Testbed::build(&Spec::server_and_clients(CLIENTS, &medium))?;
        lab.note(format!("the medium is {medium}; {}", bed.made_of()));
        for (name, role) in [("server", "server"), ("client1", "client")] {
            lab.host(probe::host_info(name, role));
        }
        let namespace_host =
            |name: String| NamespaceHost::in_testbed(&bed, &name).map(|g| Box::new(g) as Box<dyn Host>);
        let clients = (1..=CLIENTS).map(|n| namespace_host(format!("client{n}"))).collect::<Result<_, _>>()?;
        Ok(Self { server: namespace_host("server".into())?, clients, bed: Some(bed) })
    }

    pub(super) fn server(&self) -> &dyn Host {
        self.server.as_ref()
    }

    /// Returns the client host that runs block number `block`. The blocks of connections are assigned to the client
    /// hosts in rotation (block 0 to the first host, block 1 to the next).
    pub(super) fn client(&self, block: usize) -> &dyn Host {
        self.clients[block % self.clients.len()].as_ref()
    }

    /// Returns the server's IP address with port 0, so that the kernel chooses a port.
    pub(super) fn listen(&self) -> Result<String, LabError> {
        match &self.bed {
            Some(bed) => Ok(SocketAddr::new(bed.address("server")?, 0).to_string()),
            None => Ok("127.0.0.1:0".into()),
        }
    }

    /// Returns a description of what the samplers observe: the server's processes, their connections, and the simulated
    /// network.
    pub(super) fn observation(&self, servers: &Servers, places: &CpuSplit) -> Result<Observation, LabError> {
        let (host, netns_pid) = match &self.bed {
            Some(bed) => ("server".to_string(), Some(bed.netns_pid("server")?)),
            None => ("localhost".to_string(), None),
        };
        let (pids, addr) = (servers.pids().to_vec(), servers.addr(0));
        let watched = ObservedServer { host, pids, netns_pid, listen: Some(addr.into()), shared: places.shared() };
        let observation = Observation::new(addr, Some(watched)).with_processors(&places.client, &places.server);
        let observation = observation.counting(servers.addrs()).with_server_counters(servers.counters());
        match &self.bed {
            Some(bed) => {
                Ok(observation.with_client("client1", Some(bed.netns_pid("client1")?)).with_medium(bed.gauge()))
            }
            None => Ok(observation),
        }
    }
}
