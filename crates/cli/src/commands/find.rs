//! `loadline find`: the capacity of a server and what stops it.

use run::Plan;

use crate::args::{LoadArgs, TargetArgs, units};
use crate::finish::{self, Ends};
use crate::screen::Screen;
use crate::{Exit, output};

/// Arguments.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    load: LoadArgs,
    /// 99th percentile of the response time that must hold; without it, 10 times the unloaded one
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Objective")]
    p99: Option<f64>,
    /// Largest share of requests that may fail
    #[arg(long, value_name = "SHARE", value_parser = units::share, help_heading = "Objective")]
    errors: Option<f64>,
    /// Time for everything
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Search")]
    budget: Option<f64>,
    /// Most connections of the closed-loop sweep and of the open loop's pool
    #[arg(long, visible_alias = "max-connections", value_name = "N", help_heading = "Search")]
    connections: Option<u32>,
}

/// Finds, reports, and keeps.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let plan = plan(args)?;
    output::catch_interrupts();
    let mut screen = Screen::new(args.target.json, plan.search.budget_s);
    let result = lab::find(plan, args.target.out.as_deref(), &mut screen);
    screen.done();
    finish::finish(result?, &Ends { out: args.target.out.as_deref(), json: args.target.json })
}

fn plan(args: &Args) -> anyhow::Result<Plan> {
    let mut plan = args.target.plan("find")?;
    args.load.apply(&mut plan);
    if let Some(p99) = args.p99 {
        plan.objective.p99_us = Some(p99 * 1e6);
    }
    plan.objective.errors = args.errors.unwrap_or(plan.objective.errors);
    plan.search.budget_s = args.budget.unwrap_or(plan.search.budget_s);
    plan.search.max_connections = args.connections.unwrap_or(plan.search.max_connections);
    plan.check()?;
    Ok(plan)
}
