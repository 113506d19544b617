//! One file a command; this enum is their table.

mod completions;
mod man;
mod schema;
mod testbed;

use clap::Subcommand;

use crate::Exit;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make test hosts and media for other programs
    #[command(subcommand)]
    Testbed(testbed::Args),
    /// Print the JSON schema of run.json
    Schema,
    /// Print shell completions
    Completions(completions::Args),
    /// Write man pages
    Man(man::Args),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Testbed(args) => testbed::run(&args),
            Self::Schema => schema::run(),
            Self::Completions(args) => completions::run(&args),
            Self::Man(args) => man::run(&args),
        }
    }
}
