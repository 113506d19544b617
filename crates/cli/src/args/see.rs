//! Flags for displaying a run.

use std::io::IsTerminal as _;
use std::net::SocketAddr;

use clap::Args;

use super::OutArgs;
use crate::metrics;

/// Minimum length of a run, in seconds, for which the full-screen view is shown.
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
    /// Serve the current figures as OpenMetrics over HTTP; a bare port listens on loopback
    #[arg(long, value_name = "ADDR:PORT", value_parser = metrics::address, help_heading = "Output")]
    pub(crate) metrics: Option<SocketAddr>,
}

impl SeeArgs {
    /// Returns true if a run of about `expected_s` seconds is shown in a full-screen view, which needs a terminal with
    /// cursor movement.
    pub(crate) fn live(&self, out: &OutArgs, expected_s: f64) -> bool {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let wanted = self.live || expected_s > WORTH_A_VIEW_S && !out.verbose;
        wanted
            && !self.no_live
            && !out.json
            && !dumb
            && std::io::stdout().is_terminal()
            && sys::terminal::in_foreground()
    }
}
