//! What these experiments stand on: a server, its clients, and the counts of connection requests between them. It is made
//! from namespaces, or it is the hosts of the plan.

use run::{Key, LoadPlan, ServePlan, Trial, TrialKind};

use super::bed::Bed;
use super::far::Far;
use crate::Parameters;
use lab::{Lab, LabError, Point};

/// Trials that are repeated at most because other programs disturbed them: a machine that is never quiet must not make an
/// experiment twice as long.
const MAX_REPEATS: u32 = 4;

/// Where server and clients are.
enum Hosts {
    Bed(Box<Bed>),
    Far(Box<Far>),
}

/// A server under test with its clients around it.
pub(crate) struct Arena {
    hosts: Hosts,
    /// Trials that were made a second time.
    repeats: u32,
}

impl Arena {
    /// The hosts of the plan, where it names some; else as many namespaces as the parameters say.
    pub(crate) fn of(lab: &mut Lab<'_>, parameters: &Parameters, server: &ServePlan) -> Result<Self, LabError> {
        if lab.run.plan.hosts.is_empty() {
            return Self::build(lab, &parameters.text("medium", "switch"), parameters.count("hosts", 4), server);
        }
        Ok(Self { hosts: Hosts::Far(Box::new(Far::start(lab, parameters, server)?)), repeats: 0 })
    }

    /// Builds hosts from namespaces and starts the server in one of them.
    pub(crate) fn build(lab: &mut Lab<'_>, medium: &str, clients: u32, server: &ServePlan) -> Result<Self, LabError> {
        Ok(Self { hosts: Hosts::Bed(Box::new(Bed::build(lab, medium, clients, server)?)), repeats: 0 })
    }

    /// The same with the kernel's receiving work for the server on the server's own CPU.
    pub(crate) fn build_receiving(
        lab: &mut Lab<'_>,
        medium: &str,
        clients: u32,
        server: &ServePlan,
    ) -> Result<Self, LabError> {
        Ok(Self { hosts: Hosts::Bed(Box::new(Bed::build_receiving(lab, medium, clients, server)?)), repeats: 0 })
    }

    /// Sets a network sysctl of the server's host, where that is ours to set.
    pub(crate) fn server_sysctl(&self, key: &str, value: &str) -> Result<(), LabError> {
        match &self.hosts {
            Hosts::Bed(bed) => bed.server_sysctl(key, value),
            Hosts::Far(_) => Ok(()),
        }
    }

    /// Processors that the clients of a trial may use: those of the host whose counters it has first, the busiest.
    pub(crate) fn client_cpus(&self, trial: &Trial) -> f64 {
        match &self.hosts {
            Hosts::Bed(bed) => bed.client_cpus(),
            Hosts::Far(far) => far.client_cpus(&trial.client.host),
        }
    }

    /// Conducts one trial with its load dealt out to all client hosts; its results have the counts of connection
    /// requests.
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

    /// Once more what other programs disturbed; the attempt that they took less from stays.
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
            Hosts::Bed(bed) => bed.attempt(lab, point, plan),
            Hosts::Far(far) => far.attempt(lab, point, plan),
        }
    }
}
