//! Finds the trial of an I/O model in an entry (load), and returns the server's cost per message.

use run::Trial;

use crate::values::{ENTRY, MODEL};

/// The six I/O models that the table of Jones and Deshpande (source 4) compares, under the names that loadline gives
/// them.
pub(super) const SIX: [&str; 6] = ["blocking", "select-array", "sigio", "event-groups", "uring-groups", "uring"];
/// I/O model that corresponds to the completion port of Jones and Deshpande (source 4).
pub(super) const PORT: &str = "uring";

/// Returns the trial of an I/O model in an entry (load) of the table.
pub(super) fn row<'a>(rows: &[&'a Trial], model: &str, entry: u32) -> Option<&'a Trial> {
    rows.iter().copied().find(|t| t.key.get(MODEL).as_deref() == Some(model) && t.key.get(ENTRY) == Some(entry))
}

/// Returns the server's CPU time per message, microseconds.
pub(super) fn cost(trial: &Trial) -> Option<f64> {
    let us = trial.server.as_ref()?.costs.get("process_cpu_us")?.per_request.value()?;
    // If the kernel counted no CPU time in the window, the cost is unknown, not 0.
    (us > 0.0).then_some(us)
}
