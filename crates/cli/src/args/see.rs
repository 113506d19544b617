//! Flags for showing a run during its measurement, on the terminal or to another program.

use std::io::IsTerminal as _;
use std::net::SocketAddr;

use clap::Args;

use super::OutArgs;
use crate::metrics;

/// Minimum expected length of a run for which loadline shows the full-screen view by default, seconds.
const WORTH_A_VIEW_S: f64 = 5.0;

/// Flags for displaying a run.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SeeArgs {
    /// Show a full-screen view of the run [default: on a terminal, for more than 5 s, without --json and --verbose]
    #[arg(long, overrides_with = "no_live", help_heading = "Output")]
    live: bool,
    /// Show no full-screen view
    #[arg(long, overrides_with = "live", help_heading = "Output")]
    no_live: bool,
    /// Print one line of JSON per second and one with the result, and nothing else, to standard output
    #[arg(long, conflicts_with_all = ["json", "verbose", "live"], help_heading = "Output")]
    pub(crate) json_lines: bool,
    /// Push the current figures as OpenTelemetry metrics every 5 s (OTLP over HTTP, JSON); OTEL_EXPORTER_OTLP_HEADERS
    /// has headers
    #[arg(long, value_name = "URL", help_heading = "Output")]
    pub(crate) otlp: Option<String>,
    /// Serve the current figures as OpenMetrics over HTTP; a bare port listens on loopback
    #[arg(long, value_name = "ADDR:PORT", value_parser = metrics::address, help_heading = "Output")]
    pub(crate) metrics: Option<SocketAddr>,
}

impl SeeArgs {
    /// Returns true if another program receives the current figures during the run (`--metrics`, `--json-lines`,
    /// `--otlp`).
    pub(crate) fn feeds(&self) -> bool {
        self.metrics.is_some() || self.json_lines || self.otlp.is_some()
    }

    /// Returns true if loadline shows the full-screen view for a run of about `expected_s` seconds. The view needs a
    /// terminal that can move the cursor.
    pub(crate) fn live(&self, out: &OutArgs, expected_s: f64) -> bool {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let wanted = self.live || expected_s > WORTH_A_VIEW_S && !out.verbose;
        wanted
            && !self.no_live
            && !out.json
            && !self.json_lines
            && !dumb
            && std::io::stdout().is_terminal()
            && sys::terminal::in_foreground()
    }
}
