//! The hot load of the source: clients that fetch a large file through the proxy, while the proxy's calls of the event
//! API are timed. A small receive buffer keeps the events apart: a connection
//! has thousands of them.

use std::net::SocketAddr;
use std::time::Duration;

use run::{AgentSpec, ColdPlan, Intensity, LoadPlan, ServePlan, ThinkTime};
use serve::{CallTimer, Server, TimingGoal, Timings};

use super::bench::Amount;
use crate::Parameters;
use lab::agents::AgentGroup;
use lab::cold::Cold;
use lab::{CpuSplit, Lab, LabError, Local, start_server, target};

/// The large file of the source, bytes.
pub(super) const LARGE_BYTES: u64 = 40 << 20;
/// Congestion control of the web server and of the proxy, whatever the system's default is: one that paces by a rate
/// that it estimated (BBR) can hold tiny windows to a crawl for seconds, and then the web server is what limits.
const CONGESTION: &str = "reno";
/// T of the S-Clients: source 1's.
const CONNECT_TIMEOUT_MS: f64 = 500.0;
/// How long a generator may take to have its sockets.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// The load runs for so long before anything is timed: connections are up, windows are open.
const WARM_UP: Duration = Duration::from_millis(150);

/// The web server behind the proxy. It serves its page from memory, so no first run has to fill a cache.
pub(super) struct Web {
    _server: AgentGroup,
    addr: SocketAddr,
    /// Receive buffer of the proxy's connections to it, bytes. Each read takes all that the window allows and lets the next
    /// piece in: a large file is thousands of events, and the proxy, not its web server, decides how many at a time.
    buffer_bytes: u32,
}

impl Web {
    pub(super) fn start(
        lab: &Lab<'_>,
        places: &CpuSplit,
        parameters: &Parameters,
        body_bytes: u64,
    ) -> Result<Self, LabError> {
        let mut plan = ServePlan {
            model: serve::default_model().into(),
            body_bytes,
            cpus: places.client.clone(),
            ..ServePlan::default()
        };
        plan.options.insert("congestion".into(), CONGESTION.into());
        let (group, addr, _) = start_server(&Local::default(), lab.program(), plan)?;
        Ok(Self { _server: group, addr, buffer_bytes: parameters.count("upstream_buffer", 8192) })
    }
}

/// How the proxy of a relay is to be.
pub(super) fn proxy_plan(web: &Web, places: &CpuSplit, events: &str) -> ServePlan {
    let mut plan = ServePlan { service: "proxy".into(), cpus: places.server.clone(), ..ServePlan::default() };
    let options = [
        ("upstream", web.addr.to_string()),
        ("events", events.to_string()),
        ("upstream_buffer", web.buffer_bytes.to_string()),
        ("congestion", CONGESTION.to_string()),
        // Nothing but the calls is to decide how many events come together.
        ("gather_us", "0".to_string()),
    ];
    plan.options.extend(options.map(|(name, value)| (name.to_string(), value)));
    plan
}

/// Clients of which each fetches file after file on a new connection, until the value is dropped. On a large file this
/// is what so many S-Clients do while none is turned away: one transfer each. S-Clients of source 1 begin further
/// connections while a transfer lasts, and the number of transfers would not be the one that figure 6 is drawn over.
pub(super) fn clients(lab: &Lab<'_>, places: &CpuSplit, addr: SocketAddr, number: u32) -> Result<AgentGroup, LabError> {
    let intensity = Intensity::Closed { connections: number.max(1), pipeline: 1, think: ThinkTime::default() };
    generator(lab, places, addr, intensity)
}

/// S-Clients of source 1: so many descriptors that always connect, whatever the proxy takes.
pub(super) fn s_clients(
    lab: &Lab<'_>,
    places: &CpuSplit,
    addr: SocketAddr,
    number: u32,
) -> Result<AgentGroup, LabError> {
    let think = ThinkTime::default();
    let intensity =
        Intensity::SClients { descriptors: number.max(1), connect_timeout_ms: CONNECT_TIMEOUT_MS, think, pace: None };
    generator(lab, places, addr, intensity)
}

fn generator(lab: &Lab<'_>, places: &CpuSplit, addr: SocketAddr, intensity: Intensity) -> Result<AgentGroup, LabError> {
    let plan = LoadPlan {
        protocol: target::resolve(&format!("http://{addr}/"), &lab.run.plan.load.protocol)?.protocol,
        intensity,
        new_connections: true,
        cpus: places.client.clone(),
        ..LoadPlan::default()
    };
    let mut group = AgentGroup::default();
    let spec = AgentSpec::Load {
        plan: Box::new(plan),
        addr: addr.into(),
        at_once: true,
        files: std::collections::BTreeMap::new(),
        detailed: false,
        fine: false,
    };
    group.start(&Local::default(), lab.program(), "clients", &spec)?;
    group.await_ready(READY_WITHIN)?;
    std::thread::sleep(WARM_UP);
    Ok(group)
}

/// A timed proxy with its cold connections.
pub(super) struct Relay {
    server: Server,
    timer: CallTimer,
    places: CpuSplit,
    cold: Option<Cold>,
}

impl Relay {
    /// A proxy on this back end, with `cold` connections that say nothing.
    pub(super) fn start(
        lab: &mut Lab<'_>,
        (web, places): (&Web, &CpuSplit),
        events: &str,
        (cold, pace): (u32, f64),
    ) -> Result<Self, LabError> {
        let plan = proxy_plan(web, places, events);
        let failed = |e: serve::ServeError| LabError::set_up("starting a proxy", std::io::Error::other(e));
        let (server, timer) = serve::start_timed(&plan).map_err(failed)?;
        let mut relay = Self { server, timer, places: places.clone(), cold: None };
        if cold > 0 {
            let plan = ColdPlan { connections: cold, rate: pace, cpus: places.client.clone(), ..ColdPlan::default() };
            relay.cold = Some(lab.open_cold(&plan, &relay.server.local_addr().into())?);
        }
        Ok(relay)
    }

    /// Clients that fetch file after file, until the value is dropped.
    pub(super) fn clients(&self, lab: &Lab<'_>, number: u32) -> Result<AgentGroup, LabError> {
        clients(lab, &self.places, self.server.local_addr(), number)
    }

    /// S-Clients that fetch file after file, until the value is dropped.
    pub(super) fn s_clients(&self, lab: &Lab<'_>, number: u32) -> Result<AgentGroup, LabError> {
        s_clients(lab, &self.places, self.server.local_addr(), number)
    }

    /// Times calls with room for `array` events.
    pub(super) fn calls(&self, array: usize, amount: Amount) -> Timings {
        self.timer.measure(array, TimingGoal::Calls(amount.calls), amount.at_most)
    }

    /// Times declarations and revocations.
    pub(super) fn declares(&self, amount: Amount) -> Timings {
        self.timer.measure(usize::MAX, TimingGoal::Declarations(amount.calls), amount.at_most)
    }

    /// Ends it; how many cold connections were up and how many were lost.
    pub(super) fn end(self) -> (u64, u64) {
        let held = self.cold.map(Cold::close).unwrap_or_default();
        (held.held, held.lost)
    }
}
