//! Reports of an agent: lines on its standard output.

use std::io::Write;

use run::AgentReport;

/// Sends one report to the conductor, as one line.
pub(super) fn send_report(report: &AgentReport) {
    let Ok(mut line) = serde_json::to_string(report) else { return };
    line.push('\n');
    // Ignore errors, because nobody reads the report if the conductor has ended. The agent notices at its own standard
    // input that the conductor has ended.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}
