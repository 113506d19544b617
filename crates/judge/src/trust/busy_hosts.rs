//! Warnings about CPU time that the server did not get, because the hypervisor, other programs or the sampler of
//! counters took it.

use run::Trial;

use super::report::Severity::{Imprecise, Unreliable};
use super::report::TrustReport;
use crate::Facts;
use crate::context::single::sides_of;
use crate::number::{cpus, figure, percent};
use crate::thresholds::{PROBE_COSTS, STOLEN_SHARE};

pub(super) fn busy_machine(facts: &Facts<'_>, report: &mut TrustReport) {
    if let Some((taken, online)) = facts.other_processes_cpu() {
        report.warn(
            Unreliable,
            format!(
                "other programs used {} of {}: measure again on a quiet machine",
                figure(taken.min(online)),
                cpus(online)
            ),
        );
    }
}

/// Adds warnings about CPU time that the hypervisor took.
pub(super) fn hypervisor(facts: &Facts<'_>, trial: &Trial, report: &mut TrustReport) {
    for view in sides_of(trial) {
        let Some(host) = view.host() else { continue };
        if host.steal > STOLEN_SHARE * host.online {
            report.warn(Unreliable, format!("{}: the hypervisor took {} away", view.place(""), cpus(host.steal)));
        }
    }
    if let Some(share) = facts.failing.map(crate::stolen).filter(|share| *share > 0.0) {
        report.warn(Unreliable, format!(
            "the hypervisor took a CPU away for {} of the step that failed the objective: the capacity may be higher on \
             dedicated hardware",
            percent(share)
        ));
    }
}

pub(super) fn probe_share(trial: &Trial) -> Option<f64> {
    let shares = sides_of(trial).into_iter().filter_map(|v| v.share_of_time("probe.cpu"));
    shares.reduce(f64::max)
}

pub(super) fn probe(decisive: Option<&Trial>, share: Option<f64>, report: &mut TrustReport) {
    match share {
        Some(s) if s > PROBE_COSTS => {
            report.warn(Imprecise, format!("reading the counters cost {} of a CPU", percent(s)))
        }
        Some(s) => report.hold(format!("reading the counters cost {} of a CPU", percent(s))),
        None => {}
    }
    let late = decisive.map(sides_of).unwrap_or_default();
    let late = late.iter().filter_map(|v| v.value("probe.late")).reduce(f64::max);
    if let Some(n) = late.filter(|n| *n >= 1.0) {
        report.warn(
            Imprecise,
            format!("{} counter samples were late: the host was too busy to read them in time", figure(n)),
        );
    }
}
