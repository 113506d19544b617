//! Hosts of a plan for the S-Clients experiments: the server on its host, and the clients on theirs. The server's
//! interface has no packet filter, and the network settings of its host stay unchanged. The run gets a note about each
//! of these two limits.

use run::{LoadPlan, ServePlan, Trial, Window};

use super::counts::{put_kernel, syns_sent};
use super::values::SYNS_GENERATOR;
use crate::Parameters;
use lab::{HostsSetup, Lab, LabError, Load, Point};

/// Note that is added once to the run.
const MISSING: &str = "SYNs are counted by the generators and by the kernel of the server's host, where other connections to \
                       that host count, too: a packet filter's count is missing, since it needs hosts made from namespaces";
/// Note that is added once to the run.
const SETTINGS: &str = "the network settings of the server's host (syncookies, backlogs) are left as they are";

/// Hosts of a plan for the S-Clients experiments.
pub(super) struct OtherHosts(HostsSetup);

impl OtherHosts {
    /// Starts the server on its host.
    pub(super) fn start(lab: &mut Lab<'_>, parameters: &Parameters, server: &ServePlan) -> Result<Self, LabError> {
        let hosts = HostsSetup::start(lab, &parameters.text("listen", ""), server)?;
        lab.run.plan.target.url = format!("http://{}/", hosts.addr);
        lab.note(MISSING);
        lab.note(SETTINGS);
        Ok(Self(hosts))
    }

    /// Returns the number of CPUs of a client host.
    pub(super) fn client_cpus(&self, host: &str) -> f64 {
        self.0.processors(host)
    }

    /// Runs one trial with its load divided among the client hosts. The trial's results contain two counts of
    /// connection requests.
    pub(super) fn attempt(&mut self, lab: &mut Lab<'_>, point: &Point, plan: &LoadPlan) -> Result<Trial, LabError> {
        self.0.settle(lab);
        let load = Load { host: self.0.clients(), addr: self.0.addr.into(), plan: plan.clone() };
        let mut trial = lab.conduct(&self.0.observation, &[load], point)?;
        put_counts(&mut trial);
        Ok(trial)
    }
}

/// Stores both counts of the whole trial. The server's observer reads its counters before the load begins and after its
/// drain.
fn put_counts(trial: &mut Trial) {
    trial.results.put(SYNS_GENERATOR, syns_sent(trial));
    let grown = |id| trial.server.as_ref()?.recording.sum(id, Window::ALL, |_| true).value();
    let [opens, drops, cookies] = ["tcp.passive_opens", "tcp.listen_drops", "tcp.syncookies_sent"].map(grown);
    put_kernel(trial, opens, drops, cookies);
}
