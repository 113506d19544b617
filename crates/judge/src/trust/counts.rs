//! Counts of the client and of the server's host that must agree, and answers that never came.

use run::{Summary, Trial};

use super::report::Severity::Unreliable;
use super::report::TrustReport;
use crate::context::single::server_of;
use crate::number::{counted, duration, figure, positive, ratio};
use crate::thresholds::{OLD_US, OLDER};

pub(super) fn counts(trial: &Trial, report: &mut TrustReport) {
    let t = &trial.tally;
    let known = t.completed.saturating_add(t.error_count()).saturating_add(t.unanswered);
    if t.sent > known {
        report.warn(
            Unreliable,
            format!(
                "unaccounted for: {} sent, but neither answered nor failed",
                counted((t.sent - known) as f64, "request")
            ),
        );
    }
    let clients = [crate::failed::unopened::unopened(trial), crate::failed::unopened::without_request(trial)];
    clients.into_iter().flatten().for_each(|text| report.warn(Unreliable, text));
    let ours = trial.measured.tally.connected as f64;
    let seen = server_of(trial).and_then(|server| server.value("tcp.passive_opens"));
    if let Some(text) = crate::failed::phantoms::unanswered(t.phantom, ours, seen) {
        report.warn(Unreliable, text);
    }
    let Some(seen) = seen.filter(|seen| ours.max(*seen) >= 20.0) else { return };
    // The counters of the two sides are read up to about 10 ms apart. Some connections are in progress at the beginning
    // or the end of the window.
    let edges = 5.0 + trial.rates.concurrency + 0.01 * ratio(ours, trial.measured.length_s).unwrap_or(0.0);
    if (seen - ours).abs() <= 0.02 * ours.max(seen) + edges {
        report.hold(format!(
            "client and server's host agree on new connections: {} and {}",
            figure(ours),
            figure(seen)
        ));
    } else if seen > ours {
        report.warn(
            Unreliable,
            format!("the server's host also had {} that were not ours", counted((seen - ours).round(), "connection")),
        );
    } else {
        let (lost, ours) = (figure((ours - seen).round()), figure(ours));
        report.warn(Unreliable, format!("{lost} of our {ours} new connections did not reach the server's host"));
    }
}

/// Returns a sentence if requests were still unanswered at the end of the window and had waited far longer than any
/// answered request.
pub(super) fn stood_at_the_end(trial: &Trial) -> Option<String> {
    let ages = Summary::of(trial.histograms.get("under_way").filter(|ages| !ages.is_empty())?);
    let longest = positive(trial.latency_us.max)?;
    (ages.max > OLDER * longest && ages.max > OLD_US).then(|| {
        format!(
            "something stalled: {} without an answer when measuring ended, the oldest for {} (longest answer: {})",
            counted(ages.count as f64, "request"),
            duration(ages.max),
            duration(longest)
        )
    })
}
