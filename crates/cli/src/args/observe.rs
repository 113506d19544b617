//! Flags for the sampling of the server's threads.

use clap::Args;
use run::Plan;

/// Flags for the sampling of the server's threads.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ObserveArgs {
    /// Do not sample what the server's threads wait for
    #[arg(long, help_heading = "Counters")]
    no_waits: bool,
    /// Sample no stacks: names of functions and locks are then unknown
    #[arg(long, help_heading = "Counters")]
    no_stacks: bool,
}

impl ObserveArgs {
    /// Puts the given flags into the plan.
    pub(crate) fn apply(&self, plan: &mut Plan) {
        plan.observe.waits = !self.no_waits;
        plan.observe.no_stacks |= self.no_stacks;
    }
}
