//! Flags for the place where loadline stores the result, and for the amount of printed text.

use std::path::PathBuf;

use clap::Args;
use run::Plan;

use crate::kept::Kept;

/// Flags for the destination of the result.
#[derive(Args, Clone, Debug)]
pub(crate) struct OutArgs {
    /// Directory for run.json and report.html; an earlier run there moves to DIR-TIME [default: loadline-runs/TIME,
    /// linked as loadline-runs/latest]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Overwrite an earlier run in DIR
    #[arg(long, requires = "out", help_heading = "Output")]
    force: bool,
    /// Print run.json and nothing else to standard output; without --out it is kept nowhere else
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print every step during the run, and the whole report at the end
    #[arg(long, short, help_heading = "Output")]
    pub(crate) verbose: bool,
}

impl OutArgs {
    /// Returns a copy of these flags with `--verbose` set.
    pub(crate) fn whole(&self) -> Self {
        Self { verbose: true, ..self.clone() }
    }

    /// Checks the plan and creates the directory of the run. Returns `None` if loadline prints the run but does not
    /// store it.
    pub(crate) fn prepare(&self, plan: &Plan) -> anyhow::Result<Option<Kept>> {
        plan.check()?;
        Kept::prepare(self.out.as_deref(), self.force, self.json)
    }
}
