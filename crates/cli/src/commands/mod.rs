//! The commands of loadline. Each command has its own file, and an enum lists all commands.

mod agent;
mod arena;
mod compare;
mod compare_live;
mod completions;
mod explain;
mod find;
mod history;
mod import;
mod judge;
mod lab;
mod list;
mod list_grpc;
mod load;
mod man;
mod probe;
pub(crate) mod prove;
mod report;
mod schema;
mod selftest;
mod serve;
mod size;
mod testbed;
mod waits;
mod watch;
mod what_if;

use clap::Subcommand;

use crate::Exit;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Find the capacity of a server and its bottleneck
    Find(Box<find::Args>),
    /// Load a server at one fixed load
    Load(Box<load::Args>),
    /// Prove a server's bottleneck by experiment, at a given load
    Prove(Box<prove::Args>),
    /// Compare two runs, or two live servers
    Compare(Box<compare::Args>),
    /// Compare many servers under the same loads
    Arena(Box<arena::Args>),
    /// Find the capacity of one server with different resources
    Size(Box<size::Args>),
    /// Find changes between the runs of many days
    History(history::Args),
    /// Watch the counters of a server without loading it
    Watch(Box<watch::Args>),
    /// Show what the threads of a server wait for, without loading it
    Waits(waits::Args),
    /// Convert requests (URLs, curl, HAR, vegeta, access logs) to TOML
    Import(import::Args),
    /// Predict a measured server's capacity with other resources or other users
    WhatIf(what_if::Args),
    /// Run a reference server
    Serve(Box<serve::Args>),
    /// Run an experiment from the sources
    Lab(Box<lab::Args>),
    /// Judge an old run again and render its report
    Report(report::Args),
    /// Judge counters from another tool (CSV), or an old run
    Judge(judge::Args),
    /// List models, protocols, counters, rules, experiments and more
    List(list::Args),
    /// Explain a bottleneck, counter, term or anything else by its id
    Explain(explain::Args),
    /// Measure this machine's limits: the generator's highest rate, the cost of observing
    Selftest(selftest::Args),
    /// Run a scripted workload of reads, writes, pauses and computing
    Probe(probe::Args),
    /// Make test hosts and media for other programs
    #[command(subcommand)]
    Testbed(testbed::Args),
    /// Print the JSON schema of run.json
    Schema,
    /// Print shell completions
    Completions(completions::Args),
    /// Write man pages
    Man(man::Args),
    /// Work as an agent of another loadline process, which starts this command itself
    #[command(hide = true)]
    Agent,
}

impl Command {
    /// Runs the command. `whole` returns the parser of the whole command line. Some commands print parts of this
    /// parser, such as help texts.
    pub(crate) fn run(self, whole: fn() -> clap::Command) -> anyhow::Result<Exit> {
        match self {
            Self::Find(args) => find::run(&args),
            Self::Load(args) => load::run(&args),
            Self::Prove(args) => prove::run(&args),
            Self::Compare(args) => compare::run(&args),
            Self::Arena(args) => arena::run(&args),
            Self::Size(args) => size::run(&args),
            Self::History(args) => history::run(&args),
            Self::Watch(args) => watch::run(&args),
            Self::Waits(args) => waits::run(&args),
            Self::WhatIf(args) => what_if::run(&args),
            Self::Import(args) => import::run(&args),
            Self::Serve(args) => serve::run(&args),
            Self::Lab(args) => lab::run(&args),
            Self::Report(args) => report::run(&args),
            Self::Judge(args) => judge::run(&args),
            Self::List(args) => list::run(&args),
            Self::Explain(args) => explain::run(&args, &whole()),
            Self::Selftest(args) => selftest::run(&args),
            Self::Probe(args) => probe::run(&args),
            Self::Testbed(args) => testbed::run(&args),
            Self::Schema => schema::run(),
            Self::Completions(args) => completions::run(&args, &whole()),
            Self::Man(args) => man::run(&args, whole()),
            Self::Agent => agent::run(),
        }
    }

    /// Returns true if loadline must not undo leftover changes on this machine before it runs this command. Leftover
    /// changes come from experiments that were killed. Commands that store a run undo the changes of killed experiments
    /// later, and note this in the run. An agent undoes the changes of killed experiments only on request.
    pub(crate) fn undoes_by_itself(&self) -> bool {
        let notes = matches!(self, Self::Find(_) | Self::Load(_) | Self::Prove(_) | Self::Watch(_) | Self::Lab(_));
        notes || matches!(self, Self::Agent)
    }

    /// Returns true for commands that only print text. A command that only prints may end at once if the program that
    /// reads its output closes the pipe. All other commands must first end the processes that they started, and finish
    /// their runs.
    pub(crate) fn only_prints(&self) -> bool {
        matches!(
            self,
            Self::Report(_)
                | Self::History(_)
                | Self::Import(_)
                | Self::Judge(_)
                | Self::List(_)
                | Self::Explain(_)
                | Self::Schema
                | Self::Completions(_)
                | Self::Man(_)
        )
    }
}
