//! Active observers of a load test. The observers take a sample at the start and end of each phase, and provide values
//! for the live view. At the end, the observers return the observations of client and server.

use std::time::Duration;

use databases::DatabaseSampler;
use probe::{Observer, Sampler, Watching};
use run::{DatabaseProfile, Incident, Observed, Recording, Side, Trial, Window};
use sys::clock::Origin;

use crate::agents::AgentGroup;
use crate::observe::other_programs::{self, SideUse};
use crate::observe::{RemoteObserver, RemoteSampling};

/// Maximum length of a load for which the CPU time of other programs is stored, seconds.
const MAX_OTHERS_S: f64 = 600.0;

/// An active observer, with the name of its host.
pub(crate) struct ActiveObserver {
    host: String,
    sampling: Sampling,
}

enum Sampling {
    Local(Watching),
    Remote(RemoteSampling),
}

impl ActiveObserver {
    /// Starts a local observer; `None` if the observer cannot read this machine.
    pub(crate) fn local(observer: &Observer, pids: &[u32], origin: Origin, interval_s: f64) -> Option<Self> {
        let watching = observer.watch(pids, interval_s, origin).ok()?;
        Some(Self { host: observer.spec().host.clone(), sampling: Sampling::Local(watching) })
    }

    /// Starts an observer on another host.
    pub(crate) fn remote(observer: &RemoteObserver, clients: &AgentGroup, origin: Origin, interval_s: f64) -> Self {
        let sampling = observer.follow(clients.pids_on(observer.host()), interval_s, origin);
        Self { host: observer.host().into(), sampling: Sampling::Remote(sampling) }
    }

    fn as_local(&self) -> Option<&Watching> {
        match &self.sampling {
            Sampling::Local(watching) => Some(watching),
            Sampling::Remote(_) => None,
        }
    }

    fn as_remote(&self) -> Option<&RemoteSampling> {
        match &self.sampling {
            Sampling::Local(_) => None,
            Sampling::Remote(watching) => Some(watching),
        }
    }

    fn incidents(&self) -> Vec<Incident> {
        match &self.sampling {
            Sampling::Local(watching) => watching.incidents(),
            Sampling::Remote(watching) => watching.incidents(),
        }
    }

    fn glance(&self) -> Option<Observed> {
        match &self.sampling {
            Sampling::Local(watching) => watching.glance(),
            Sampling::Remote(watching) => watching.glance(),
        }
    }

    fn so_far(&self) -> Option<Observed> {
        match &self.sampling {
            Sampling::Local(watching) => watching.so_far(),
            Sampling::Remote(watching) => watching.so_far(),
        }
    }

    fn finish(self) -> (String, Observed) {
        let seen = match self.sampling {
            Sampling::Local(watching) => watching.finish(),
            Sampling::Remote(watching) => watching.finish(),
        };
        (self.host, seen)
    }
}

/// All active observers of a load test.
pub struct Samplers {
    /// Zero point of the samples' times.
    pub(crate) origin: Origin,
    /// True if client and server may run on the same CPUs.
    pub(crate) shared: bool,
    /// Sampler of counters that the network medium, the testbed or the server report; `None` if there are no such
    /// counters. The reported counters become part of the server's recording.
    pub(crate) reported: Option<Sampler>,
    pub(crate) server: Option<ActiveObserver>,
    pub(crate) clients: Vec<ActiveObserver>,
    pub(crate) namespace_hosts: Vec<ActiveObserver>,
    pub(crate) databases: Vec<DatabaseSampler>,
}

/// Observations of all observers.
pub(crate) struct ObservedSides {
    pub(crate) client: Option<Side>,
    pub(crate) client_hosts: Vec<Side>,
    pub(crate) server: Option<Side>,
    /// Time intervals in which hosts with their own observer were paused.
    pauses: Vec<Window>,
    /// CPU times of each observer's machine.
    cpu_use: Vec<SideUse>,
    incidents: Vec<Incident>,
}

impl Samplers {
    /// Returns samplers without any observer.
    pub(crate) fn none(origin: Origin) -> Self {
        let (clients, namespace_hosts, databases) = (Vec::new(), Vec::new(), Vec::new());
        Self { origin, shared: false, reported: None, server: None, clients, namespace_hosts, databases }
    }

    fn all(&self) -> impl Iterator<Item = &ActiveObserver> {
        self.server.iter().chain(&self.clients).chain(&self.namespace_hosts)
    }

    /// Takes a sample of all observed counters now. Returns the times of the first and the last sample, seconds since
    /// the load test's origin. A measurement should begin at the first returned time of one call, and end at the last
    /// returned time of a later call. A measurement with these ends begins and ends with samples of both client and
    /// server.
    pub fn edge(&self) -> (f64, f64) {
        self.edge_at(0)
    }

    /// Takes a sample of all observed counters at a moment of the monotonic clock. Observers on other hosts get the
    /// command before the requested moment, and take their samples at the requested moment.
    pub fn edge_at(&self, at_ns: u64) -> (f64, f64) {
        let there: Vec<&RemoteSampling> = self.all().filter_map(ActiveObserver::as_remote).collect();
        there.iter().for_each(|watching| watching.order_edge(at_ns));
        sys::clock::sleep_until_ns(at_ns);
        let now_s = self.origin.now_s();
        let reported = || self.reported.as_ref().map(Sampler::edge);
        // The reported counters are read twice: before and after all other counters. The time from the first reading at
        // the start of the measurement to the second reading at its end therefore contains the whole measurement.
        let mut taken: Vec<f64> = reported().into_iter().collect();
        taken.extend(self.all().filter_map(ActiveObserver::as_local).map(Watching::edge));
        taken.extend(reported());
        taken.extend(there.iter().filter_map(|watching| watching.await_edge()));
        let (first, last) = taken.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), t| (a.min(*t), b.max(*t)));
        if first.is_finite() { (first, last) } else { (now_s, now_s) }
    }

    /// Returns true if any observer is on another host.
    pub(crate) fn are_remote(&self) -> bool {
        self.all().any(|active| active.as_remote().is_some())
    }

    /// Returns the longest round trip to any observer.
    pub(crate) fn longest_round_trip(&self) -> Duration {
        self.all().filter_map(ActiveObserver::as_remote).map(RemoteSampling::round_trip).max().unwrap_or_default()
    }

    /// Returns the largest clock drift of any observer; `None` if all observers are on this machine.
    pub(crate) fn drift(&self) -> Option<Duration> {
        self.all().filter_map(ActiveObserver::as_remote).filter_map(RemoteSampling::drift).max()
    }

    /// Returns the incidents that the processes of client and server had so far.
    pub fn incidents(&self) -> Vec<Incident> {
        self.server.iter().chain(&self.clients).flat_map(ActiveObserver::incidents).collect()
    }

    /// Returns the newest counter readings (samples) of all client hosts and of the server, for the live view. For a
    /// host other than this machine, returns the last samples that arrived, and requests newer samples.
    pub(crate) fn glance(&self) -> (Vec<Side>, Option<Side>) {
        let side = |active: &ActiveObserver| Some(side_of(active.host.clone(), self.shared, active.glance()?));
        let clients = self.clients.iter().filter_map(side).collect();
        (clients, self.server.as_ref().and_then(side))
    }

    /// Returns the observations of the server so far, without ending the sampling.
    pub(crate) fn server_so_far(&self) -> Option<Side> {
        let active = self.server.as_ref()?;
        Some(side_of(active.host.clone(), self.shared, active.so_far()?))
    }

    /// Returns the observations of the databases so far, without ending the sampling.
    pub(crate) fn databases_so_far(&self) -> Vec<DatabaseProfile> {
        self.databases.iter().map(DatabaseSampler::so_far).collect()
    }

    /// Ends observing and returns the observations.
    pub(crate) fn sides(self) -> ObservedSides {
        let (mut incidents, mut pauses, mut cpu_use) = (Vec::new(), Vec::new(), Vec::new());
        let mut side = |active: ActiveObserver| {
            let (host, mut seen) = active.finish();
            incidents.append(&mut seen.incidents);
            pauses.append(&mut seen.pauses);
            cpu_use.push((seen.machine.clone(), std::mem::take(&mut seen.cpu_use)));
            side_of(host, self.shared, seen)
        };
        let mut server = self.server.map(&mut side);
        let mut clients = self.clients.into_iter().map(&mut side);
        let (mut client, client_hosts) = (clients.next(), clients.collect());
        if let (Some(server), Some(reported)) = (&mut server, self.reported) {
            server.recording.merge(reported.finish());
        }
        if let Some(client) = &mut client {
            self.namespace_hosts.into_iter().for_each(|host| client.recording.merge(prefixed(host)));
        }
        ObservedSides { client, client_hosts, server, pauses, cpu_use, incidents }
    }

    /// Ends observing, adds the observations to the load test and returns the incidents.
    pub(crate) fn close(mut self, trial: &mut Trial) -> Vec<Incident> {
        trial.databases = std::mem::take(&mut self.databases).into_iter().map(DatabaseSampler::finish).collect();
        let ObservedSides { client, client_hosts, server, pauses, cpu_use, incidents } = self.sides();
        trial.measured.pauses.extend(pauses);
        let whole = Window { begin_s: 0.0, end_s: trial.measured.window.end_s };
        // For a load of hours, the CPU times of other programs would need much memory. Only searches use the CPU time
        // of other programs, and no search measures for hours.
        if whole.length_s() <= MAX_OTHERS_S {
            let taken = other_programs::others(&cpu_use, whole);
            trial.measured.others = taken.iter().map(|taken| taken.others).collect();
            trial.measured.interrupts = taken.iter().map(|taken| taken.interrupts).collect();
        }
        trial.client = client.unwrap_or_default();
        trial.client_hosts = client_hosts;
        trial.server = server;
        incidents
    }
}

fn side_of(host: String, shared: bool, seen: Observed) -> Side {
    let Observed { recording, processes, machine, page_bytes, behind, waits, .. } = seen;
    Side { host, machine, page_bytes, processes, behind, waits, shared, recording, ..Side::default() }
}

/// Returns the recording of an additional client host (a network namespace), with the host's name before every
/// instance. The name distinguishes instances of this host from instances of the first client host.
fn prefixed(active: ActiveObserver) -> Recording {
    let (host, Observed { mut recording, .. }) = active.finish();
    let name = |instance: &mut String| *instance = run::on_host(&host, instance);
    recording.columns.iter_mut().for_each(|column| name(&mut column.instance));
    recording.absent.iter_mut().for_each(|absence| name(&mut absence.instance));
    recording.peaks.iter_mut().for_each(|peak| name(&mut peak.instance));
    recording
}
