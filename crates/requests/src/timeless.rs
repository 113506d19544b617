//! Sentences about requests of a log or recording that have no usable time.

use run::number::prose::counted;

/// Returns the sentence about requests whose times cannot be read. `first` names the first request with an unreadable
/// time.
pub(crate) fn unreadable_time(requests: u64, first: &str) -> String {
    let have = if requests == 1 { "has" } else { "have" };
    without_time(requests, &format!("{have} no time that can be read, first in {first}"))
}

/// Returns a message for the user about requests without a usable time. `why` is the reason.
pub(crate) fn without_time(requests: u64, why: &str) -> String {
    let them = if requests == 1 { "it" } else { "them" };
    format!("{} {why}: a replay with --speed leaves {them} out", counted(requests as f64, "request"))
}
