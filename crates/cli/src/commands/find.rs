//! `loadline find`: finds the capacity of a server and its bottleneck.

use run::{Plan, SearchPlan};

use crate::args::{HostArgs, LoadArgs, ObjectiveArgs, ObserveArgs, RepeatArgs, SeeArgs, TargetArgs, mix, units};
use crate::finish::{self, Ends};
use crate::kept::Kept;
use crate::screen::{self, Screen};
use crate::{Exit, output};

/// Arguments of `find`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("pace_of_users").args(["think", "stream"]).multiple(true)))]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    objective: ObjectiveArgs,
    #[command(flatten)]
    observe: ObserveArgs,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    repeat: RepeatArgs,
    #[command(flatten)]
    see: SeeArgs,
    /// Time for the whole search
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Search")]
    budget: Option<f64>,
    /// End early once half of the 95 % interval is at most this share of the capacity
    #[arg(long, value_name = "SHARE", value_parser = units::share, help_heading = "Search")]
    precision: Option<f64>,
    /// Most connections, in the closed and in the open loop; the closed loop also tries this number, if the budget
    /// allows it
    #[arg(long, visible_alias = "max-connections", value_name = "N", help_heading = "Search")]
    connections: Option<u32>,
    /// Find the capacity in users, at most N; each has a connection and pauses for --think after each answer; with
    /// --stream, the capacity in open streams
    #[arg(long, value_name = "N", requires = "pace_of_users", conflicts_with_all = ["connections", "pipeline"], help_heading = "Search")]
    users: Option<u32>,
    /// Test the verdict by an experiment, in 30 % of the budget: busy threads of low priority slow server and
    /// generator in turn
    #[arg(long, value_name = "HOW", value_enum, help_heading = "Search")]
    prove: Option<Proving>,
    /// Writable directory on the server's disk, so that the experiment can slow the disk, too
    #[arg(long, value_name = "DIR", help_heading = "Search")]
    prove_dir: Option<std::path::PathBuf>,
}

/// Kinds of experiments that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Proving {
    /// No experiment
    Off,
    /// Levers that change nothing of the server
    Default,
    /// Also change the server: its CPU quota, one of its workers
    Intrusive,
}

impl From<Proving> for run::Prove {
    fn from(proving: Proving) -> Self {
        match proving {
            Proving::Off => Self::Off,
            Proving::Default => Self::Default,
            Proving::Intrusive => Self::Intrusive,
        }
    }
}

/// Runs the search, reports the result and stores it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let plan = plan(args)?;
    output::catch_interrupts();
    let kept = args.target.out.prepare(&plan)?;
    let budget_s = plan.search.budget_s * f64::from(plan.repeat_count());
    let screen = Screen::seen(&args.target.out, &args.see, budget_s, &screen::title(&plan))?;
    let mut screen = screen.searching(plan.objective.p99_us);
    let result = lab::find(plan, kept.as_ref().map(Kept::dir), &mut screen);
    let used = screen.done();
    finish::ended(result, &Ends::of(&args.target.out, kept, used).seen(&args.see))
}

fn plan(args: &Args) -> anyhow::Result<Plan> {
    let mut plan = args.target.plan("find")?;
    mix::in_time(&mut plan, None)?;
    mix::enough_rows(&plan)?;
    args.load.apply(&mut plan)?;
    args.objective.apply(&mut plan);
    args.repeat.apply(&mut plan);
    args.observe.apply(&mut plan)?;
    args.hosts.apply(&mut plan)?;
    plan.search.precision = args.precision.unwrap_or(plan.search.precision);
    plan.search.budget_s = args.budget.unwrap_or(plan.search.budget_s);
    plan.search.max_connections = args.connections.unwrap_or(plan.search.max_connections);
    plan.search.reach_max |=
        args.connections.is_some() || plan.search.max_connections != SearchPlan::default().max_connections;
    if let Some(users) = args.users {
        (plan.search.users, plan.search.max_connections, plan.search.reach_max) = (true, users, false);
    }
    plan.search.prove = args.prove.map_or(plan.search.prove, Into::into);
    plan.search.prove_dir = args.prove_dir.clone().or(plan.search.prove_dir);
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Command;
    use crate::parsed;

    #[test]
    fn a_number_of_connections_of_the_user_must_be_tried() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plan.toml");
        std::fs::write(&file, "[search]\nmax_connections = 48\n").unwrap();
        let search = |flags: &[&str]| {
            let words = [&["find", "http://127.0.0.1:1/"][..], flags].concat();
            let Command::Find(args) = parsed(&words) else { panic!("not `find`") };
            let search = plan(&args).unwrap().search;
            (search.max_connections, search.reach_max)
        };
        assert_eq!((search(&[]), search(&["--connections", "64"])), ((1024, false), (64, true)));
        assert_eq!(search(&["--connections", "1024"]), (1024, true));
        assert_eq!(search(&["--config", file.to_str().unwrap()]), (48, true));
        assert_eq!(search(&["--users", "64", "--think", "1s"]), (64, false), "users have steps of their own");
    }

    #[test]
    fn the_plan_file_can_switch_the_experiment_off() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plan.toml");
        let text = "[target]\nurl = 'http://127.0.0.1:1/'\n[search]\nprove = 'off'\nprove_dir = '/d'\n";
        std::fs::write(&file, text).unwrap();
        let search = |flags: &[&str]| {
            let words = [&["find", "--config", file.to_str().unwrap()][..], flags].concat();
            let Command::Find(args) = parsed(&words) else { panic!("not `find`") };
            plan(&args).unwrap().search
        };
        assert_eq!((search(&[]).prove, search(&[]).prove_dir), (run::Prove::Off, Some("/d".into())));
        let given = search(&["--prove", "intrusive", "--prove-dir", "/e"]);
        assert_eq!((given.prove, given.prove_dir), (run::Prove::Intrusive, Some("/e".into())));
    }
}
