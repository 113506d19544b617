//! The observers of a trial at work: samples at the edges of its phases, what they say meanwhile, and how all that they saw becomes the
//! sides of the trial.

use std::time::Duration;

use probe::{Sampler, Watching};
use run::{Incident, Observed, Recording, Side, Trial, Window};
use sys::clock::Origin;

use crate::observe::RemoteWatching;

/// An observer at work.
pub(crate) enum SideSampler {
    Here(Watching),
    There(RemoteWatching),
}

/// An observer at work, and the name of its host.
pub(crate) struct AtWork {
    pub(crate) host: String,
    pub(crate) sampler: SideSampler,
}

impl AtWork {
    fn here(&self) -> Option<&Watching> {
        match &self.sampler {
            SideSampler::Here(watching) => Some(watching),
            SideSampler::There(_) => None,
        }
    }

    fn there(&self) -> Option<&RemoteWatching> {
        match &self.sampler {
            SideSampler::Here(_) => None,
            SideSampler::There(watching) => Some(watching),
        }
    }

    fn incidents(&self) -> Vec<Incident> {
        match &self.sampler {
            SideSampler::Here(watching) => watching.incidents(),
            SideSampler::There(watching) => watching.incidents(),
        }
    }

    fn glance(&self) -> Option<Observed> {
        match &self.sampler {
            SideSampler::Here(watching) => watching.glance(),
            SideSampler::There(watching) => watching.glance(),
        }
    }

    fn so_far(&self) -> Option<Observed> {
        match &self.sampler {
            SideSampler::Here(watching) => watching.so_far(),
            SideSampler::There(watching) => watching.so_far(),
        }
    }

    fn finish(self) -> (String, Observed) {
        let seen = match self.sampler {
            SideSampler::Here(watching) => watching.finish(),
            SideSampler::There(watching) => watching.finish(),
        };
        (self.host, seen)
    }
}

/// The observers of a trial at work.
pub struct Samplers {
    /// Zero of the times of samples.
    pub(crate) origin: Origin,
    /// Client and server share processors.
    pub(crate) shared: bool,
    /// What is told rather than read; it becomes part of the server's recording.
    pub(crate) told: Option<Sampler>,
    pub(crate) server: Option<AtWork>,
    pub(crate) client: Option<AtWork>,
    pub(crate) client_hosts: Vec<AtWork>,
    pub(crate) namespace_hosts: Vec<AtWork>,
}

/// What all of them saw.
pub(crate) struct Seen {
    pub(crate) client: Option<Side>,
    pub(crate) client_hosts: Vec<Side>,
    pub(crate) server: Option<Side>,
    /// When hosts with an observer of their own stood still.
    pauses: Vec<Window>,
    incidents: Vec<Incident>,
}

impl Samplers {
    /// None at all.
    pub(crate) fn none(origin: Origin) -> Self {
        let (client_hosts, namespace_hosts) = (Vec::new(), Vec::new());
        Self { origin, shared: false, told: None, server: None, client: None, client_hosts, namespace_hosts }
    }

    fn all(&self) -> impl Iterator<Item = &AtWork> {
        self.server.iter().chain(&self.client).chain(&self.client_hosts).chain(&self.namespace_hosts)
    }

    /// Takes a sample of everything now; returns the times of the first and the last, seconds since the trial's origin.
    /// A window that begins with the first and ends with the last holds both sides' edge samples.
    pub fn edge(&self) -> (f64, f64) {
        self.edge_at(0)
    }

    /// The same at a moment of the monotonic clock: observers on other hosts are told before, and look at the same time.
    pub fn edge_at(&self, at_ns: u64) -> (f64, f64) {
        let there: Vec<&RemoteWatching> = self.all().filter_map(AtWork::there).collect();
        there.iter().for_each(|watching| watching.order_edge(at_ns));
        sys::clock::sleep_until_ns(at_ns);
        let now_s = self.origin.now_s();
        let told = || self.told.as_ref().map(Sampler::edge);
        // What is told is asked first and last, so that its growth is of the whole window, whichever edge this is.
        let mut taken: Vec<f64> = told().into_iter().collect();
        taken.extend(self.all().filter_map(AtWork::here).map(Watching::edge));
        taken.extend(told());
        taken.extend(there.iter().filter_map(|watching| watching.await_edge()));
        let (first, last) = taken.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), t| (a.min(*t), b.max(*t)));
        if first.is_finite() { (first, last) } else { (now_s, now_s) }
    }

    /// Whether an observer is on another host.
    pub(crate) fn are_remote(&self) -> bool {
        self.all().any(|at_work| at_work.there().is_some())
    }

    /// The longest way to one of them and back.
    pub(crate) fn longest_round_trip(&self) -> Duration {
        self.all().filter_map(AtWork::there).map(RemoteWatching::round_trip).max().unwrap_or_default()
    }

    /// The most that the clock of one of them ran away from ours; none where all are here.
    pub(crate) fn drift(&self) -> Option<Duration> {
        self.all().filter_map(AtWork::there).filter_map(RemoteWatching::drift).max()
    }

    /// What happened to the processes of both sides so far.
    pub fn incidents(&self) -> Vec<Incident> {
        self.server.iter().chain(&self.client).chain(&self.client_hosts).flat_map(AtWork::incidents).collect()
    }

    /// What the newest samples say, of all hosts of clients and of the server, for whoever looks on. Other hosts are asked
    /// for theirs, and what they answered the last time is handed out.
    pub(crate) fn glance(&self) -> (Vec<Side>, Option<Side>) {
        let side = |at_work: &AtWork| Some(side_of(at_work.host.clone(), self.shared, at_work.glance()?));
        let clients = self.client.iter().chain(&self.client_hosts).filter_map(side).collect();
        (clients, self.server.as_ref().and_then(side))
    }

    /// The server's side so far, while observing goes on.
    pub(crate) fn server_so_far(&self) -> Option<Side> {
        let at_work = self.server.as_ref()?;
        Some(side_of(at_work.host.clone(), self.shared, at_work.so_far()?))
    }

    /// Ends observing.
    pub(crate) fn sides(self) -> Seen {
        let (mut incidents, mut pauses) = (Vec::new(), Vec::new());
        let mut side = |at_work: AtWork| {
            let (host, mut seen) = at_work.finish();
            incidents.append(&mut seen.incidents);
            pauses.append(&mut seen.pauses);
            side_of(host, self.shared, seen)
        };
        let mut server = self.server.map(&mut side);
        let mut client_hosts: Vec<Side> = self.client_hosts.into_iter().map(&mut side).collect();
        let first = |hosts: &mut Vec<Side>| (!hosts.is_empty()).then(|| hosts.remove(0));
        let mut client = self.client.map(&mut side).or_else(|| first(&mut client_hosts));
        if let (Some(server), Some(told)) = (&mut server, self.told) {
            server.recording.merge(told.finish());
        }
        if let Some(client) = &mut client {
            self.namespace_hosts.into_iter().for_each(|host| client.recording.merge(named(host)));
        }
        Seen { client, client_hosts, server, pauses, incidents }
    }

    /// Ends observing, puts what was seen into the trial, and says what happened to the processes.
    pub(crate) fn close(self, trial: &mut Trial) -> Vec<Incident> {
        let Seen { client, client_hosts, server, pauses, incidents } = self.sides();
        trial.measured.pauses.extend(pauses);
        trial.client = client.unwrap_or_default();
        trial.client_hosts = client_hosts;
        trial.server = server;
        incidents
    }
}

fn side_of(host: String, shared: bool, seen: Observed) -> Side {
    let Observed { recording, processes, machine, behind, .. } = seen;
    Side { host, machine, processes, behind, shared, recording, ..Side::default() }
}

/// The recording of a namespace host, its host's name before every instance, so that it stands beside the first host's.
fn named(at_work: AtWork) -> Recording {
    let (host, Observed { mut recording, .. }) = at_work.finish();
    let name = |instance: &mut String| *instance = run::on_host(&host, instance);
    recording.columns.iter_mut().for_each(|column| name(&mut column.instance));
    recording.absent.iter_mut().for_each(|absence| name(&mut absence.instance));
    recording
}
