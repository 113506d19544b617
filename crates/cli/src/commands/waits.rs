//! `loadline waits`: samples the threads of a server and shows the causes of their waits.

use std::net::SocketAddr;

use run::{Address, DatabaseProfile, HotFunction, Plan, Run, WaitFinding, WaitProfile, WaitingFunction};

use super::watch::listener;
use crate::args::{BehindArgs, ServerHostArgs, units};
use crate::{Exit, output};

/// Default duration of the sampling, seconds.
const DEFAULT_S: f64 = 10.0;

/// Arguments of `waits`.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("server").args(["pid", "server_pid", "port"]).required(true))]
pub(crate) struct Args {
    /// Process of the server, with its children
    #[arg(value_name = "PID")]
    pid: Option<u32>,
    /// Same as PID
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,
    /// Port of the server, or address with a port
    #[arg(long, value_name = "PORT", value_parser = listener)]
    port: Option<SocketAddr>,
    /// Time to sample [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = units::seconds)]
    duration: Option<f64>,
    /// Sample no stacks: names of functions and locks are then unknown
    #[arg(long)]
    no_stacks: bool,
    /// Write the stacks to FILE, for flame graph tools
    #[arg(long, value_name = "FILE", conflicts_with = "no_stacks")]
    folded: Option<std::path::PathBuf>,
    /// Write the flame graphs to FILE, as a picture
    #[arg(long, value_name = "FILE", conflicts_with = "no_stacks")]
    svg: Option<std::path::PathBuf>,
    /// Print the findings and the profile as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    behind: BehindArgs,
    #[command(flatten)]
    host: ServerHostArgs,
}

/// Result that `--json` prints.
#[derive(serde::Serialize)]
struct Answer<'a> {
    waits: &'a [WaitFinding],
    hot: &'a [HotFunction],
    waiting: &'a [WaitingFunction],
    profile: &'a WaitProfile,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    databases: &'a [DatabaseProfile],
}

/// Samples the server's threads and prints the findings.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut plan = Plan { command: "waits".into(), ..Plan::default() };
    plan.target.server_pid = args.pid.or(args.server_pid);
    plan.target.url = args.port.map(|at| format!("tcp://{at}")).unwrap_or_default();
    plan.load.duration_s = args.duration.unwrap_or(DEFAULT_S);
    plan.observe.waits = true;
    plan.observe.no_stacks = args.no_stacks;
    args.behind.apply(&mut plan)?;
    args.host.apply(&mut plan)?;
    plan.check()?;
    output::catch_interrupts();
    let run = lab::watch_server(plan, args.port.map(Address::Inet), None, &mut Interrupt)?;
    for (form, path) in [("folded", &args.folded), ("svg", &args.svg)] {
        if let Some(path) = path {
            let text = report::render(form, &run, &output::style())?;
            output::save_or_print(Some(path), &text)?;
        }
    }
    print(&run, args.json)
}

fn print(run: &Run, json: bool) -> anyhow::Result<Exit> {
    let server = run.trials.last().and_then(|trial| trial.server.as_ref());
    let profile = server.and_then(|side| side.waits.as_deref());
    let databases = run.trials.last().map(|trial| trial.databases.as_slice()).unwrap_or_default();
    let Some(profile) = profile.filter(|profile| profile.samples > 0) else {
        let why = profile.and_then(|profile| profile.missing.first().cloned());
        anyhow::bail!(why.unwrap_or_else(|| {
            let duration_s = run.plan.load.duration_s;
            format!(
                "no thread was read within {duration_s} s: the process ended, or reading the names in its program took \
                 as long (give a longer --duration)"
            )
        }));
    };
    let run::Findings { waits, hot, waiting, .. } = &run.findings;
    match json {
        true => {
            output::print(&(serde_json::to_string_pretty(&Answer { waits, hot, waiting, profile, databases })? + "\n"))?
        }
        false => {
            let headline = judge::headline(profile, waits);
            output::print(&report::render_waits(run, &headline, &output::style()))?;
        }
    }
    Ok(if run.interrupted { Exit::Interrupted } else { Exit::Done })
}

/// Ends the sampling when the user presses Ctrl-C.
struct Interrupt;

impl lab::Watch for Interrupt {
    fn stop(&self) -> bool {
        sys::interrupt::seen() > 0
    }
}
