//! The flag `--repeat`: the number of repeats of the whole measurement.

use clap::Args;
use run::{MAX_REPEATS, Plan};

/// Flag for the number of repeats.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RepeatArgs {
    /// Repeat everything N times in one run; the interval then includes differences between repeats
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_REPEATS)), help_heading = "Repeats")]
    repeat: Option<u32>,
}

impl RepeatArgs {
    /// Applies the given number of repeats to the plan.
    pub(crate) fn apply(&self, plan: &mut Plan) {
        plan.repeats = self.repeat.unwrap_or(plan.repeats);
    }
}
