//! Where the entries are played: on the hosts of the plan, on this machine's loopback, or on hosts joined by a medium, one for the server and as many
//! clients as the source had.

use std::net::SocketAddr;

use run::Role;
use testbed::{Spec, Testbed};

use super::servers::Servers;
use crate::Parameters;
use lab::{CpuSplit, Host, Lab, LabError, Local, NamespaceHost, Observation, ObservedServer};

/// Client machines of the source.
const CLIENTS: usize = 3;

/// Where the entries are played.
pub(super) enum Stage {
    /// Here.
    Here(Box<Here>),
    /// On the hosts of the plan, which have so many places for clients.
    Far(u32),
}

impl Stage {
    /// The hosts of the plan, where it names some.
    pub(super) fn build(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<Self, LabError> {
        if lab.run.plan.hosts.is_empty() {
            return Here::build(lab, parameters).map(|here| Self::Here(Box::new(here)));
        }
        let clients = lab.run.plan.hosts.iter().filter(|host| host.role == Role::Client);
        Ok(Self::Far(clients.map(|host| host.agents).sum::<u32>().max(1)))
    }

    /// Clients that one load is spread over.
    pub(super) fn clients(&self) -> u32 {
        match self {
            Self::Here(here) => here.clients.len() as u32,
            Self::Far(places) => *places,
        }
    }
}

/// Hosts for server and clients.
pub(super) struct Here {
    server: Box<dyn Host>,
    clients: Vec<Box<dyn Host>>,
    bed: Option<Testbed>,
}

impl Here {
    /// Parameter `medium` names what joins the hosts; without it, or with `loopback`, there is none.
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

    /// The host of a block: blocks are dealt out in turn.
    pub(super) fn client(&self, block: usize) -> &dyn Host {
        self.clients[block % self.clients.len()].as_ref()
    }

    /// Where the server listens, any port.
    pub(super) fn listen(&self) -> Result<String, LabError> {
        match &self.bed {
            Some(bed) => Ok(SocketAddr::new(bed.address("server")?, 0).to_string()),
            None => Ok("127.0.0.1:0".into()),
        }
    }

    /// What the samplers look at: the server's processes, and the connections of each.
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
