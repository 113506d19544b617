//! Hosts of the entries: the hosts of the plan, this machine's loopback, or namespaces on a medium. The paper had one
//! server and three clients.

use std::net::SocketAddr;

use run::Role;
use testbed::{Spec, Testbed};

use super::servers::Servers;
use crate::Parameters;
use lab::{CpuSplit, Host, Lab, LabError, Local, NamespaceHost, Observation, ObservedServer};

/// Number of client machines in the paper.
const CLIENTS: usize = 3;

/// Hosts on which the entries run.
pub(super) enum Stage {
    /// Hosts on this machine.
    ThisMachine(Box<ThisMachine>),
    /// The hosts of the plan, with this number of client hosts.
    OtherHosts(u32),
}

impl Stage {
    /// Prepares the hosts of the plan if it names some, otherwise hosts on this machine.
    pub(super) fn build(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<Self, LabError> {
        if lab.run.plan.hosts.is_empty() {
            return ThisMachine::build(lab, parameters).map(|here| Self::ThisMachine(Box::new(here)));
        }
        let clients = lab.run.plan.hosts.iter().filter(|host| host.role == Role::Client);
        Ok(Self::OtherHosts(clients.map(|host| host.agents).sum::<u32>().max(1)))
    }

    /// Returns the number of client hosts that share one load.
    pub(super) fn clients(&self) -> u32 {
        match self {
            Self::ThisMachine(here) => here.clients.len() as u32,
            Self::OtherHosts(places) => *places,
        }
    }
}

/// Server and client hosts on this machine.
pub(super) struct ThisMachine {
    server: Box<dyn Host>,
    clients: Vec<Box<dyn Host>>,
    bed: Option<Testbed>,
}

impl ThisMachine {
    /// Builds the hosts of the experiment. Parameter `medium` names the medium of the hosts. Without this parameter,
    /// and with `loopback`, all hosts share this machine's loopback.
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

    /// Returns the client host of block number `block`. The client hosts take the blocks in turn.
    pub(super) fn client(&self, block: usize) -> &dyn Host {
        self.clients[block % self.clients.len()].as_ref()
    }

    /// Returns the listening address of the server, with port 0.
    pub(super) fn listen(&self) -> Result<String, LabError> {
        match &self.bed {
            Some(bed) => Ok(SocketAddr::new(bed.address("server")?, 0).to_string()),
            None => Ok("127.0.0.1:0".into()),
        }
    }

    /// Returns the objects that the samplers observe: the server's processes and their connections.
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
