//! Words about counts of workers and connections.

use run::{Counted, CountedKind};

use crate::number::figure;

/// Describes a count in words: `php-fpm has 5 children`, `4 worker threads of srv ran`.
pub(crate) fn text(counted: &Counted) -> String {
    let Counted { what, count, of, peer } = counted;
    let noun = if *count == 1.0 { what.noun() } else { what.nouns() };
    let number = figure(*count);
    match what {
        CountedKind::BlockedThreads if peer.is_empty() => {
            format!("{number} {noun} of {of} {} always blocked", if *count == 1.0 { "is" } else { "are" })
        }
        CountedKind::BlockedThreads => {
            let wait = if *count == 1.0 { "waits" } else { "wait" };
            format!("{number} {noun} of {of} always {wait} for replies of {peer}")
        }
        CountedKind::Threads => format!("{number} worker {noun} of {of} ran"),
        _ if peer.is_empty() => format!("{of} has {number} {noun}"),
        _ => format!("{of} has {number} {noun} to {peer}"),
    }
}

/// Returns advice on a count that equals the number of requests handled at a time.
pub(crate) fn advice(counted: &Counted) -> String {
    let Counted { what, count, of, peer } = counted;
    match what {
        CountedKind::Connections => format!(
            "Raise the number of connections from {of} to {peer} (now {}): the size of its pool, while {peer} is not full.",
            figure(*count)
        ),
        CountedKind::Threads => format!("Raise the number of worker threads of {of} (now {}).", figure(*count)),
        CountedKind::BlockedThreads if peer.is_empty() => format!(
            "Raise the number of worker threads of {of} (now {}), or shorten what each of them waits for.",
            figure(*count)
        ),
        CountedKind::BlockedThreads => format!(
            "Raise the number of worker threads of {of} (now {}), or make replies of {peer} faster.",
            figure(*count)
        ),
        CountedKind::BusyConnections => format!(
            "Let {of} pass more requests at a time on to {peer} (now {}): a limit (maxconn of HAProxy) or a pool holds the \
             others back.",
            figure(*count)
        ),
        _ => format!("Raise the number of {what} of {of} (now {}).", figure(*count)),
    }
}

/// Returns advice for a server whose workers mostly wait, so that more workers do not help.
pub(crate) fn advice_too_many(counted: &Counted, places: f64) -> String {
    format!(
        "Look for a lock that the workers share, or a row or an upstream that they wait for. More workers will not help: {}, and \
         only about {} work at a time.",
        text(counted),
        figure(places)
    )
}

/// Returns a number of requests as text. Rounds to a whole number if the difference is smaller than the measurement
/// error.
pub(crate) fn requests(places: f64) -> String {
    let whole = places.round();
    let shown = if (places - whole).abs() <= WHOLE * whole { whole } else { places };
    format!("{} request{}", figure(shown), if shown == 1.0 { "" } else { "s" })
}

/// Maximum relative difference to a whole number at which a number of requests is rounded. The rounding affects only
/// the displayed text.
const WHOLE: f64 = 0.02;
