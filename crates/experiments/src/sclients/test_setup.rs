//! Setup of the S-Clients experiments: a server, its clients, and the counts of connection requests. The hosts are
//! network namespaces, or the plan's hosts.

use run::{Key, LoadPlan, ServePlan, Trial, TrialKind};

use super::namespace_hosts::NamespaceHosts;
use super::other_hosts::OtherHosts;
use crate::Parameters;
use lab::{Lab, LabError, Point};

/// Maximum number of trials that are repeated because other programs disturbed them. Without a limit on repeated
/// trials, an experiment would take twice as long on a machine that is never quiet.
const MAX_REPEATS: u32 = 4;

/// Hosts of the server and of the clients.
enum Hosts {
    NamespaceHosts(Box<NamespaceHosts>),
    OtherHosts(Box<OtherHosts>),
}

/// A running server, and the hosts of its clients.
pub(crate) struct TestSetup {
    hosts: Hosts,
    /// Number of trials that have been repeated so far.
    repeats: u32,
}

impl TestSetup {
    /// Uses the hosts that the plan names. If the plan names no hosts, builds network namespaces.
    pub(crate) fn of(lab: &mut Lab<'_>, parameters: &Parameters, server: &ServePlan) -> Result<Self, LabError> {
        if lab.run.plan.hosts.is_empty() {
            return Self::build(lab, &parameters.text("medium", "switch"), parameters.count("hosts", 4), server);
        }
        Ok(Self { hosts: Hosts::OtherHosts(Box::new(OtherHosts::start(lab, parameters, server)?)), repeats: 0 })
    }

    /// Builds network namespaces, and starts the server in one of them.
    pub(crate) fn build(lab: &mut Lab<'_>, medium: &str, clients: u32, server: &ServePlan) -> Result<Self, LabError> {
        Ok(Self {
            hosts: Hosts::NamespaceHosts(Box::new(NamespaceHosts::build(lab, medium, clients, server)?)),
            repeats: 0,
        })
    }

    /// Builds network namespaces, and starts the server in one of them. If possible, the kernel processes packets for
    /// the server on the server's own CPU.
    pub(crate) fn build_receiving(
        lab: &mut Lab<'_>,
        medium: &str,
        clients: u32,
        server: &ServePlan,
    ) -> Result<Self, LabError> {
        Ok(Self {
            hosts: Hosts::NamespaceHosts(Box::new(NamespaceHosts::build_receiving(lab, medium, clients, server)?)),
            repeats: 0,
        })
    }

    /// Sets a network sysctl of the server's host, if this host is a namespace. Does nothing if the plan names the
    /// hosts.
    pub(crate) fn server_sysctl(&self, key: &str, value: &str) -> Result<(), LabError> {
        match &self.hosts {
            Hosts::NamespaceHosts(bed) => bed.server_sysctl(key, value),
            Hosts::OtherHosts(_) => Ok(()),
        }
    }

    /// Returns the number of CPUs that the clients of a trial may use. If the plan names the hosts, returns the number
    /// of CPUs of the one client host whose counters the trial contains.
    pub(crate) fn client_cpus(&self, trial: &Trial) -> f64 {
        match &self.hosts {
            Hosts::NamespaceHosts(bed) => bed.client_cpus(),
            Hosts::OtherHosts(far) => far.client_cpus(&trial.client.host),
        }
    }

    /// Runs one trial, with its load divided among all client hosts. Stores the counts of connection requests in the
    /// trial's results. If other programs disturbed the trial, it is repeated once, unless [`MAX_REPEATS`] trials have
    /// already been repeated.
    pub(crate) fn trial(
        &mut self,
        lab: &mut Lab<'_>,
        label: &str,
        key: Key,
        plan: &LoadPlan,
    ) -> Result<Trial, LabError> {
        let point = Point { label: label.into(), kind: TrialKind::Experiment, key, within_us: None };
        let trial = self.attempt(lab, &point, plan)?;
        match judge::disturbed(&trial) {
            Some(others) if self.repeats < MAX_REPEATS && !lab.stopped() => {
                self.again(lab, &point, plan, trial, others)
            }
            _ => Ok(trial),
        }
    }

    /// Repeats a disturbed trial. Returns either the first or the second attempt: the attempt that other programs
    /// disturbed less. `taken` is the number of CPUs that other programs used in the first attempt. `online` is the
    /// number of CPUs of the machine.
    fn again(
        &mut self,
        lab: &mut Lab<'_>,
        point: &Point,
        plan: &LoadPlan,
        first: Trial,
        (taken, online): (f64, f64),
    ) -> Result<Trial, LabError> {
        self.repeats += 1;
        let second = self.attempt(lab, point, plan)?;
        let (mut kept, other) = match judge::disturbed(&second) {
            Some((more, _)) if more >= taken => (first, "the second"),
            _ => (second, "the first"),
        };
        kept.notes.push(format!(
            "made twice, since other programs used {taken:.2} of {online} CPUs in the first attempt; {other} is left out"
        ));
        Ok(kept)
    }

    fn attempt(&mut self, lab: &mut Lab<'_>, point: &Point, plan: &LoadPlan) -> Result<Trial, LabError> {
        match &mut self.hosts {
            Hosts::NamespaceHosts(bed) => bed.attempt(lab, point, plan),
            Hosts::OtherHosts(far) => far.attempt(lab, point, plan),
        }
    }
}
