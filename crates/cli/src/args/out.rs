//! Where the result goes.

use std::path::PathBuf;

use clap::Args;

use crate::kept::Kept;

/// Where the result goes.
#[derive(Args, Clone, Debug)]
pub(crate) struct OutArgs {
    /// Directory for run.json and report.html; a run that is there moves to DIR-TIME [default: loadline-runs/TIME, and
    /// loadline-runs/latest leads to it]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Overwrite the run that is in DIR
    #[arg(long, requires = "out", help_heading = "Output")]
    force: bool,
    /// Print run.json to standard output, and nothing else there; without --out it is kept nowhere else
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print every step while it runs, and the whole report at the end
    #[arg(long, short, help_heading = "Output")]
    pub(crate) verbose: bool,
}

impl OutArgs {
    /// The same with everything printed.
    pub(crate) fn whole(&self) -> Self {
        Self { verbose: true, ..self.clone() }
    }

    /// The directory of the run; none where it is only printed.
    pub(crate) fn prepare(&self) -> anyhow::Result<Option<Kept>> {
        Kept::prepare(self.out.as_deref(), self.force, self.json)
    }
}
