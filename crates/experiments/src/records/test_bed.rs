//! Setup of the two studies of reading records: a server and its clients. The server and the clients run in network
//! namespaces joined by a medium (a simulated network), or on the plan's hosts.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use lab::{Host, HostsSetup, Lab, LabError, Load, Observation, Point};
use run::{Intensity, Key, LoadPlan, Protocol, ServePlan, Trial, TrialKind};

use super::derive;
use super::namespace_hosts::NamespaceHosts;
use crate::Parameters;
use crate::experiment::{AROUND_TRIAL_S, BUILD_S};

/// Maximum warm-up of a trial, seconds. The warm-up ends earlier if the rate becomes steady.
const WARMUP_S: f64 = 2.0;

/// Hosts of the server and of the clients.
enum Hosts {
    NamespaceHosts(Box<NamespaceHosts>),
    Given(Box<HostsSetup>),
}

/// Setup of the two studies of reading records: the hosts, and a running server.
pub(super) struct TestBed {
    addr: SocketAddr,
    pub(super) observation: Observation,
    seconds: f64,
    /// Fixed time that the server adds to each exchange, milliseconds.
    pub(super) exchange_ms: f64,
    /// Hosts of the server and of the clients. Rust drops fields in the order of their declaration, so the observers
    /// end before the connections to their hosts are closed.
    hosts: Hosts,
}

impl TestBed {
    /// Uses the hosts that the plan names. If the plan names no hosts, builds network namespaces.
    pub(super) fn build(lab: &mut Lab<'_>, parameters: &Parameters, clients: u32) -> Result<Self, LabError> {
        match lab.run.plan.hosts.is_empty() {
            true => Self::made(lab, parameters, clients),
            false => Self::given(lab, parameters, clients),
        }
    }

    fn given(lab: &mut Lab<'_>, parameters: &Parameters, clients: u32) -> Result<Self, LabError> {
        let exchange_ms = parameters.number("exchange_ms", 0.0).max(0.0);
        let plan = serve_plan(parameters, exchange_ms, clients);
        let hosts = HostsSetup::start(lab, &parameters.text("listen", ""), &plan)?.with_counters("Records");
        lab.run.plan.target.url = format!("record://{}", hosts.addr);
        lab.note("TCP of all hosts uses each host's own congestion control");
        let (addr, observation) = (hosts.addr, hosts.observation.clone());
        Ok(Self { hosts: Hosts::Given(Box::new(hosts)), addr, observation, seconds: seconds(parameters), exchange_ms })
    }

    fn made(lab: &mut Lab<'_>, parameters: &Parameters, clients: u32) -> Result<Self, LabError> {
        let plan = |exchange_ms| serve_plan(parameters, exchange_ms, clients);
        let (made, addr, observation) = NamespaceHosts::build(lab, parameters, clients, plan)?;
        let exchange_ms = made.exchange_ms;
        Ok(Self {
            hosts: Hosts::NamespaceHosts(Box::new(made)),
            addr,
            observation,
            seconds: seconds(parameters),
            exchange_ms,
        })
    }

    /// Returns the number of client hosts, which is also the maximum number of clients.
    pub(super) fn places(&self) -> u32 {
        match &self.hosts {
            Hosts::NamespaceHosts(made) => made.namespace_hosts.len() as u32,
            Hosts::Given(hosts) => hosts.places().len() as u32,
        }
    }

    /// Runs one trial with records of `record_bytes` bytes and `clients` clients, each on its own host.
    pub(super) fn measure(
        &self,
        lab: &mut Lab<'_>,
        clients: u32,
        record_bytes: u32,
        label: String,
    ) -> Result<Trial, LabError> {
        let one = LoadPlan {
            protocol: Protocol::Record { record_bytes: u64::from(record_bytes) },
            intensity: Intensity::Closed { connections: 1, pipeline: 1, think: run::ThinkTime::default() },
            duration_s: self.seconds,
            warmup_s: WARMUP_S,
            cpus: self.client_cpus(),
            ..lab.run.plan.load.clone()
        };
        let hosts = self.clients().into_iter().take(clients as usize);
        let loads: Vec<Load<'_>> = hosts.map(|host| Load { host, addr: self.addr.into(), plan: one.clone() }).collect();
        let key = Key { clients: Some(clients), record_bytes: Some(u64::from(record_bytes)), ..Key::default() };
        let point = Point { label, kind: TrialKind::Experiment, key, within_us: None };
        let mut trial =
            lab.conduct(&self.observation.clone().with_namespace_hosts(self.further(clients)?), &loads, &point)?;
        derive::derive(&mut trial);
        Ok(trial)
    }

    fn clients(&self) -> Vec<&dyn Host> {
        match &self.hosts {
            Hosts::NamespaceHosts(made) => made.namespace_hosts.iter().map(|host| host as &dyn Host).collect(),
            Hosts::Given(hosts) => hosts.places(),
        }
    }

    fn client_cpus(&self) -> Vec<u32> {
        self.bed().map(|made| made.places.client.clone()).unwrap_or_default()
    }

    /// Returns the namespaces; `None` if the experiment uses the plan's hosts.
    fn bed(&self) -> Option<&NamespaceHosts> {
        match &self.hosts {
            Hosts::NamespaceHosts(made) => Some(made),
            Hosts::Given(_) => None,
        }
    }

    /// Returns the client namespaces except the first one. Returns an empty list if the experiment uses the plan's
    /// hosts, which have their own observers.
    fn further(&self, clients: u32) -> Result<Vec<(String, u32)>, LabError> {
        self.bed().map_or_else(|| Ok(Vec::new()), |made| made.further(clients))
    }

    /// Returns true if all hosts share one network namespace.
    pub(super) fn one_namespace(&self) -> bool {
        self.bed().is_some_and(NamespaceHosts::one_namespace)
    }

    /// Returns true if the medium is like the study's network, a wire of 10 Mbit/s.
    pub(super) fn sources_medium(&self) -> bool {
        self.bed().is_some_and(|made| made.is_sources())
    }

    /// Returns true if all hosts and both directions share one wire.
    pub(super) fn shared_wire(&self) -> bool {
        self.bed().is_some_and(|made| made.bed.medium_spec().shared_wire)
    }

    /// Returns true if the medium is simulated, so its rate is known.
    pub(super) fn knows_its_medium(&self) -> bool {
        self.bed().is_some()
    }

    /// Returns the amount of traffic that may pass without delay after a pause, given as the time that the wire
    /// normally needs for it, microseconds. Returns NaN if the plan names the hosts.
    pub(super) fn catches_up_us(&self) -> f64 {
        self.bed().map_or(f64::NAN, |made| made.bed.catches_up_us() as f64)
    }
}

/// Returns the planned time of a study with `trials` trials, seconds. At the start, the hosts are observed at rest for
/// about a second.
pub(super) fn planned_s(parameters: &Parameters, trials: usize) -> f64 {
    BUILD_S + 1.0 + trials as f64 * (WARMUP_S + seconds(parameters) + AROUND_TRIAL_S)
}

/// Returns the duration of a trial's measured window, seconds.
fn seconds(parameters: &Parameters) -> f64 {
    parameters.number("seconds", 2.0).clamp(0.2, 600.0)
}

fn serve_plan(parameters: &Parameters, exchange_ms: f64, clients: u32) -> ServePlan {
    let buffers = parameters.count("large_read_buffers", 16);
    let mut options = BTreeMap::from([("large_read_buffers".to_string(), buffers.to_string())]);
    let mut plan = ServePlan { service: "record".into(), model: "auto".into(), ..ServePlan::default() };
    if exchange_ms > 0.0 {
        // The server has one worker per client, so while a worker sleeps, the other clients are still served.
        plan.model = "workers".into();
        options.insert("sleep_ms".into(), exchange_ms.to_string());
        options.insert("workers".into(), clients.to_string());
    }
    plan.options = options;
    plan
}
