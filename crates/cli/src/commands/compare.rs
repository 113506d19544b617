//! `loadline compare`: old runs against new ones, or two live servers in turns.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use judge::Pairing;
use run::{Comparison, Intensity, Plan, Run, UrlParts};

use crate::args::mix::{self, MixArgs};
use crate::args::{TlsArgs, protocol_of, read_variables, units};
use crate::own_server::OwnServer;
use crate::{Exit, output};

/// Where named baselines are kept.
const BASELINES: &str = "loadline-runs/baselines";
/// Connections of the closed loop that two live servers are compared under.
const CONNECTIONS: u32 = 16;

/// Arguments.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Two runs (directories or their run.json), old before new; or the addresses of two live servers
    #[arg(value_name = "OLD NEW", num_args = 0..=2)]
    both: Vec<String>,
    /// Old runs, where there are several: repeats
    #[arg(long, value_name = "RUN", num_args = 1..)]
    old: Vec<PathBuf>,
    /// New runs
    #[arg(long, value_name = "RUN", num_args = 1..)]
    new: Vec<PathBuf>,
    /// The old run is the one kept under this name, or in this directory; the first run under a name is kept as it
    #[arg(long, value_name = "NAME", conflicts_with = "old")]
    baseline: Option<String>,
    /// A change below this is none to act on; one above it for the worse ends with status 1
    #[arg(long, value_name = "SHARE", value_parser = units::share, default_value = "3%")]
    threshold: f64,
    /// Two live servers: time for all windows
    #[arg(long, value_name = "TIME", value_parser = units::seconds, default_value = "60s")]
    budget: f64,
    /// Two live servers: connections of the closed loop, each waits for its answer [default: 16]
    #[arg(long, value_name = "N")]
    connections: Option<u32>,
    /// Two live servers: seed of the order of their windows, and of every other random choice
    #[arg(long, value_name = "N", default_value_t = run::LoadPlan::default().seed)]
    seed: u64,
    /// Two live servers: a shell command that starts the first one, which is ended with the comparison
    #[arg(long, value_name = "COMMAND")]
    command_a: Option<String>,
    /// Two live servers: the same for the second
    #[arg(long, value_name = "COMMAND")]
    command_b: Option<String>,
    /// Two live servers: loading targets outside this machine and private networks is allowed
    #[arg(long)]
    authorized: bool,
    #[command(flatten)]
    mix: MixArgs,
    #[command(flatten)]
    tls: TlsArgs,
    /// text, markdown, html or json
    #[arg(long, value_name = "FORM", default_value = "text")]
    form: String,
    /// The same as --form json
    #[arg(long)]
    json: bool,
}

/// Compares, prints, and says by the exit status whether the new one is worse.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let of_requests = args.mix.given() || args.tls.any();
    let live = args.both.iter().filter(|one| UrlParts::of(one).scheme.is_some()).count();
    ensure!(live > 0 || !of_requests, "requests and TLS are for two live servers");
    if live != 2 && (args.command_a.is_some() || args.command_b.is_some()) {
        bail!("--command-a and --command-b start the servers of two addresses: give both as http://HOST:PORT/");
    }
    let comparison = match live {
        0 => of_runs(args)?,
        2 => live_servers(args)?,
        _ => bail!("one of {:?} is an address and the other is not: give two runs, or two addresses", args.both),
    };
    let Some(comparison) = comparison else { return Ok(Exit::Done) };
    let form = if args.json { "json" } else { &args.form };
    output::print(&report::render_comparison(form, &comparison, &output::style())?)?;
    Ok(if comparison.regression { Exit::Failed } else { Exit::Done })
}

fn of_runs(args: &Args) -> anyhow::Result<Option<Comparison>> {
    let path = |at: usize| args.both.get(at).map(PathBuf::from);
    let (old, new) = match (&args.baseline, args.both.len()) {
        (Some(name), _) => {
            let new: Vec<PathBuf> = args.new.iter().cloned().chain(path(0)).collect();
            ensure!(
                args.both.len() <= 1 && !new.is_empty(),
                "with --baseline give the new run: compare RUN --baseline NAME"
            );
            let Some(old) = baseline(name, &new[0])? else { return Ok(None) };
            (vec![old], new)
        }
        (None, 2) => (path(0).into_iter().collect(), path(1).into_iter().collect()),
        (None, 0) => (args.old.clone(), args.new.clone()),
        (None, _) => bail!("give two runs, old before new, or --old RUN… --new RUN…"),
    };
    ensure!(!old.is_empty() && !new.is_empty(), "give two runs, old before new, or --old RUN… --new RUN…");
    let (a, b) = (read(&old)?, read(&new)?);
    judged((&names(&old), &a), (&names(&new), &b), args.threshold, Pairing::Kept).map(Some)
}

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<Run>> {
    let one = |path: &PathBuf| {
        let mut run = run::load_run(path)?;
        judge::judge(&mut run);
        Ok(run)
    };
    paths.iter().map(one).collect()
}

fn judged(old: (&str, &[Run]), new: (&str, &[Run]), threshold: f64, pairing: Pairing) -> anyhow::Result<Comparison> {
    judge::compare(old, new, threshold, pairing).map_err(anyhow::Error::msg)
}

/// Where a baseline is; a name that none is kept under takes the new run.
fn baseline(name: &str, new: &Path) -> anyhow::Result<Option<PathBuf>> {
    if Path::new(name).join("run.json").is_file() {
        return Ok(Some(name.into()));
    }
    let plain = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && !name.starts_with('.');
    ensure!(plain, "{name:?} is neither the directory of a run nor a name of letters, digits, '-', '_' and '.'");
    let place = Path::new(BASELINES).join(name);
    if place.join("run.json").is_file() {
        return Ok(Some(place));
    }
    let run = run::load_run(new)?;
    run::RunDir::create(&place)?.save(&run).with_context(|| format!("keeping the baseline {name}"))?;
    output::print(&format!("{} is now the baseline {name} ({})\n", new.display(), place.display()))?;
    Ok(None)
}

fn live_servers(args: &Args) -> anyhow::Result<Option<Comparison>> {
    output::catch_interrupts();
    let plans = [plan(args, 0)?, plan(args, 1)?];
    let speaks = plans.each_ref().map(|plan| plan.load.protocol.name());
    judge::same_protocol((&args.both[0], &speaks[..1]), (&args.both[1], &speaks[1..])).map_err(anyhow::Error::msg)?;
    let _servers = own_servers(args, &plans)?;
    let lab::InTurns { runs, turns } = lab::in_turns(plans, args.budget, &Interrupts)?;
    let comparison =
        judged((&args.both[0], &runs[..1]), (&args.both[1], &runs[1..]), args.threshold, Pairing::InTurns)?;
    Ok(Some(Comparison { turns: Some(turns), ..comparison }))
}

/// The servers that are started here. They are ended when this is dropped.
fn own_servers(args: &Args, plans: &[Plan; 2]) -> anyhow::Result<Vec<OwnServer>> {
    let at = |plan: &Plan| lab::resolve(&plan.target.url, &plan.load.protocol).map(|resolved| resolved.addr);
    let commands = [&args.command_a, &args.command_b];
    if commands.iter().all(|command| command.is_some()) {
        ensure!(
            at(&plans[0])? != at(&plans[1])?,
            "both servers are at {}: give each a port of its own",
            at(&plans[0])?
        );
    }
    let started = commands.into_iter().zip(plans).filter_map(|(command, plan)| Some((command.as_ref()?, plan)));
    started.map(|(command, plan)| OwnServer::start(command, &at(plan)?)).collect()
}

/// Ctrl-C ends the windows; what was measured is compared.
struct Interrupts;

impl lab::Watch for Interrupts {
    fn stop(&self) -> bool {
        sys::interrupt::seen() > 0
    }
}

fn plan(args: &Args, at: usize) -> anyhow::Result<Plan> {
    let mut plan = Plan { command: "compare".into(), ..Plan::default() };
    plan.target.url = args.both[at].clone();
    plan.target.authorized = args.authorized;
    plan.load.seed = args.seed;
    args.mix.apply(&mut plan)?;
    plan.load.protocol = protocol_of(&plan.target.url, &run::Protocol::default());
    if let Intensity::Closed { connections, .. } = &mut plan.load.intensity {
        *connections = args.connections.unwrap_or(CONNECTIONS);
    }
    args.tls.apply_to_either(&mut plan, &args.both)?;
    mix::check(&plan, &[])?;
    read_variables(&mut plan.load)?;
    plan.seal(&[]);
    plan.check()?;
    Ok(plan)
}
