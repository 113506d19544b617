//! The samplers of a trial, one a side, and how their recordings become the sides of the trial.
//!
//! Client and server have a probe each even on one machine: each reads its own processes, network namespace, listener
//! and connections, so a run reads the same whether the sides are on one host or two.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use probe::Scope;
use run::{Recording, Side, Trial};

use crate::eye::{Eye, Kept};
use crate::media::{self, MediumEye};
use crate::told::{Listener, Teller};

/// What is known of the server's side.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// Name of its host, as in `hosts[]`.
    pub host: String,
    /// Its processes; their children are followed.
    pub pids: Vec<u32>,
    /// A process whose network namespace is the server's; `None` for our own.
    pub netns_pid: Option<u32>,
    /// The listener.
    pub listen: Option<SocketAddr>,
    /// Whether it may run on the generator's processors.
    pub shared: bool,
}

/// What the samplers of a run look at.
#[derive(Clone, Debug)]
pub struct Scene {
    client_host: String,
    client_netns_pid: Option<u32>,
    /// Further hosts of clients: name, and a process in their network namespace.
    guests: Vec<(String, u32)>,
    connect: SocketAddr,
    server: Option<Watched>,
    medium: Option<testbed::MediumGauge>,
    teller: Option<Teller>,
    /// The processors that stand for the client's and the server's host; empty for all.
    processors: (Vec<u32>, Vec<u32>),
    blind: bool,
    /// The client's and the server's probe between two trials.
    kept: [Kept; 2],
}

impl Scene {
    /// A client on this machine that connects to an address, and the server, where it can be seen.
    pub fn new(connect: SocketAddr, server: Option<Watched>) -> Self {
        Self {
            client_host: "localhost".into(),
            client_netns_pid: None,
            guests: Vec::new(),
            connect,
            server,
            medium: None,
            teller: None,
            processors: Default::default(),
            blind: false,
            kept: Default::default(),
        }
    }

    /// The same with the client's counters read in another network namespace, under another name.
    pub fn with_client(mut self, host: &str, netns_pid: Option<u32>) -> Self {
        (self.client_host, self.client_netns_pid, self.kept) = (host.into(), netns_pid, Default::default());
        self
    }

    /// The same with further hosts of clients, whose network counters are added to the client's side. Everything else of
    /// them is there already: the processes of all clients are, and what is counted by machine.
    pub fn with_guests(mut self, guests: Vec<(String, u32)>) -> Self {
        self.guests = guests;
        self
    }

    /// The same with the counters of what joins the hosts; they become part of the server's side.
    pub fn with_medium(mut self, gauge: testbed::MediumGauge) -> Self {
        self.medium = Some(gauge);
        self
    }

    /// The same with what the server counts itself; it becomes part of the server's side.
    pub fn with_teller(mut self, teller: Teller) -> Self {
        self.teller = Some(teller);
        self
    }

    /// The same for hosts that share one machine, each confined to processors of its own: only those are its host's.
    pub fn with_processors(mut self, client: &[u32], server: &[u32]) -> Self {
        self.processors = (client.to_vec(), server.to_vec());
        self
    }

    /// The same without any samplers, for trials that are about the generator alone.
    pub fn blind(&self) -> Self {
        Self { blind: true, ..self.clone() }
    }

    /// The server's side, if it is known.
    pub fn server(&self) -> Option<&Watched> {
        self.server.as_ref()
    }

    /// Whether client and server share processors.
    pub fn shared(&self) -> bool {
        self.server.as_ref().is_some_and(|s| s.shared)
    }

    /// Starts the samplers of a trial whose clients are these processes.
    pub fn open(&self, clients: &[u32], begin: Instant, interval_s: f64) -> Eyes {
        let processors = self.processors.clone();
        let (client, server, medium, told) = (None, None, None, None);
        let mut eyes = Eyes { begin, client, guests: Vec::new(), server, medium, told, processors };
        if self.blind {
            return eyes;
        }
        let client = Scope {
            netns_pid: self.client_netns_pid,
            processes: clients.to_vec(),
            connect: Some(self.connect),
            ..Scope::default()
        };
        eyes.medium = self.medium.as_ref().and_then(|gauge| MediumEye::open(gauge.clone(), begin, interval_s));
        let [ours, theirs] = &self.kept;
        eyes.told = self.teller.clone().map(|teller| Listener::open(teller, begin));
        eyes.client = ours.open(client, &self.client_host, self.shared(), begin, interval_s);
        let of_network = |(host, pid): &(String, u32)| {
            let scope = Scope { netns_pid: Some(*pid), sources: Some(OF_NETWORK.to_vec()), ..Scope::default() };
            // It opens three files, so it need not be kept between trials.
            Kept::default().open(scope, host, self.shared(), begin, interval_s)
        };
        eyes.guests = self.guests.iter().filter_map(of_network).collect();
        if let Some(server) = &self.server {
            let scope = Scope {
                netns_pid: server.netns_pid,
                processes: server.pids.clone(),
                listen: server.listen,
                ..Scope::default()
            };
            eyes.server = theirs.open(scope, &server.host, server.shared, begin, interval_s);
        }
        eyes
    }

    /// Both sides over a while without load; shorter when `stop` says so.
    pub fn at_rest(&self, seconds: f64, interval_s: f64, stop: &dyn Fn() -> bool) -> Vec<Side> {
        if seconds <= 0.0 {
            return Vec::new();
        }
        let begin = Instant::now();
        let eyes = self.open(&[], begin, interval_s);
        eyes.edge();
        while begin.elapsed().as_secs_f64() < seconds && !stop() {
            std::thread::sleep(Duration::from_millis(20));
        }
        eyes.edge();
        let (client, server) = eyes.sides();
        client.into_iter().chain(server).collect()
    }
}

/// Sources that read a network namespace and nothing of the machine.
const OF_NETWORK: &[&str] = &["netstat", "interface", "sockstat"];

/// The recording of a guest, its host's name before every instance, so that it stands beside the first host's.
fn named(side: Side) -> Recording {
    let Side { host, mut recording, .. } = side;
    let name = |instance: &mut String| *instance = format!("{host} {instance}").trim_end().to_string();
    recording.columns.iter_mut().for_each(|column| name(&mut column.instance));
    recording.absent.iter_mut().for_each(|absence| name(&mut absence.instance));
    recording
}

/// Name of the processors that a side's samplers count: this boot of this machine, as all its namespaces see it, and the
/// processors that stand for the host where it is confined to some.
fn machine(cpus: &[u32]) -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let boot = if boot.trim().is_empty() { "this machine" } else { boot.trim() };
    if cpus.is_empty() { boot.into() } else { format!("{boot} processors {cpus:?}") }
}

/// The running samplers of a trial.
pub struct Eyes {
    begin: Instant,
    client: Option<Eye>,
    guests: Vec<Eye>,
    server: Option<Eye>,
    medium: Option<MediumEye>,
    told: Option<Listener>,
    processors: (Vec<u32>, Vec<u32>),
}

impl Eyes {
    /// Takes a sample of both sides now; returns the times of the first and the last, seconds since the trial's origin.
    /// A window that begins with the first and ends with the last holds both sides' edge samples.
    pub fn edge(&self) -> (f64, f64) {
        let before = self.now_s();
        // The medium is read first and last, so that its growth is of the whole window, whichever edge this is.
        let medium = self.medium.as_ref().map(|eye| eye.sample());
        let told = self.told.as_ref().and_then(Listener::ask);
        let server = self.server.as_ref().map(|eye| eye.edge());
        let client = self.client.as_ref().map(|eye| eye.edge());
        let guests: Vec<f64> = self.guests.iter().map(|eye| eye.edge()).collect();
        let after = self.medium.as_ref().map(|eye| eye.sample());
        let taken = [medium, told, server, client, after].into_iter().flatten().chain(guests);
        let (first, last) = taken.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), t| (a.min(t), b.max(t)));
        if first.is_finite() { (first, last) } else { (before, before) }
    }

    fn now_s(&self) -> f64 {
        let now = Instant::now();
        now.saturating_duration_since(self.begin).as_secs_f64()
            - self.begin.saturating_duration_since(now).as_secs_f64()
    }

    fn sides(self) -> (Option<Side>, Option<Side>) {
        let (mut client, mut server) = (self.client.map(Eye::side), self.server.map(Eye::side));
        let beside = self.medium.map(MediumEye::finish).into_iter().chain(self.told.map(Listener::finish));
        if let Some(server) = &mut server {
            beside.for_each(|recording| server.recording.merge(recording));
        }
        for guest in self.guests {
            if let Some(client) = &mut client {
                client.recording.merge(named(guest.side()));
            }
        }
        for (side, cpus) in [(&mut client, &self.processors.0), (&mut server, &self.processors.1)] {
            if let Some(side) = side {
                media::only_processors(&mut side.recording, cpus);
                side.machine = machine(cpus);
            }
        }
        (client, server)
    }

    /// Ends the samplers and puts what they recorded into the trial.
    pub(crate) fn close(self, trial: &mut Trial) {
        let (client, server) = self.sides();
        trial.client = client.unwrap_or_default();
        trial.server = server;
    }
}
