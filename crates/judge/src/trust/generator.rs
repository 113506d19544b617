//! Warnings about a load generator that is at its limit, or that sends requests late.

use run::Intensity;

use super::report::Severity::{Imprecise, Misleading, Unreliable};
use super::report::TrustReport;
use crate::Facts;
use crate::generator::{ceiling_used, client_limit_threads, refuses_the_rest};
use crate::number::{duration, percent, rate};
use crate::thresholds::{BUSY, SENT_LATE_US};

pub(super) fn generator(facts: &Facts<'_>, (limited, held): (bool, bool), report: &mut TrustReport) {
    if limited {
        // If no rate met the objective, the run does not show a rate that the server can sustain.
        let shown = if held { "the server can take at least this rate" } else { "the figures are the generator's" };
        report.warn(Misleading, format!("the generator was at its limit: {shown}"));
    } else if let Some(busy) = client_limit_threads(facts).filter(|_| !refuses_the_rest(facts)) {
        let text = format!("the generator's threads used {} of a CPU each at the limit", percent(busy));
        if busy > BUSY { report.warn(Imprecise, format!("{text}: little headroom is left")) } else { report.hold(text) }
    }
    crate::context::client_hosts::uneven(facts).into_iter().for_each(|text| report.warn(Unreliable, text));
    if let Some((ceiling, share)) = facts.run.findings.trust.generator_ceiling.zip(ceiling_used(facts)) {
        report.hold(format!(
            "the rate is {} of the {} that the generator reaches without a network",
            percent(share),
            rate(ceiling)
        ));
    }
    let late = facts.run.trials.iter().filter(|t| matches!(t.intensity, Intensity::Open { .. }));
    let late = late.filter(|t| t.start_error_us.count > 0 && t.start_error_us.p99 > SENT_LATE_US);
    if let Some(worst) = late.max_by(|a, b| a.start_error_us.p99.total_cmp(&b.start_error_us.p99)) {
        report.warn(
            Unreliable,
            format!(
                "the generator sent requests late (p99 {} at {}); response times include this delay",
                duration(worst.start_error_us.p99),
                crate::course::offered(facts.run, worst)
            ),
        );
    }
}
