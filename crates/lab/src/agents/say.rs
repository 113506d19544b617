//! What an agent says: lines on standard output.

use std::io::Write;

use run::AgentReport;

/// Says one thing.
pub(super) fn say(report: &AgentReport) {
    let Ok(mut line) = serde_json::to_string(report) else { return };
    line.push('\n');
    // A conductor that is gone reads nothing; its closed pipe is heard on standard input.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}
