//! The paper's hot load: clients fetch a large file through a proxy, and the proxy times its calls of the event API. A
//! small receive buffer of the proxy splits each transfer into thousands of events.

use std::net::SocketAddr;
use std::time::Duration;

use run::{AgentSpec, ColdPlan, Intensity, LoadPlan, ServePlan, ThinkTime};
use serve::{CallTimer, Server, TimingGoal, Timings};

use super::bench::Amount;
use crate::Parameters;
use lab::agents::AgentGroup;
use lab::cold::Cold;
use lab::{CpuSplit, Lab, LabError, Local, start_server, target};

/// Size of the large file in the paper by Banga, Mogul and Druschel, bytes.
pub(super) const LARGE_BYTES: u64 = 40 << 20;
/// Congestion control algorithm of the web server and the proxy. The algorithm must not be one that paces, such as BBR,
/// which can limit connections with small windows to a very low rate for seconds. With an algorithm that paces, the web
/// server would be the bottleneck.
const CONGESTION: &str = "reno";
/// Connect timeout of the S-Clients, as in the paper that introduced S-Clients, milliseconds.
const CONNECT_TIMEOUT_MS: f64 = 500.0;
/// Maximum time to wait until a load generator has opened its sockets.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// Warm-up before the timing starts: connections are opened, and TCP windows grow.
const WARM_UP: Duration = Duration::from_millis(150);

/// Web server behind the proxy. The server sends its page from memory, so no file cache has to warm up.
pub(super) struct Web {
    _server: AgentGroup,
    addr: SocketAddr,
    /// Receive buffer of the proxy's connections to the web server, bytes. When the proxy has emptied the buffer, the
    /// TCP window opens and the next piece arrives. The moments at which the proxy reads from the web server decide how
    /// many events a call returns.
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

/// Returns the plan of the proxy. `events` is the name of the event backend that the proxy uses.
pub(super) fn proxy_plan(web: &Web, places: &CpuSplit, events: &str) -> ServePlan {
    let mut plan = ServePlan { service: "proxy".into(), cpus: places.server.clone(), ..ServePlan::default() };
    let options = [
        ("upstream", web.addr.to_string()),
        ("events", events.to_string()),
        ("upstream_buffer", web.buffer_bytes.to_string()),
        ("congestion", CONGESTION.to_string()),
        // The proxy does not pause to gather events, so the number of events per call depends only on how long the
        // calls take.
        ("gather_us", "0".to_string()),
    ];
    plan.options.extend(options.map(|(name, value)| (name.to_string(), value)));
    plan
}

/// Starts clients that fetch one file after the other, each on a new connection. The clients stop when the returned
/// group is dropped. As in figure 6 of the paper, each client has one transfer at a time. S-Clients would have more
/// than one transfer at a time, because the proxy accepts every connection.
pub(super) fn clients(lab: &Lab<'_>, places: &CpuSplit, addr: SocketAddr, number: u32) -> Result<AgentGroup, LabError> {
    let intensity = Intensity::Closed { connections: number.max(1), pipeline: 1, think: ThinkTime::default() };
    generator(lab, places, addr, intensity)
}

/// Starts S-Clients: a fixed number of sockets keeps trying to connect, however many connections the proxy has
/// accepted. The S-Clients stop when the returned group is dropped.
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

/// A proxy that times its calls of the event API, and the cold connections to this proxy.
pub(super) struct Relay {
    server: Server,
    timer: CallTimer,
    places: CpuSplit,
    cold: Option<Cold>,
}

impl Relay {
    /// Starts a proxy on the backend `events`. Opens `cold` idle connections to the proxy, at `pace` per second.
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

    /// Starts clients that fetch one file after the other through the proxy. The clients stop when the returned group
    /// is dropped.
    pub(super) fn clients(&self, lab: &Lab<'_>, number: u32) -> Result<AgentGroup, LabError> {
        clients(lab, &self.places, self.server.local_addr(), number)
    }

    /// Starts S-Clients, which fetch files through the proxy. The S-Clients stop when the returned group is dropped.
    pub(super) fn s_clients(&self, lab: &Lab<'_>, number: u32) -> Result<AgentGroup, LabError> {
        s_clients(lab, &self.places, self.server.local_addr(), number)
    }

    /// Times calls that may return at most `array` events.
    pub(super) fn calls(&self, array: usize, amount: Amount) -> Timings {
        self.timer.measure(array, TimingGoal::Calls(amount.calls), amount.at_most)
    }

    /// Times declarations and revocations of interest.
    pub(super) fn declares(&self, amount: Amount) -> Timings {
        self.timer.measure(usize::MAX, TimingGoal::Declarations(amount.calls), amount.at_most)
    }

    /// Closes the cold connections and stops the proxy. Returns the number of cold connections that were open, and the
    /// number of cold connections that were lost.
    pub(super) fn end(self) -> (u64, u64) {
        let held = self.cold.map(Cold::close).unwrap_or_default();
        (held.held, held.lost)
    }
}
