//! `loadline prove`: tests the verdict about the bottleneck by an experiment. The experiment uses every possible lever.
//! A lever is a temporary change, such as taking CPU time from the server.

use std::path::PathBuf;

use run::{Arrival, Intensity, Plan, Prove, SearchPlan, ThinkTime};

use crate::args::{HostArgs, LoadArgs, ObjectiveArgs, ObserveArgs, POOL, TargetArgs, arrival, arrival_help, units};
use crate::finish::{self, Ends};
use crate::kept::Kept;
use crate::screen::Screen;
use crate::{Exit, output};

/// Default number of clients, which send in a closed loop.
pub(crate) const CONNECTIONS: u32 = 64;
/// Default time for the whole experiment, seconds.
pub(crate) const BUDGET_S: f64 = 60.0;

/// Arguments of `prove`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Closed loop of N clients: slowing the bottleneck lowers throughput
    #[arg(long, value_name = "N", help_heading = "Intensity", conflicts_with = "rate")]
    connections: Option<u32>,
    /// Open loop of R requests per second: slowing the bottleneck raises the objective's percentile of the response
    /// time (the median without an objective)
    #[arg(long, value_name = "R", value_parser = units::rate, help_heading = "Intensity")]
    rate: Option<f64>,
    #[arg(long, value_name = "HOW", value_parser = arrival, help = arrival_help(), help_heading = "Intensity", requires = "rate")]
    arrival: Option<Arrival>,
    /// Most connections in the pool of --rate
    #[arg(long, value_name = "N", help_heading = "Intensity", requires = "rate")]
    max_connections: Option<u32>,
    /// Time for the whole experiment
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Experiment")]
    budget: Option<f64>,
    /// Also change the server: its CPU quota, one of its workers
    #[arg(long, help_heading = "Experiment")]
    intrusive: bool,
    /// Writable directory on the server's disk, so that the experiment can slow the disk, too
    #[arg(long, value_name = "DIR", help_heading = "Experiment")]
    prove_dir: Option<PathBuf>,
    #[command(flatten)]
    objective: ObjectiveArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    observe: ObserveArgs,
    #[command(flatten)]
    hosts: HostArgs,
}

/// Runs the experiment, reports the result and stores it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let plan = plan(args)?;
    output::catch_interrupts();
    let kept = args.target.out.prepare(&plan)?;
    let mut screen = Screen::new(&args.target.out, plan.search.budget_s);
    let result = lab::prove_target(plan, kept.as_ref().map(Kept::dir), &mut screen);
    let used = screen.done();
    finish::ended(result, &Ends::of(&args.target.out, kept, used))
}

fn plan(args: &Args) -> anyhow::Result<Plan> {
    let mut plan = args.target.plan("prove")?;
    crate::args::mix::in_time(&mut plan, None)?;
    crate::args::mix::enough_rows(&plan)?;
    set_intensity(args, &mut plan);
    if let Some(flag) = args.load.out_of_place(&plan.load.intensity) {
        anyhow::bail!("{flag} does not belong to an open loop (--rate): its requests do not wait for answers");
    }
    args.load.apply(&mut plan)?;
    args.objective.apply(&mut plan);
    args.observe.apply(&mut plan)?;
    args.hosts.apply(&mut plan)?;
    // A plan file that sets no budget has the default budget of a search, which is too short for all levers.
    let of_file = Some(plan.search.budget_s).filter(|budget_s| *budget_s != SearchPlan::default().budget_s);
    plan.search.budget_s = args.budget.or(of_file).unwrap_or(BUDGET_S);
    let is_intrusive = args.intrusive || plan.search.prove == Prove::Intrusive;
    plan.search.prove = if is_intrusive { Prove::Intrusive } else { Prove::Default };
    plan.search.prove_dir = args.prove_dir.clone().or(plan.search.prove_dir);
    Ok(plan)
}

/// Sets the load under which the experiment runs. The command line has precedence over the plan file. Without a load on
/// the command line, the load of the plan file is used. Without a plan file, or if the plan file's load is S-Clients,
/// the load is a closed loop with the default number of clients.
fn set_intensity(args: &Args, plan: &mut Plan) {
    let intensity = &mut plan.load.intensity;
    let closed = |connections| Intensity::Closed { connections, pipeline: 1, think: ThinkTime::default() };
    match (args.rate, args.connections) {
        (Some(rate), _) => {
            let arrival = args.arrival.clone().unwrap_or_default();
            *intensity =
                Intensity::Open { rate, arrival, max_connections: args.max_connections.unwrap_or(POOL), pipeline: 1 };
        }
        (None, Some(connections)) => *intensity = closed(connections),
        (None, None) if args.target.config.is_none() || matches!(intensity, Intensity::SClients { .. }) => {
            *intensity = closed(CONNECTIONS);
        }
        (None, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Command;
    use crate::parsed;

    /// Returns the plan of `loadline prove` with these arguments.
    fn planned(words: &[&str]) -> anyhow::Result<Plan> {
        let words = [&["prove"][..], words].concat();
        let Command::Prove(args) = parsed(&words) else { panic!("not `prove`") };
        plan(&args)
    }

    #[test]
    fn a_think_time_in_an_open_loop_is_refused() {
        let with = |load: [&str; 2]| planned(&[&["http://127.0.0.1:1/", "--think", "10ms"][..], &load[..]].concat());
        assert!(with(["--rate", "50"]).unwrap_err().to_string().contains("--think"));
        assert!(with(["--connections", "5"]).is_ok());
    }

    #[test]
    fn flags_override_the_plan_file_only_if_they_are_given() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plan.toml");
        let text = "[target]\nurl = 'http://127.0.0.1:1/'\n\
                    [search]\nprove = 'intrusive'\nprove_dir = '/d'\nbudget_s = 90.0\n";
        std::fs::write(&file, text).unwrap();
        let of_file = ["--config", file.to_str().unwrap()];
        let search = planned(&of_file).unwrap().search;
        assert_eq!((search.prove, search.prove_dir, search.budget_s), (Prove::Intrusive, Some("/d".into()), 90.0));
        let given = [&of_file[..], &["--prove-dir", "/e", "--budget", "40s"]].concat();
        let search = planned(&given).unwrap().search;
        assert_eq!((search.prove_dir, search.budget_s), (Some("/e".into()), 40.0));
        assert_eq!(planned(&["http://127.0.0.1:1/"]).unwrap().search.budget_s, BUDGET_S);
    }
}
