//! Hosts of a plan for the S-Clients experiments: a server host, and client hosts. On hosts of a plan, no packet filter
//! counts at the server's interface, and loadline does not change the server's network settings. Two notes in the run
//! report that the packet filter is missing, and that the network settings are unchanged.

use run::{LoadPlan, ServePlan, Trial, Window};

use super::counts::{put_kernel, syns_sent};
use super::values::SYNS_GENERATOR;
use crate::Parameters;
use lab::{HostsSetup, Lab, LabError, Load, Point};

/// Note about the missing packet filter.
const MISSING: &str = "SYNs are counted by the generators and by the kernel of the server's host, where other connections to \
                       that host count, too: a packet filter's count is missing, since it needs hosts made from namespaces";
/// Note about the unchanged network settings.
const SETTINGS: &str = "the network settings of the server's host (syncookies, backlogs) are left as they are";

/// Hosts that the plan of an experiment names. The server runs on the plan's server host.
pub(super) struct OtherHosts(HostsSetup);

impl OtherHosts {
    /// Starts the server on the plan's server host.
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

    /// Runs one trial, with its load divided among the client hosts. Stores the counts of connection requests by the
    /// generators and by the server's kernel.
    pub(super) fn attempt(&mut self, lab: &mut Lab<'_>, point: &Point, plan: &LoadPlan) -> Result<Trial, LabError> {
        self.0.settle(lab);
        let load = Load { host: self.0.clients(), addr: self.0.addr.into(), plan: plan.clone() };
        let mut trial = lab.conduct(&self.0.observation, &[load], point)?;
        put_counts(&mut trial);
        Ok(trial)
    }
}

/// Stores the number of connection requests in the whole trial, as the generators and the kernel of the server's host
/// counted them. The recording of the server's host covers the whole trial: it begins before the load and ends after
/// the drain.
fn put_counts(trial: &mut Trial) {
    trial.results.put(SYNS_GENERATOR, syns_sent(trial));
    let grown = |id| trial.server.as_ref()?.recording.sum(id, Window::ALL, |_| true).value();
    let [opens, drops, cookies] = ["tcp.passive_opens", "tcp.listen_drops", "tcp.syncookies_sent"].map(grown);
    put_kernel(trial, opens, drops, cookies);
}
