//! The rows of the table of models: how one is found, and what its messages cost.

use run::Trial;

use crate::values::{ENTRY, MODEL};

/// The source's six models by our names.
pub(super) const SIX: [&str; 6] = ["blocking", "select-array", "sigio", "event-groups", "uring-groups", "uring"];
/// Of these the completion port.
pub(super) const PORT: &str = "uring";

/// The row of a model under an entry.
pub(super) fn row<'a>(rows: &[&'a Trial], model: &str, entry: u32) -> Option<&'a Trial> {
    rows.iter().copied().find(|t| t.key.get(MODEL).as_deref() == Some(model) && t.key.get(ENTRY) == Some(entry))
}

/// Processor time of the server for a message, microseconds.
pub(super) fn cost(trial: &Trial) -> Option<f64> {
    let us = trial.server.as_ref()?.costs.get("process_cpu_us")?.per_request.value()?;
    // A server that got no processor in the window says nothing of what a message costs.
    (us > 0.0).then_some(us)
}
