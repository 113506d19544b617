//! Rows of the table of models: selecting them, and their cost per message.

use run::Trial;

use crate::values::{ENTRY, MODEL};

/// The six models of the paper, by their names in loadline.
pub(super) const SIX: [&str; 6] = ["blocking", "select-array", "sigio", "event-groups", "uring-groups", "uring"];
/// The model that corresponds to the paper's completion port.
pub(super) const PORT: &str = "uring";

/// Returns the row of a model in an entry.
pub(super) fn row<'a>(rows: &[&'a Trial], model: &str, entry: u32) -> Option<&'a Trial> {
    rows.iter().copied().find(|t| t.key.get(MODEL).as_deref() == Some(model) && t.key.get(ENTRY) == Some(entry))
}

/// Returns the server's CPU time per message in microseconds.
pub(super) fn cost(trial: &Trial) -> Option<f64> {
    let us = trial.server.as_ref()?.costs.get("process_cpu_us")?.per_request.value()?;
    // If the server has no CPU time in the window, its cost per message is unknown.
    (us > 0.0).then_some(us)
}
