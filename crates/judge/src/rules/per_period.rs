//! Verdict and advice for a server that limits the number of requests per period.

use run::FigureUnit;

use super::rule::Verdict;
use crate::Facts;
use crate::context::evidence::measured;
use crate::context::single::{refused, server_of};
use crate::context::view::View;
use crate::failed::period_limit::PeriodLimit;
use crate::number::percent;
use crate::thresholds::{REFUSED, SUREST, TWO_SIGNS, WEAK_SIGN};

/// Returns the verdict that names the limit on requests per period.
pub(super) fn bind(facts: &Facts<'_>, limit: &PeriodLimit) -> Verdict {
    let Some(worst) = facts.run.trials.iter().max_by(|a, b| refused(a).total_cmp(&refused(b))) else {
        return Verdict::CannotSay(Vec::new());
    };
    let view = server_of(worst).unwrap_or_else(|| View::new("client", worst, &worst.client));
    let share = refused(worst);
    let refusals = format!("{} of the answers were refusals in the load with the most of them", percent(share));
    let bursts = format!(
        "good answers came only at the beginning of each period, and then every request was refused: {}, so {} over a long \
         time",
        limit.text(),
        limit.rate_text()
    );
    let evidence = vec![
        measured(&view, ("unexpected_status", ""), (share, FigureUnit::Plain), Some(REFUSED), refusals),
        measured(&view, ("goodput", ""), (limit.rate(), FigureUnit::PerSecond), None, bursts),
    ];
    let sentence = format!(
        "the server limits the rate on purpose: it serves about {} ({}) and refuses the rest",
        limit.text(),
        limit.rate_text()
    );
    Verdict::Binds { confidence: confidence(limit), sentence, evidence }
}

/// Returns the probability that the server limits the number of requests per period. Refusals with another status than
/// 429 may also come from a circuit breaker that opens at equal intervals. A single burst with refusals after it shows
/// no interval.
fn confidence(limit: &PeriodLimit) -> f64 {
    match (limit.is_named && limit.is_known(), limit.bursts) {
        (true, _) => SUREST,
        (false, 0 | 1) => WEAK_SIGN,
        (false, _) => TWO_SIGNS,
    }
}

/// Returns advice on a server that limits the number of requests per period.
pub(super) fn advice(limit: &PeriodLimit) -> String {
    let longer = if limit.is_known() { "" } else { " A --budget of several periods shows the rate." };
    format!(
        "Look for a limit of {} in the server's configuration (a middleware, a gateway, an upstream quota). Raise it or exempt \
         the generator's address, to measure the server itself.{longer}",
        limit.text()
    )
}
