//! `loadline prove`: the verdict tried by experiment, with every lever that can be pulled.

use std::path::PathBuf;

use run::{Intensity, Plan, Prove, ThinkTime};

use crate::args::{HostArgs, LoadArgs, TargetArgs, units};
use crate::finish::{self, Ends};
use crate::kept::Kept;
use crate::screen::Screen;
use crate::{Exit, output};

/// Clients when nothing is said.
pub(crate) const CONNECTIONS: u32 = 64;
/// Time when nothing is said, seconds.
pub(crate) const BUDGET_S: f64 = 60.0;

/// Arguments.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Clients, each waits for its answer
    #[arg(long, value_name = "N", help_heading = "Intensity")]
    connections: Option<u32>,
    /// Time for the whole experiment
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Experiment")]
    budget: Option<f64>,
    /// Also pull levers that touch the server's own limits and processes: its CPU quota, one of its workers
    #[arg(long, help_heading = "Experiment")]
    intrusive: bool,
    /// A directory on the server's disk, on the server's host, in which may be written: tries the disk
    #[arg(long, value_name = "DIR", help_heading = "Experiment")]
    prove_dir: Option<PathBuf>,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    hosts: HostArgs,
}

/// Proves, reports, and keeps.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let plan = plan(args)?;
    output::catch_interrupts();
    let kept = args.target.out.prepare()?;
    let mut screen = Screen::new(&args.target.out, plan.search.budget_s);
    let result = lab::prove_target(plan, kept.as_ref().map(Kept::dir), &mut screen);
    let used = screen.done();
    finish::ended(result, &Ends::of(&args.target.out, kept, used))
}

fn plan(args: &Args) -> anyhow::Result<Plan> {
    let mut plan = args.target.plan("prove")?;
    crate::args::mix::in_time(&mut plan, None)?;
    crate::args::mix::enough_rows(&plan)?;
    if let (Some(_), _) | (None, Intensity::Open { .. } | Intensity::SClients { .. }) =
        (args.connections, &plan.load.intensity)
    {
        let connections = args.connections.unwrap_or(CONNECTIONS);
        plan.load.intensity = Intensity::Closed { connections, pipeline: 1, think: ThinkTime::default() };
    }
    args.load.apply(&mut plan);
    args.hosts.apply(&mut plan)?;
    plan.search.budget_s = args.budget.unwrap_or(BUDGET_S);
    plan.search.prove = if args.intrusive { Prove::Intrusive } else { Prove::Default };
    plan.search.prove_dir.clone_from(&args.prove_dir);
    plan.check()?;
    Ok(plan)
}
