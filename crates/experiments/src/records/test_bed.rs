//! What both studies stand on: server and clients in hosts of their own, joined by the medium.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use lab::agent::AgentGroup;
use lab::{Lab, LabError, Load, NamespaceHost, Observation, Places, Point, ServerCounters, Watched, start_server};
use run::{Intensity, Key, LoadPlan, Protocol, ServePlan, Trial, TrialKind};
use testbed::{Spec, Testbed};

use super::derive;
use crate::Parameters;

/// Longest warm-up of a step, seconds; it ends earlier when the rate is steady.
const WARMUP_S: f64 = 2.0;

/// Fixed time of an exchange on the source's medium: 5114 us of a read less 1813 us of wire.
const SOURCE_EXCHANGE_MS: f64 = 3.3;

/// What both studies stand on.
pub(super) struct TestBed {
    /// Declared first: agents go before their hosts.
    _server: Arc<Mutex<AgentGroup>>,
    addr: SocketAddr,
    pub(super) observation: Observation,
    namespace_hosts: Vec<NamespaceHost>,
    places: Places,
    seconds: f64,
    /// Fixed time of an exchange, milliseconds.
    pub(super) exchange_ms: f64,
    pub(super) bed: Testbed,
}

impl TestBed {
    pub(super) fn build(lab: &mut Lab<'_>, parameters: &Parameters, clients: u32) -> Result<Self, LabError> {
        let medium = parameters.text("medium", "ethernet10");
        let asked = parameters.number("exchange_ms", -1.0);
        let bed = Testbed::build(&Spec::server_and_clients(clients as usize, &medium))?;
        let exchange_ms = match asked >= 0.0 {
            true => asked,
            false if is_sources(&bed) => SOURCE_EXCHANGE_MS,
            false => 0.0,
        };
        lab.note(format!("the medium is {medium}; {}", bed.made_of()));
        if exchange_ms > 0.0 {
            lab.note(format!(
                "every exchange takes {exchange_ms} ms besides the wire, as on the source's machines; exchange_ms = 0 leaves that out"
            ));
        }
        congestion(lab, &bed, &parameters.text("congestion", "reno"))?;
        let places = Places::for_own_server(&sys::limits::allowed_cpus().unwrap_or_default(), &[]);
        let host = |name: &str| NamespaceHost::of(&bed, name);
        let plan = serve_plan(&bed, parameters, exchange_ms, clients, &places)?;
        let (group, addr, notes) = start_server(&host("server")?, lab.program(), plan)?;
        notes.into_iter().for_each(|n| lab.note(n));
        lab.run.plan.target.url = format!("record://{addr}");
        let namespace_hosts = (1..=clients).map(|n| host(&format!("client{n}"))).collect::<Result<_, _>>()?;
        let observation = observation(lab, &bed, &group, addr, &places)?;
        let server = Arc::new(Mutex::new(group));
        let observation = observation.with_server_counters(ServerCounters::of(&server, "Records"));
        let seconds = parameters.number("seconds", 2.0).clamp(0.2, 600.0);
        Ok(Self { _server: server, addr, observation, namespace_hosts, places, seconds, exchange_ms, bed })
    }

    /// One step: this many clients, records of this many bytes.
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
            cpus: self.places.client.clone(),
            ..lab.run.plan.load.clone()
        };
        let namespace_hosts = self.namespace_hosts.iter().take(clients as usize);
        let loads: Vec<Load<'_>> =
            namespace_hosts.map(|host| Load { host, addr: self.addr.into(), plan: one.clone() }).collect();
        let key = Key { clients: Some(clients), record_bytes: Some(u64::from(record_bytes)), ..Key::default() };
        let point = Point { label, kind: TrialKind::Experiment, key, within_us: None };
        let mut trial =
            lab.conduct(&self.observation.clone().with_namespace_hosts(self.further(clients)?), &loads, &point)?;
        derive::derive(&mut trial);
        Ok(trial)
    }

    /// Hosts of clients after the first; on loopback all are in one namespace, which is read once.
    fn further(&self, clients: u32) -> Result<Vec<(String, u32)>, LabError> {
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

    /// Whether all hosts are one namespace.
    pub(super) fn one_namespace(&self) -> bool {
        !self.bed.hosts_apart()
    }

    /// Whether the medium is that of the source.
    pub(super) fn sources_medium(&self) -> bool {
        is_sources(&self.bed)
    }

    /// Whether the medium is one wire for all and both directions.
    pub(super) fn shared_wire(&self) -> bool {
        self.bed.medium_spec().shared_wire
    }
}

/// Whether a medium is that of the source: a wire of 10 Mbit/s.
fn is_sources(bed: &Testbed) -> bool {
    bed.medium_spec().name == "ethernet10"
}

/// Gives all hosts one congestion control, before any of them opens a socket. A machine's own may be BBR, which paces a
/// reply by its estimate of the path: of one record at a time it never learns the rate of the path, and reads of 56 KiB
/// over a switch ran at half of what reno brought.
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

fn serve_plan(
    bed: &Testbed,
    parameters: &Parameters,
    exchange_ms: f64,
    clients: u32,
    places: &Places,
) -> Result<ServePlan, LabError> {
    let address = bed.address("server")?;
    let buffers = parameters.count("large_read_buffers", 16);
    let mut options = BTreeMap::from([("large_read_buffers".to_string(), buffers.to_string())]);
    let mut plan = ServePlan {
        service: "record".into(),
        model: "auto".into(),
        listen: SocketAddr::new(address, 0).to_string(),
        cpus: places.server.clone(),
        ..ServePlan::default()
    };
    if exchange_ms > 0.0 {
        // As many workers as clients, so that the fixed time of one client's exchange delays no other's.
        plan.model = "workers".into();
        options.insert("sleep_ms".into(), exchange_ms.to_string());
        options.insert("workers".into(), clients.to_string());
    }
    plan.options = options;
    Ok(plan)
}

fn observation(
    lab: &mut Lab<'_>,
    bed: &Testbed,
    group: &AgentGroup,
    addr: SocketAddr,
    places: &Places,
) -> Result<Observation, LabError> {
    let watched = Watched::started("server", group, Some(bed.netns_pid("server")?), addr, places);
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
