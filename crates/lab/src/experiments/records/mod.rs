//! The two studies of source 0 and 3: records read over a medium. Hosts are namespaces, the server is the record service,
//! each client is an agent with one connection in a host of its own.
//!
//! Server and clients have processors of their own where there are two; those stand for their hosts. The source's machines
//! took milliseconds for what takes microseconds today, so an exchange can be given a fixed time (`exchange_ms`), spent
//! asleep in the server: without it the wire is the bottleneck from the first client on.

mod clients;
mod clients_words;
mod derive;
mod profile;
mod profile_words;
mod words;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use run::{Check, Intensity, LoadPlan, Protocol, ServePlan, Trial, TrialKind};
use testbed::{Spec, Testbed};

use super::{Parameters, check};
use crate::agent::Crew;
use crate::conduct::Load;
use crate::{Guest, Lab, LabError, Places, Point, Scene, Teller, Watched, start_server};

pub(super) use clients::EXPERIMENT as ADDING_CLIENTS;
pub(super) use derive::wire;
pub(super) use profile::EXPERIMENT as THROUGHPUT_PROFILE;

/// Longest warm-up of a step, seconds; it ends earlier when the rate is steady.
const WARMUP_S: f64 = 2.0;
/// Fixed time of an exchange on the source's medium: 5114 us of a read less 1813 us of wire.
const SOURCE_EXCHANGE_MS: f64 = 3.3;

/// What both studies stand on.
struct Ground {
    /// Declared first: agents go before their hosts.
    _server: Arc<Mutex<Crew>>,
    addr: SocketAddr,
    scene: Scene,
    guests: Vec<Guest>,
    places: Places,
    seconds: f64,
    /// Fixed time of an exchange, milliseconds.
    exchange_ms: f64,
    medium: String,
    bed: Testbed,
}

impl Ground {
    fn build(lab: &mut Lab<'_>, parameters: &Parameters, clients: u32) -> Result<Self, LabError> {
        let medium = parameters.text("medium", "ethernet10");
        let asked = parameters.number("exchange_ms", -1.0);
        let exchange_ms = match asked >= 0.0 {
            true => asked,
            false if medium.starts_with("ethernet10") => SOURCE_EXCHANGE_MS,
            false => 0.0,
        };
        let bed = Testbed::build(&Spec::server_and_clients(clients as usize, &medium))?;
        lab.note(format!("the medium is {medium}; {}", bed.made_of()));
        if exchange_ms > 0.0 {
            lab.note(format!(
                "every exchange takes {exchange_ms} ms besides the wire, as on the source's machines; exchange_ms = 0 leaves that out"
            ));
        }
        congestion(lab, &bed, &parameters.text("congestion", "reno"))?;
        let places = Places::for_own_server(&sys::limits::allowed_cpus().unwrap_or_default(), &[]);
        let host = |name: &str| Guest::of(&bed, name);
        let plan = serve_plan(&bed, parameters, exchange_ms, clients, &places)?;
        let (crew, addr, notes) = start_server(&host("server")?, lab.program(), plan)?;
        notes.into_iter().for_each(|n| lab.note(n));
        lab.run.plan.target.url = format!("record://{addr}");
        let guests = (1..=clients).map(|n| host(&format!("client{n}"))).collect::<Result<_, _>>()?;
        let scene = scene(lab, &bed, &crew, addr, &places)?;
        let server = Arc::new(Mutex::new(crew));
        let scene = scene.with_teller(Teller::of(&server, "Records"));
        let seconds = parameters.number("seconds", 2.0).clamp(0.2, 600.0);
        Ok(Self { _server: server, addr, scene, guests, places, seconds, exchange_ms, medium, bed })
    }

    /// One step: this many clients, records of this many bytes.
    fn measure(&self, lab: &mut Lab<'_>, clients: u32, record_bytes: u32, label: String) -> Result<Trial, LabError> {
        let one = LoadPlan {
            protocol: Protocol::Record { record_bytes: u64::from(record_bytes) },
            intensity: Intensity::Closed { connections: 1, pipeline: 1, think: run::ThinkTime::default() },
            duration_s: self.seconds,
            warmup_s: WARMUP_S,
            cpus: self.places.client.clone(),
            ..lab.run.plan.load.clone()
        };
        let guests = self.guests.iter().take(clients as usize);
        let loads: Vec<Load<'_>> = guests.map(|host| Load { host, addr: self.addr, plan: one.clone() }).collect();
        let axes = BTreeMap::from([
            ("clients".to_string(), f64::from(clients)),
            ("record_bytes".to_string(), f64::from(record_bytes)),
        ]);
        let point = Point { label, kind: TrialKind::Experiment, axes, within_us: None };
        let mut trial = lab.conduct(&self.scene.clone().with_guests(self.further(clients)?), &loads, &point)?;
        // The plan of the first host alone is in the trial; together they are so many clients.
        trial.intensity = Intensity::Closed { connections: clients, pipeline: 1, think: run::ThinkTime::default() };
        derive::axes(&mut trial);
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
    fn one_namespace(&self) -> bool {
        self.medium.starts_with("loopback")
    }

    /// Whether the medium is one wire for all and both directions.
    fn shared_wire(&self) -> bool {
        self.medium.starts_with("ethernet10") || self.medium.starts_with("hub100")
    }
}

/// That a disk took no part, as source 0 and 3 have it: of all steps, the most records that one read had from the disk.
fn no_disk(trials: &[Trial]) -> Check {
    let reads = |t: &Trial| derive::cost(t.server.as_ref(), "disk_reads").unwrap_or(f64::NAN);
    let most = trials.iter().map(reads).fold(0.0, |a, b| if b.is_nan() { f64::NAN } else { f64::max(a, b) });
    check("records from the server's disk a read", most, "equals", 0.0)
}

/// What the verdict must be by the use of the wire, where that says it; on other media than the source's.
fn wire_and_verdict(wire_use: f64, verdict: &str) -> Option<Check> {
    let medium = verdict == "network-medium";
    let holds = |right: bool| f64::from(u8::from(right));
    if wire_use.is_nan() || wire_use < 0.667 {
        Some(check("the wire is not full, and the verdict is not network-medium", holds(!medium), "equals", 1.0))
    } else if wire_use >= 0.9 {
        Some(check("the wire is full, and the verdict is network-medium", holds(medium), "equals", 1.0))
    } else {
        None
    }
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

fn scene(lab: &mut Lab<'_>, bed: &Testbed, crew: &Crew, addr: SocketAddr, places: &Places) -> Result<Scene, LabError> {
    let watched = Watched {
        host: "server".into(),
        pids: crew.agents().iter().map(crate::agent::Agent::pid).collect(),
        netns_pid: Some(bed.netns_pid("server")?),
        listen: Some(addr),
        shared: places.shared(),
    };
    for (name, role) in [("server", "server"), ("client1", "client")] {
        lab.host(probe::host_info(name, role));
    }
    let scene =
        lab.scene(addr, Some(watched)).with_client("client1", Some(bed.netns_pid("client1")?)).with_medium(bed.gauge());
    if places.shared() {
        lab.note("clients and server share processors, so processor time is that of all hosts together");
        return Ok(scene);
    }
    lab.note(
        "all hosts share this machine; the server's processors stand for its host and the others for the clients'. \
         Received packets are handled on the processor that sends them; interrupts are counted for the machine",
    );
    Ok(scene.with_processors(&places.client, &places.server))
}
