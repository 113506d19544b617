//! Observers of client and server during a load test, and counters that servers report.
//!
//! Client and server have separate observers even on one machine. Each observer reads the processes, network namespace,
//! listener and connections of its own side. A run therefore has the same format whether or not client and server share
//! a host.

mod start;

use std::net::SocketAddr;

use databases::Database;
use probe::Observer;
use run::{Address, ObserverSpec};
use testbed::named::Joining;

use crate::observe::RemoteObserver;
use crate::observe::host_observer::HostObserver;
use crate::observe::observed_server::ObservedServer;
use crate::observe::server_counters::ServerCounters;

/// Observers for the load tests of a run.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Observers of the client hosts; empty if another program generates the load.
    clients: Vec<HostObserver>,
    /// Observers of additional client hosts, which are network namespaces on the client's machine. Observers of
    /// additional client hosts read only network counters.
    namespace_hosts: Vec<HostObserver>,
    server: Option<HostObserver>,
    server_side: Option<ObservedServer>,
    medium: Option<testbed::MediumGauge>,
    /// Testbed of `loadline testbed` that connects client and server; `None` without such a testbed.
    testbed: Option<Joining>,
    server_counters: Option<ServerCounters>,
    /// Databases that the server uses, as named in the plan.
    databases: Vec<Database>,
    blind: bool,
}

impl Observation {
    /// Observes a client on this machine that connects to an address, and the server if `server` describes it.
    pub fn new(connect: impl Into<Address>, server: Option<ObservedServer>) -> Self {
        let client =
            ObserverSpec { host: "localhost".into(), connect: Some(connect.into()), ..ObserverSpec::default() };
        Self { clients: vec![HostObserver::Local(Observer::new(client))], ..Self::without_client(server) }
    }

    /// Observes only a server, which is under external load.
    pub fn of_server_alone(server: ObservedServer) -> Self {
        Self::without_client(Some(server))
    }

    fn without_client(server: Option<ObservedServer>) -> Self {
        Self {
            clients: Vec::new(),
            namespace_hosts: Vec::new(),
            server: server.as_ref().map(|server| HostObserver::Local(Observer::new(server.spec()))),
            server_side: server,
            medium: None,
            testbed: None,
            server_counters: None,
            databases: Vec::new(),
            blind: false,
        }
    }

    /// Reads the client's counters in the network namespace of process `netns_pid`, and names the client's host `host`.
    pub fn with_client(mut self, host: &str, netns_pid: Option<u32>) -> Self {
        let rename = |spec: &mut ObserverSpec| (spec.host, spec.netns_pid) = (host.into(), netns_pid);
        self.clients.iter_mut().for_each(|client| client.change(rename));
        self
    }

    /// Adds the network counters of further client hosts. Each host is given by its name and by a process in its
    /// network namespace. The client's observations already contain the processes and machine counters of the further
    /// hosts.
    pub fn with_namespace_hosts(mut self, namespace_hosts: Vec<(String, u32)>) -> Self {
        let observer = |(host, pid)| {
            let sources = Some(OF_NETWORK.iter().map(|name| (*name).to_string()).collect());
            let spec = ObserverSpec { host, netns_pid: Some(pid), sources, ..ObserverSpec::default() };
            HostObserver::Local(Observer::new(spec))
        };
        self.namespace_hosts = namespace_hosts.into_iter().map(observer).collect();
        self
    }

    /// Uses the given observers on other hosts instead of local observers, for the clients and for the server.
    pub fn with_hosts(mut self, clients: Vec<RemoteObserver>, server: Option<RemoteObserver>) -> Self {
        if !clients.is_empty() {
            self.clients = clients.into_iter().map(HostObserver::Remote).collect();
        }
        self.server = server.map(HostObserver::Remote).or(self.server);
        self
    }

    /// Returns two flags: true if the clients are observed on this host, and true if the server is observed on this
    /// host.
    pub(crate) fn here(&self) -> [bool; 2] {
        let local = |observer: &HostObserver| observer.remote().is_none();
        [self.clients.iter().any(local), self.server.as_ref().is_some_and(local)]
    }

    /// Returns the observers on the other client hosts.
    pub(crate) fn remote_clients(&self) -> impl Iterator<Item = &RemoteObserver> {
        self.clients.iter().filter_map(HostObserver::remote)
    }

    /// Returns the observer on the server's host, if that is another host.
    pub(crate) fn remote_server(&self) -> Option<&RemoteObserver> {
        self.server.as_ref().and_then(HostObserver::remote)
    }

    /// Adds the counters of the network medium between the hosts, as part of the server's observations.
    pub fn with_medium(mut self, gauge: testbed::MediumGauge) -> Self {
        self.medium = Some(gauge);
        self
    }

    /// Adds the counters of the medium of a `loadline testbed`, as part of the server's observations.
    pub(crate) fn with_testbed(mut self, testbed: Joining) -> Self {
        self.testbed = Some(testbed);
        self
    }

    /// Returns the testbed of `loadline testbed` that connects client and server.
    pub(crate) fn testbed(&self) -> Option<&Joining> {
        self.testbed.as_ref()
    }

    /// Adds counters that the server itself reports, as part of the server's observations.
    pub fn with_server_counters(mut self, server_counters: ServerCounters) -> Self {
        self.server_counters = Some(server_counters);
        self
    }

    /// Limits the host counters of the client to the client's CPUs, and those of the server to the server's CPUs. On a
    /// shared machine, these limits separate the counters of client and server.
    pub fn with_processors(mut self, client: &[u32], server: &[u32]) -> Self {
        self.clients.iter_mut().for_each(|host| host.change(|spec| spec.processors = client.to_vec()));
        self.server.iter_mut().for_each(|host| host.change(|spec| spec.processors = server.to_vec()));
        self
    }

    /// Reads only the counter sources in `sources` on client and server (see `loadline list sources`). With very many
    /// sockets, some sources are too slow, because they read every socket.
    pub fn reading(mut self, sources: &[&str]) -> Self {
        let names: Vec<String> = sources.iter().map(|name| (*name).to_string()).collect();
        let hosts = self.clients.iter_mut().chain(&mut self.server);
        hosts.for_each(|host| host.change(|spec| spec.sources = Some(names.clone())));
        self
    }

    /// Samples the threads of the server and of its upstream services, if the plan requests it.
    pub(crate) fn with_waits(mut self, plan: &run::ObservePlan) -> Self {
        let sample = |spec: &mut run::ObserverSpec| (spec.waits, spec.no_stacks) = (plan.waits, plan.no_stacks);
        self.server.iter_mut().for_each(|host| host.change(sample));
        self
    }

    /// Returns a copy that samples neither threads nor databases. The copy is for short, alternating loads, of which
    /// only the rates are compared.
    pub(crate) fn without_samples(&self) -> Self {
        Self { databases: Vec::new(), ..self.clone() }
            .with_waits(&run::ObservePlan { waits: false, ..Default::default() })
    }

    /// Samples the databases in `databases` during each load test.
    pub(crate) fn with_databases(mut self, databases: &[Database]) -> Self {
        self.databases = databases.to_vec();
        self
    }

    /// Counts the connections to the server's listeners in `listeners`. Counting is expensive if there are many
    /// connections.
    pub fn counting(mut self, listeners: &[SocketAddr]) -> Self {
        let counted: Vec<Address> = listeners.iter().copied().map(Address::from).collect();
        self.server.iter_mut().for_each(|host| host.change(|spec| spec.counted.clone_from(&counted)));
        self
    }

    /// Returns a copy that starts no observers, for load tests that measure only the generator.
    pub fn blind(&self) -> Self {
        Self { blind: true, ..self.clone() }
    }

    /// Returns true if the load tests measure only the generator.
    pub fn is_blind(&self) -> bool {
        self.blind
    }

    /// Returns the facts about the server; `None` if the server is unknown.
    pub fn server(&self) -> Option<&ObservedServer> {
        self.server_side.as_ref()
    }

    /// Returns true if client and server may run on the same CPUs.
    pub fn shared(&self) -> bool {
        self.server().is_some_and(|s| s.shared)
    }
}

/// Counter sources that read only the network namespace.
const OF_NETWORK: &[&str] = &["netstat", "interface", "sockstat"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_without_samples_starts_no_sampler_of_threads() {
        let addr: SocketAddr = ([127, 0, 0, 1], 80).into();
        let server = ObservedServer { pids: vec![1], ..ObservedServer::default() };
        let plan = run::ObservePlan { waits: true, ..run::ObservePlan::default() };
        let sampled = Observation::new(addr, Some(server)).with_waits(&plan);
        let is_sampler = |host: &&HostObserver| matches!(host, HostObserver::Local(observer) if observer.spec().waits);
        let samplers = |of: &Observation| of.server.iter().chain(&of.clients).filter(is_sampler).count();
        assert_eq!((samplers(&sampled), samplers(&sampled.without_samples())), (1, 0));
    }
}
