//! How often all of it is done.

use clap::Args;
use run::{MAX_REPEATS, Plan};

/// Repeats of a load.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RepeatArgs {
    /// Do all of it N times, as parts of one run: the interval then also holds what changes between runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_REPEATS)), help_heading = "Repeats")]
    repeat: Option<u32>,
}

impl RepeatArgs {
    /// Puts the number that was given into the plan.
    pub(crate) fn apply(&self, plan: &mut Plan) {
        plan.repeats = self.repeat.unwrap_or(plan.repeats);
    }
}
