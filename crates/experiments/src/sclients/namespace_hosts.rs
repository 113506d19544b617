//! Network namespaces for the S-Clients experiments: a server host and client hosts, joined by a medium (simulated
//! network). A packet filter counts the SYNs that reach the server.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use probe::{Probe, Scope};
use run::{LoadPlan, Recording, ServePlan, Trial, Window};
use sys::netns::OpenSpec;
use sys::syn_count::SynCounter;
use testbed::{Spec, Testbed};

use super::counts::{put_kernel, syns_sent};
use super::deal::deal;
use super::values::{SYNS_FILTER, SYNS_GENERATOR};
use lab::agents::AgentGroup;
use lab::{CpuSplit, Lab, LabError, Load, NamespaceHost, Observation, ObservedServer, Point};

/// TCP port on which the server listens in its namespace.
const PORT: u16 = 80;
/// Network interface of the server's host. The packet filter counts packets on `eth0`.
const INTERFACE: &str = "eth0";

/// Maximum time to wait until the server has finished the connections of the previous trial.
const SETTLES_WITHIN: Duration = Duration::from_secs(5);

/// A server and the hosts of its clients, in network namespaces.
pub(super) struct NamespaceHosts {
    addr: SocketAddr,
    clients: Vec<NamespaceHost>,
    client_cpus: Vec<u32>,
    observation: Observation,
    syns: SynCounter,
    probe: Probe,
    // Handle of the server. Rust drops this field before `bed` (the hosts), because the field is declared first.
    _server: AgentGroup,
    bed: Testbed,
}

impl NamespaceHosts {
    /// Builds the hosts, and starts the server in one of them.
    pub(super) fn build(lab: &mut Lab<'_>, medium: &str, clients: u32, server: &ServePlan) -> Result<Self, LabError> {
        Self::on(lab, &Spec::server_and_clients(clients as usize, medium), &places(), server)
    }

    /// Builds the hosts so that the kernel processes packets for the server on the server's own CPU. On a real server
    /// host, the network card's interrupts make the kernel process packets on that host's CPUs. By default, the kernel
    /// of this machine would process the packets on the sender's CPU. A note in the run says which CPU processes the
    /// server's packets.
    pub(super) fn build_receiving(
        lab: &mut Lab<'_>,
        medium: &str,
        clients: u32,
        server: &ServePlan,
    ) -> Result<Self, LabError> {
        let places = places();
        let receives_on = std::iter::once(("server".to_string(), places.server.clone())).collect();
        let spec = Spec { receives_on, ..Spec::server_and_clients(clients as usize, medium) };
        let bed = Self::on(lab, &spec, &places, server)?;
        lab.note(match bed.bed.steered("server") {
            Some(Ok(by)) => format!(
                "the kernel's receiving work for the server runs on the server's own CPU, as a network card's \
                 interrupts would (receive packet steering: {by})"
            ),
            Some(Err(why)) => format!(
                "the kernel's receiving work for the server runs on the clients' CPU, so dropped connection \
                 requests cost the server next to nothing and the decline is small: {why}"
            ),
            None => "where the kernel's receiving work for the server runs is not known".into(),
        });
        Ok(bed)
    }

    fn on(lab: &mut Lab<'_>, spec: &Spec, places: &CpuSplit, server: &ServePlan) -> Result<Self, LabError> {
        let bed = Testbed::build(spec)?;
        let listen = SocketAddr::new(bed.address("server")?, PORT);
        let plan = ServePlan { listen: listen.to_string(), cpus: places.server.clone(), ..server.clone() };
        let host = NamespaceHost::in_testbed(&bed, "server")?;
        let (group, addr, notes) = lab::start_server(&host, lab.program(), plan)?;
        notes.into_iter().for_each(|n| lab.note(n));
        let watched = ObservedServer::started("server", &group, Some(bed.netns_pid("server")?), addr, places);
        let observation = Observation::new(addr, Some(watched)).with_client("client1", Some(bed.netns_pid("client1")?));
        let clients = spec.hosts.iter().filter(|host| *host != "server");
        let clients = clients.map(|host| NamespaceHost::in_testbed(&bed, host)).collect::<Result<_, _>>()?;
        let syns = count_syns(&bed)?;
        let sources = Some(vec!["netstat", "listener"]);
        let netns_pid = Some(bed.netns_pid("server")?);
        let probe = Probe::new(Scope { netns_pid, listen: Some(addr.into()), sources, ..Scope::default() });
        Ok(Self { addr, clients, client_cpus: places.client.clone(), observation, syns, probe, _server: group, bed })
    }

    /// Sets a network sysctl of the server's host.
    pub(super) fn server_sysctl(&self, key: &str, value: &str) -> Result<(), LabError> {
        Ok(self.bed.sysctl("server", key, value)?)
    }

    /// Returns the number of CPUs that the clients may use.
    pub(super) fn client_cpus(&self) -> f64 {
        self.client_cpus.len().max(1) as f64
    }

    /// Runs one trial, with its load divided among all client hosts. Stores all three counts of connection requests in
    /// the trial's results.
    pub(super) fn attempt(&mut self, lab: &mut Lab<'_>, point: &Point, plan: &LoadPlan) -> Result<Trial, LabError> {
        self.settle();
        let before = self.counts()?;
        let mut trial = lab.conduct(&self.observation, &self.loads(plan), point)?;
        let after = self.counts()?;
        put_counts(&mut trial, before, after);
        Ok(trial)
    }

    /// Returns the loads of the client hosts. Leaves out hosts that get no part of the load.
    fn loads(&self, plan: &LoadPlan) -> Vec<Load<'_>> {
        let shares = deal(plan, self.clients.len() as u32).into_iter().zip(&self.clients);
        let load = |plan: LoadPlan, host| Load {
            host,
            addr: self.addr.into(),
            plan: LoadPlan { cpus: self.client_cpus.clone(), ..plan },
        };
        shares.filter_map(|(plan, host)| Some(load(plan?, host as &dyn lab::Host))).collect()
    }

    /// Waits until the server has no open, waiting or half-open connections from the previous trial, for at most
    /// [`SETTLES_WITHIN`]. Otherwise, the counts of the next trial would include connections of the previous trial.
    fn settle(&mut self) {
        let end = Instant::now() + SETTLES_WITHIN;
        while Instant::now() < end {
            let now = self.look();
            let left = |id| now.sum(id, Window::ALL, |_| true).value().unwrap_or(0.0);
            if left("listen.queue") + left("tcp.established") == 0.0 && self.half_open() == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the number of the server's half-open connections, which lack the last acknowledgement of the TCP
    /// handshake.
    fn half_open(&self) -> usize {
        self.bed.netns_pid("server").map_or(0, probe::half_open)
    }

    /// Returns how many connection requests the filter and the kernel have counted since the hosts were built.
    fn counts(&mut self) -> Result<Counts, LabError> {
        let filter = self.syns.count().map_err(|e| LabError::set_up("counting SYNs at the server's interface", e))?;
        let now = self.look();
        let level = |id| now.column(id, "").and_then(|c| c.values.last().copied().flatten());
        let (opens, drops) = (level("tcp.passive_opens"), level("tcp.listen_drops"));
        Ok(Counts { filter, opens, drops, cookies: level("tcp.syncookies_sent") })
    }

    /// Reads the network counters of the server's host once.
    fn look(&mut self) -> Recording {
        self.probe.sample(0.0);
        self.probe.take()
    }
}

fn places() -> CpuSplit {
    CpuSplit::for_own_server(&sys::limits::allowed_cpus().unwrap_or_default(), &[])
}

/// Opens the packet filter in the server's namespace, where it counts SYNs.
fn count_syns(bed: &Testbed) -> Result<SynCounter, LabError> {
    let (family, kind, protocol) = SynCounter::KIND;
    let opened = bed.netns("server")?.open(&[OpenSpec::Socket { family, kind, protocol }]);
    let socket = opened.map_err(|e| LabError::set_up("opening a packet socket in the server's namespace", e))?;
    let socket = socket.into_iter().next().ok_or_else(|| LabError::set_up("opening a packet socket", "none came"))?;
    SynCounter::on(socket, INTERFACE, PORT).map_err(|e| LabError::set_up("counting SYNs at the server's eth0", e))
}

/// Counts of connection requests since the hosts were built.
#[derive(Clone, Copy)]
struct Counts {
    filter: u64,
    opens: Option<f64>,
    drops: Option<f64>,
    cookies: Option<f64>,
}

/// Stores the counts of connection requests by the generator, the filter and the kernel in a trial's results. The
/// generator's count of connection requests is already part of the trial. The counts of the filter and of the kernel
/// are the growth from `before` to `after`, which were read before and after the trial.
fn put_counts(trial: &mut Trial, before: Counts, after: Counts) {
    trial.results.put(SYNS_GENERATOR, syns_sent(trial));
    trial.results.put(SYNS_FILTER, (after.filter - before.filter) as f64);
    let grown = |of: fn(&Counts) -> Option<f64>| of(&after).zip(of(&before)).map(|(a, b)| a - b);
    put_kernel(trial, grown(|c| c.opens), grown(|c| c.drops), grown(|c| c.cookies));
}
