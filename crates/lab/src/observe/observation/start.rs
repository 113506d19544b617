//! Starts the observers of a load test, and observes client and server without load.

use std::time::{Duration, Instant};

use probe::{Exporter, Sampler};
use run::{Recording, Side};
use sys::clock::Origin;

use super::Observation;
use crate::agents::AgentGroup;
use crate::observe::host_observer::HostObserver;
use crate::observe::samplers::{ActiveObserver, ObservedSides, Samplers};
use crate::observe::server_counters::ServerCounters;

impl Observation {
    /// Starts observing a load test in which `clients` generate the load. If something cannot be observed, its data is
    /// missing from the load test.
    pub fn open(&self, clients: &AgentGroup, origin: Origin, interval_s: f64) -> Samplers {
        if self.blind {
            return Samplers::none(origin);
        }
        let pids = clients.pids();
        let start = |observer: &HostObserver, pids: &[u32]| match observer {
            HostObserver::Local(observer) => ActiveObserver::local(observer, pids, origin, interval_s),
            HostObserver::Remote(observer) => Some(ActiveObserver::remote(observer, clients, origin, interval_s)),
        };
        Samplers {
            shared: self.shared(),
            reported: self.reported_sampler(interval_s, origin),
            server: self.server.as_ref().and_then(|observer| start(observer, &[])),
            clients: self.clients.iter().filter_map(|observer| start(observer, &pids)).collect(),
            namespace_hosts: self.namespace_hosts.iter().filter_map(|observer| start(observer, &[])).collect(),
            databases: self.databases.iter().filter_map(|database| database.sample().ok()).collect(),
            ..Samplers::none(origin)
        }
    }

    /// Returns the sampler of counters that the network medium, the testbed and the server report. The reported
    /// counters become part of the server's recording.
    fn reported_sampler(&self, interval_s: f64, origin: Origin) -> Option<Sampler> {
        let exporters = self.exporters();
        if self.remote_server().is_some() && exporters.is_empty() {
            return None;
        }
        probe::listen(exporters, interval_s, origin).ok()
    }

    fn exporters(&self) -> Vec<Exporter> {
        let medium = self.medium.clone().map(|gauge| -> Exporter {
            Box::new(move || {
                let mut row = Recording::default();
                gauge.sample(0.0, &mut row);
                row
            })
        });
        let testbed = self.testbed.clone().map(|testbed| -> Exporter { Box::new(move || testbed.sample()) });
        medium.into_iter().chain(testbed).chain(self.server_counters.as_ref().map(ServerCounters::exporter)).collect()
    }

    /// Observes client and server without load for `seconds`, or until `stop` returns true. Returns the observations of
    /// each host.
    pub fn at_rest(&self, seconds: f64, interval_s: f64, stop: &dyn Fn() -> bool) -> Vec<Side> {
        if seconds <= 0.0 {
            return Vec::new();
        }
        let begin = Instant::now();
        let samplers = self.open(&AgentGroup::default(), Origin::after(Duration::ZERO), interval_s);
        samplers.edge();
        while begin.elapsed().as_secs_f64() < seconds && !stop() {
            std::thread::sleep(Duration::from_millis(20));
        }
        samplers.edge();
        let ObservedSides { client, client_hosts, mut server, .. } = samplers.sides();
        // Without a load, reports do not show what threads wait for, so the readings (samples) of waiting threads are
        // left out.
        server.iter_mut().for_each(|side| side.waits = None);
        client.into_iter().chain(server).chain(client_hosts).collect()
    }
}
