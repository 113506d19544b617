//! Observers of a trial's sides, and reported counters.
//!
//! Client and server have separate observers even on one machine. Each reads its own processes, network namespace,
//! listener and connections. A run therefore looks the same whether the sides share a host or not.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use probe::{Exporter, Observer, Sampler};
use run::{Address, ObserverSpec, Recording, Role, Side};
use sys::clock::Origin;
use testbed::named::Joining;

use crate::CpuSplit;
use crate::agents::AgentGroup;
use crate::observe::RemoteObserver;
use crate::observe::samplers::{ActiveObserver, ObservedSides, Samplers, SideSampler};
use crate::observe::server_counters::ServerCounters;

/// Known facts about the server's side.
#[derive(Clone, Debug, Default)]
pub struct ObservedServer {
    /// Name of its host, as in `hosts[]`.
    pub host: String,
    /// Its processes; their children are followed.
    pub pids: Vec<u32>,
    /// A process in the server's network namespace; `None` for our own.
    pub netns_pid: Option<u32>,
    /// Address of its listener.
    pub listen: Option<Address>,
    /// Whether it may run on the generator's CPUs.
    pub shared: bool,
}

impl ObservedServer {
    /// Returns the side of a server that `group` runs, on its own CPUs if `places` has some for it.
    pub fn started(host: &str, group: &AgentGroup, netns_pid: Option<u32>, addr: SocketAddr, cpus: &CpuSplit) -> Self {
        Self { host: host.into(), pids: group.pids(), netns_pid, listen: Some(addr.into()), shared: cpus.shared() }
    }
}

/// Observers for the trials of a run.
#[derive(Clone, Debug)]
pub struct Observation {
    client: Observer,
    /// Observers of the network counters of further client hosts.
    namespace_hosts: Vec<Observer>,
    /// Observers on other client hosts; this machine is no client then.
    client_hosts: Vec<RemoteObserver>,
    server: Option<(ObservedServer, Observer)>,
    /// Observer on the server's host, if that is another one.
    server_host: Option<RemoteObserver>,
    medium: Option<testbed::MediumGauge>,
    /// Testbed of `loadline testbed` that joins both sides.
    testbed: Option<Joining>,
    server_counters: Option<ServerCounters>,
    /// Whether somebody else makes the load, so that there is no client side.
    server_alone: bool,
    blind: bool,
}

impl Observation {
    /// Observes a client on this machine that connects to an address, and the server if it is visible.
    pub fn new(connect: impl Into<Address>, server: Option<ObservedServer>) -> Self {
        let client =
            ObserverSpec { host: "localhost".into(), connect: Some(connect.into()), ..ObserverSpec::default() };
        let observer = |server: ObservedServer| {
            let observer = Observer::new(of_server(&server));
            (server, observer)
        };
        Self {
            client: Observer::new(client),
            namespace_hosts: Vec::new(),
            client_hosts: Vec::new(),
            server: server.map(observer),
            server_host: None,
            medium: None,
            testbed: None,
            server_counters: None,
            server_alone: false,
            blind: false,
        }
    }

    /// Observes a server under external load.
    pub fn of_server_alone(server: ObservedServer) -> Self {
        let nowhere = std::net::SocketAddr::from(([0, 0, 0, 0], 0));
        Self { server_alone: true, ..Self::new(nowhere, Some(server)) }
    }

    /// Reads the client's counters in another network namespace, under another name.
    pub fn with_client(mut self, host: &str, netns_pid: Option<u32>) -> Self {
        let spec = ObserverSpec { host: host.into(), netns_pid, ..self.client.spec().clone() };
        self.client = Observer::new(spec);
        self
    }

    /// Adds the network counters of further client hosts, each given by its name and a process in its network
    /// namespace. Their processes and machine counters are already part of the client's side.
    pub fn with_namespace_hosts(mut self, namespace_hosts: Vec<(String, u32)>) -> Self {
        let observer = |(host, pid)| {
            let sources = Some(OF_NETWORK.iter().map(|name| (*name).to_string()).collect());
            Observer::new(ObserverSpec { host, netns_pid: Some(pid), sources, ..ObserverSpec::default() })
        };
        self.namespace_hosts = namespace_hosts.into_iter().map(observer).collect();
        self
    }

    /// Adds the observers on the other hosts of clients and server.
    pub fn with_hosts(mut self, client_hosts: Vec<RemoteObserver>, server_host: Option<RemoteObserver>) -> Self {
        (self.client_hosts, self.server_host) = (client_hosts, server_host);
        self
    }

    /// Returns whether clients, and whether the server, are observed on this host.
    pub(crate) fn here(&self) -> [bool; 2] {
        [self.client_hosts.is_empty(), self.server.is_some() && self.server_host.is_none()]
    }

    /// Returns the observers on the other client hosts.
    pub(crate) fn client_hosts(&self) -> &[RemoteObserver] {
        &self.client_hosts
    }

    /// Returns the observer on the server's host, if that is another one.
    pub(crate) fn server_host(&self) -> Option<&RemoteObserver> {
        self.server_host.as_ref()
    }

    /// Adds the counters of the medium that joins the hosts, as part of the server's side.
    pub fn with_medium(mut self, gauge: testbed::MediumGauge) -> Self {
        self.medium = Some(gauge);
        self
    }

    /// Adds the counters of the medium of a `loadline testbed`, as part of the server's side.
    pub(crate) fn with_testbed(mut self, testbed: Joining) -> Self {
        self.testbed = Some(testbed);
        self
    }

    /// Returns the testbed of `loadline testbed` that joins both sides.
    pub(crate) fn testbed(&self) -> Option<&Joining> {
        self.testbed.as_ref()
    }

    /// Adds the server's own counters, as part of the server's side.
    pub fn with_server_counters(mut self, server_counters: ServerCounters) -> Self {
        self.server_counters = Some(server_counters);
        self
    }

    /// Confines both sides to their own CPUs of a shared machine: only these count as their host's.
    pub fn with_processors(mut self, client: &[u32], server: &[u32]) -> Self {
        let only = |observer: &Observer, cpus: &[u32]| {
            Observer::new(ObserverSpec { processors: cpus.to_vec(), ..observer.spec().clone() })
        };
        self.client = only(&self.client, client);
        self.server = self.server.map(|(watched, observer)| (watched, only(&observer, server)));
        self
    }

    /// Reads only these sources on both sides (`loadline list sources`). Some sources read every socket, and there
    /// may be very many.
    pub fn reading(mut self, sources: &[&str]) -> Self {
        let names: Vec<String> = sources.iter().map(|name| (*name).to_string()).collect();
        let only = |observer: &Observer| {
            Observer::new(ObserverSpec { sources: Some(names.clone()), ..observer.spec().clone() })
        };
        self.client = only(&self.client);
        self.server = self.server.map(|(watched, observer)| (watched, only(&observer)));
        self
    }

    /// Counts the connections of these listeners of the server; expensive if there are many.
    pub fn counting(mut self, listeners: &[SocketAddr]) -> Self {
        let counted: Vec<Address> = listeners.iter().copied().map(Address::from).collect();
        let more =
            |observer: &Observer| Observer::new(ObserverSpec { counted: counted.clone(), ..observer.spec().clone() });
        self.server = self.server.map(|(watched, observer)| (watched, more(&observer)));
        self
    }

    /// Removes all observers, for trials of the generator alone.
    pub fn blind(&self) -> Self {
        Self { blind: true, ..self.clone() }
    }

    /// Returns whether its trials are about the generator alone.
    pub fn is_blind(&self) -> bool {
        self.blind
    }

    /// Returns the server's side, if it is known.
    pub fn server(&self) -> Option<&ObservedServer> {
        self.server.as_ref().map(|(watched, _)| watched)
    }

    /// Returns whether client and server share CPUs.
    pub fn shared(&self) -> bool {
        self.server().is_some_and(|s| s.shared)
    }

    /// Starts observing a trial of these clients. Anything that cannot be observed is missing in the trial.
    pub fn open(&self, clients: &AgentGroup, origin: Origin, interval_s: f64) -> Samplers {
        if self.blind {
            return Samplers::none(origin);
        }
        let watch = |observer: &Observer, more: &[u32]| {
            let watching = observer.watch(more, interval_s, origin).ok()?;
            Some(ActiveObserver { host: observer.spec().host.clone(), sampler: SideSampler::Here(watching) })
        };
        let follow = |observer: &RemoteObserver| {
            let watching = observer.follow(clients.pids_on(observer.host()), interval_s, origin);
            ActiveObserver { host: observer.host().into(), sampler: SideSampler::There(watching) }
        };
        let here = self.client_hosts.is_empty();
        Samplers {
            shared: self.shared(),
            told: self.reported_sampler(interval_s, origin),
            server: match &self.server_host {
                Some(observer) => Some(follow(observer)),
                None => self.server.as_ref().and_then(|(_, observer)| watch(observer, &[])),
            },
            client: if here && !self.server_alone { watch(&self.client, &clients.pids()) } else { None },
            client_hosts: self.client_hosts.iter().map(follow).collect(),
            namespace_hosts: self.namespace_hosts.iter().filter_map(|observer| watch(observer, &[])).collect(),
            ..Samplers::none(origin)
        }
    }

    /// Returns the sampler of reported counters, which become part of the server's recording.
    fn reported_sampler(&self, interval_s: f64, origin: Origin) -> Option<Sampler> {
        let exporters = self.exporters();
        if self.server_host.is_some() && exporters.is_empty() {
            return None;
        }
        probe::listen(exporters, interval_s, origin).ok()
    }

    fn exporters(&self) -> Vec<Exporter> {
        let medium = self.medium.clone().map(|gauge| -> Exporter {
            Box::new(move || {
                let mut row = Recording::default();
                gauge.sample(0.0, &mut row);
                row
            })
        });
        let testbed = self.testbed.clone().map(|testbed| -> Exporter { Box::new(move || testbed.sample()) });
        medium.into_iter().chain(testbed).chain(self.server_counters.as_ref().map(ServerCounters::exporter)).collect()
    }

    /// Observes both sides without load for a while, or until `stop` returns true.
    pub fn at_rest(&self, seconds: f64, interval_s: f64, stop: &dyn Fn() -> bool) -> Vec<Side> {
        if seconds <= 0.0 {
            return Vec::new();
        }
        let begin = Instant::now();
        let samplers = self.open(&AgentGroup::default(), Origin::after(Duration::ZERO), interval_s);
        samplers.edge();
        while begin.elapsed().as_secs_f64() < seconds && !stop() {
            std::thread::sleep(Duration::from_millis(20));
        }
        samplers.edge();
        let ObservedSides { client, client_hosts, server, .. } = samplers.sides();
        client.into_iter().chain(server).chain(client_hosts).collect()
    }
}

fn of_server(server: &ObservedServer) -> ObserverSpec {
    ObserverSpec {
        host: server.host.clone(),
        role: Role::Server,
        processes: server.pids.clone(),
        netns_pid: server.netns_pid,
        listen: server.listen.clone(),
        ..ObserverSpec::default()
    }
}

/// Sources that read a network namespace and nothing about the machine.
const OF_NETWORK: &[&str] = &["netstat", "interface", "sockstat"];
