//! Hosts of a run other than this machine: the connections to these hosts, and the agents on these hosts that read
//! counters.

use std::path::Path;
use std::process::Command;

use run::{Address, HostPlan, ObserverSpec, Role, WatchSpec};

use crate::hosts::via::Via;
use crate::observe::RemoteObserver;
use crate::{Host, LabError, Local};

/// Client hosts among which a load is divided. All client hosts together count as one host.
#[derive(Clone, Debug)]
struct Fleet {
    name: String,
    members: Vec<(Via, u32)>,
}

impl Host for Fleet {
    fn name(&self) -> &str {
        &self.name
    }

    fn command(&self, program: &Path) -> Result<Command, LabError> {
        let first = self.members.first().ok_or_else(|| LabError::set_up("starting an agent", "no host was named"))?;
        first.0.command(program)
    }

    fn place(&self) -> String {
        self.name.clone()
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn members(&self) -> Vec<(&dyn Host, u32)> {
        self.members.iter().map(|(host, agents)| (host as &dyn Host, *agents)).collect()
    }
}

/// Hosts of clients and server.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    clients: Option<Fleet>,
    server: Option<Via>,
    /// Host of this process, used if the plan names no host for the server or the generators.
    here: Local,
}

impl Hosts {
    /// Connects to the hosts of a plan.
    pub(crate) fn connect(plans: &[HostPlan], program: &Path) -> Result<Self, LabError> {
        if plans.is_empty() {
            return Ok(Self::default());
        }
        let mut hosts = Self::default();
        let mut members = Vec::new();
        for (host, plan) in Via::connect(plans, program)?.into_iter().zip(plans) {
            match plan.role {
                Role::Client => members.push((host, plan.agents)),
                Role::Server => hosts.server = Some(host),
            }
        }
        let names: Vec<&str> = members.iter().map(|(host, _)| host.name()).collect();
        hosts.clients = (!members.is_empty()).then(|| Fleet { name: names.join(", "), members: members.clone() });
        Ok(hosts)
    }

    /// Returns the server's host.
    pub(crate) fn server(&self) -> &dyn Host {
        self.server.as_ref().map_or(&self.here, |via| via)
    }

    /// Returns the host of the generators. Returns several hosts as one combined host.
    pub(crate) fn clients(&self) -> &dyn Host {
        self.clients.as_ref().map_or(&self.here, |fleet| fleet)
    }

    /// Returns the host of the generators and the host of the server. A host that the plan does not name is this host.
    pub(crate) fn into_sides(self) -> [Box<dyn Host>; 2] {
        let here = || Box::new(Local::default()) as Box<dyn Host>;
        [
            self.clients.map_or_else(here, |fleet| Box::new(fleet) as Box<dyn Host>),
            self.server.map_or_else(here, |via| Box::new(via) as Box<dyn Host>),
        ]
    }

    /// Starts observers on the clients' hosts.
    pub(crate) fn observe_clients(&self, program: &Path, addr: &Address) -> Result<Vec<RemoteObserver>, LabError> {
        let members = self.clients.iter().flat_map(|fleet| &fleet.members);
        let start = |(host, _): &(Via, u32)| {
            let observer =
                ObserverSpec { host: host.name().into(), connect: Some(addr.clone()), ..ObserverSpec::default() };
            RemoteObserver::start(host, program, WatchSpec { observer, find: None })
        };
        members.map(start).collect()
    }

    /// Starts the observer on the server's host. The observer follows the given process. If no process is given, the
    /// observer follows the processes that listen at `listener`. The observer also samples the threads of the server's
    /// processes if the plan requests it. Returns `None` if the plan names no host for the server.
    pub(crate) fn observe_server(
        &self,
        program: &Path,
        pid: Option<u32>,
        listener: Option<Address>,
        plan: &run::ObservePlan,
    ) -> Result<Option<RemoteObserver>, LabError> {
        let Some(host) = &self.server else { return Ok(None) };
        let (processes, find) = (pid.into_iter().collect(), listener.clone().filter(|_| pid.is_none()));
        let listen = listener.filter(|_| pid.is_some());
        let role = Role::Server;
        let observer = ObserverSpec {
            host: host.name().into(),
            role,
            processes,
            listen,
            waits: plan.waits,
            no_stacks: plan.no_stacks,
            ..ObserverSpec::default()
        };
        RemoteObserver::start(host, program, WatchSpec { observer, find }).map(Some)
    }
}
