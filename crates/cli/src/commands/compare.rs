//! `loadline compare`: compares old runs with new runs, or two live servers.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use judge::Pairing;
use lab::{CommandServer, LabError, ServerCommand};
use run::{Address, Comparison, ComparisonOutcome, Intensity, Plan, Run, UrlParts};

use crate::args::mix::{self, MixArgs};
use crate::args::{FormArgs, HostArgs, SetFlagArgs, TlsArgs, read_variables, set_protocol, units};
use crate::{Exit, output, same_target};

/// Directory with one subdirectory for each named baseline (a run to compare with).
const BASELINES: &str = "loadline-runs/baselines";
/// Default total time for measuring two live servers, seconds.
const BUDGET_S: f64 = 60.0;
/// Default number of connections of the closed loop for two live servers.
const CONNECTIONS: u32 = 16;

/// Arguments of `compare`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Old run (a directory or its run.json), or the address of a live server
    #[arg(value_name = "OLD")]
    first: Option<String>,
    /// New run, or the address of the new live server
    #[arg(value_name = "NEW")]
    second: Option<String>,
    /// Old runs, if there are several (repeats)
    #[arg(long, value_name = "RUN", num_args = 1..)]
    old: Vec<PathBuf>,
    /// New runs
    #[arg(long, value_name = "RUN", num_args = 1..)]
    new: Vec<PathBuf>,
    /// Use the run kept under this name, or in this directory, as the old one; the first run under a name becomes the
    /// baseline
    #[arg(long, value_name = "NAME", conflicts_with = "old")]
    baseline: Option<String>,
    /// Replace the baseline of this name by the new run, without comparing
    #[arg(long, requires = "baseline")]
    replace: bool,
    /// Ignore changes below this share; a larger change for the worse exits with status 1
    #[arg(long, value_name = "SHARE", value_parser = units::share, default_value = "3%")]
    threshold: f64,
    /// If the data decides neither way: exit with status 0 (pass) or 1 (fail) [default: status 3]
    #[arg(long, value_name = "pass|fail")]
    undecided: Option<IfUndecided>,
    /// Two live servers: most time for all windows; a known result ends them earlier [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = units::seconds)]
    budget: Option<f64>,
    /// Two live servers: use the whole budget, also if the result is known earlier; with 40 s or more, this includes
    /// their capacities
    #[arg(long)]
    whole_budget: bool,
    /// Two live servers: run both at once, on CPUs that they swap after each window; auto does so if both servers and
    /// both generators have CPUs of their own [default: auto]
    #[arg(long, value_name = "WHEN")]
    duet: Option<Duet>,
    /// Two live servers: connections of the closed loop, each waits for its answer [default: 16]
    #[arg(long, value_name = "N")]
    connections: Option<u32>,
    /// Two live servers: seed of the order of their windows and of all random choices [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Two live servers: shell command that starts the first one; it ends with the comparison
    #[arg(long, value_name = "COMMAND")]
    command_a: Option<String>,
    /// Two live servers: shell command that starts the second one
    #[arg(long, value_name = "COMMAND")]
    command_b: Option<String>,
    /// Two live servers: confirm that you may load targets outside this machine and private networks
    #[arg(long)]
    authorized: bool,
    #[command(flatten)]
    mix: MixArgs,
    #[command(flatten)]
    flags: SetFlagArgs,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    hosts: HostArgs,
    /// Host of the second live server, if it is not the first's host
    #[arg(long, value_name = "HOST", help_heading = "Other hosts", requires = "server_host")]
    server_host_b: Option<String>,
    #[command(flatten)]
    form: FormArgs,
    /// Print all figures, not only those that decide
    #[arg(long, short)]
    verbose: bool,
}

impl Args {
    /// Returns the positional arguments, at most two: runs, or addresses of servers.
    fn both(&self) -> Vec<String> {
        self.first.iter().chain(&self.second).cloned().collect()
    }
}

/// Compares two runs or two live servers, and prints the result. The exit status shows whether the new run or server is
/// worse than the old run or server.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let form = args.form.name();
    // Reports a wrong output form before the measurements.
    report::render_comparison(form, &Comparison::default(), &output::plain())?;
    let of_requests = args.mix.given() || args.flags.any() || args.tls.any();
    let live = args.both().iter().filter(|one| UrlParts::parse(one).scheme.is_some()).count();
    ensure!(live > 0 || !of_requests, "flags of requests and TLS need two live servers");
    if live != 2 && (args.command_a.is_some() || args.command_b.is_some()) {
        bail!("--command-a and --command-b need two addresses: give both as http://HOST:PORT/");
    }
    let comparison = match live {
        0 => {
            only_of_servers(args)?;
            of_runs(args)?.map(|comparison| (comparison, false))
        }
        2 => {
            only_of_runs(args)?;
            let (comparison, interrupted) = live_servers(args)?;
            let Some(comparison) = comparison else {
                output::print("Interrupted before both servers had a window: there is nothing to compare.\n")?;
                return Ok(Exit::Interrupted);
            };
            Some((comparison, interrupted))
        }
        _ => match &args.both()[..] {
            [one] => bail!("{one} is only one address: give a second address, or two runs"),
            _ => bail!("only one of {} is an address: give two runs, or two addresses", args.both().join(" and ")),
        },
    };
    let Some((comparison, interrupted)) = comparison else { return Ok(Exit::Done) };
    let text = match form {
        "text" if !args.verbose => report::brief_comparison(&comparison, &output::style()),
        form => report::render_comparison(form, &comparison, &output::style())?,
    };
    output::print(&text)?;
    Ok(status(&comparison, interrupted, args.undecided))
}

/// Choice between measuring the two servers at the same time (a duet), and measuring them in turn.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Duet {
    Auto,
    Always,
    Never,
}

impl From<Duet> for lab::DuetMode {
    fn from(duet: Duet) -> Self {
        match duet {
            Duet::Auto => Self::Auto,
            Duet::Always => Self::Always,
            Duet::Never => Self::Never,
        }
    }
}

/// Exit status that the user chose for an undecided comparison.
#[derive(Clone, Copy, clap::ValueEnum)]
enum IfUndecided {
    Pass,
    Fail,
}

/// Returns the exit status of a comparison. If the new server died, the exit status is a failure. If the new server is
/// still alive, the exit status of an interrupted comparison reports the interruption, whatever the comparison found.
fn status(comparison: &Comparison, interrupted: bool, if_undecided: Option<IfUndecided>) -> Exit {
    match (comparison.outcome, if_undecided) {
        _ if comparison.deaths.iter().any(|death| death.new) => Exit::Failed,
        _ if interrupted => Exit::Interrupted,
        (ComparisonOutcome::Regressed, _) | (ComparisonOutcome::Undecided, Some(IfUndecided::Fail)) => Exit::Failed,
        (ComparisonOutcome::Passed, _) | (ComparisonOutcome::Undecided, Some(IfUndecided::Pass)) => Exit::Done,
        (ComparisonOutcome::Undecided, None) => Exit::Undecided,
    }
}

/// Refuses flags about the load in a comparison of stored runs, because their loads are over.
fn only_of_servers(args: &Args) -> anyhow::Result<()> {
    let given = [
        ("--budget", args.budget.is_some()),
        ("--whole-budget", args.whole_budget),
        ("--duet", args.duet.is_some()),
        ("--connections", args.connections.is_some()),
        ("--seed", args.seed.is_some()),
        ("--authorized", args.authorized),
        ("--client-hosts, --server-host or --via", args.hosts.given()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => bail!("{flag} needs two live servers, but these are saved runs: leave it out"),
        None => Ok(()),
    }
}

/// Refuses flags that name stored runs in a comparison of two live servers.
fn only_of_runs(args: &Args) -> anyhow::Result<()> {
    let given = [
        ("--baseline", args.baseline.is_some()),
        ("--replace", args.replace),
        ("--old", !args.old.is_empty()),
        ("--new", !args.new.is_empty()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => bail!(
            "{flag} names runs that were kept, and {} and {} are live servers: leave it out, or measure them with `loadline load \
             --out DIR` first",
            args.both()[0],
            args.both()[1]
        ),
        None => Ok(()),
    }
}

fn of_runs(args: &Args) -> anyhow::Result<Option<Comparison>> {
    if args.baseline.is_none() && !args.both().is_empty() && !(args.old.is_empty() && args.new.is_empty()) {
        bail!(
            "{} and --old or --new: name each run once, as OLD NEW or by --old RUN… --new RUN…",
            args.both().join(" ")
        );
    }
    let path = |at: usize| args.both().get(at).map(PathBuf::from);
    let (old, new) = match (&args.baseline, args.both().len()) {
        (Some(name), _) => {
            let new: Vec<PathBuf> = args.new.iter().cloned().chain(path(0)).collect();
            ensure!(
                args.both().len() <= 1 && !new.is_empty(),
                "--baseline needs the new run: compare RUN --baseline NAME"
            );
            let Some(old) = baseline(name, &new, args.replace)? else { return Ok(None) };
            (vec![old], new)
        }
        (None, 2) => (path(0).into_iter().collect(), path(1).into_iter().collect()),
        (None, 0) => (args.old.clone(), args.new.clone()),
        (None, _) => bail!("give two runs, old before new, or --old RUN… --new RUN…"),
    };
    ensure!(!old.is_empty() && !new.is_empty(), "give two runs, old before new, or --old RUN… --new RUN…");
    once("--old", &old)?;
    once("--new", &new)?;
    let (a, b) = (read(&old)?, read(&new)?);
    let mut comparison = judged((&names(&old), &a), (&names(&new), &b), args.threshold, (Pairing::Kept, &[1.0]))?;
    if let Some(twice) = old.iter().find(|old| new.iter().any(|new| place(new) == place(old))) {
        comparison
            .notes
            .insert(0, format!("{} is on both sides: a run shows no difference from itself", twice.display()));
    }
    Ok(Some(comparison))
}

/// Returns the absolute path of a run's `run.json`, without symbolic links. Two paths of one run give equal results.
fn place(path: &Path) -> PathBuf {
    let file = if path.is_dir() { path.join("run.json") } else { path.to_path_buf() };
    file.canonicalize().unwrap_or(file)
}

/// Refuses a run that the user named twice. If the same run counted as two repeats, the interval would be too narrow.
fn once(side: &str, paths: &[PathBuf]) -> anyhow::Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    match paths.iter().find(|path| !seen.insert(place(path))) {
        Some(twice) => bail!("{side} names {} twice: name each run once", twice.display()),
        None => Ok(()),
    }
}

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<Run>> {
    let one = |path: &PathBuf| {
        let mut run = crate::run_folder::load_run(path)?;
        judge::judge(&mut run);
        experiments::present(&mut run);
        Ok(run)
    };
    paths.iter().map(one).collect()
}

fn judged(
    old: (&str, &[Run]),
    new: (&str, &[Run]),
    threshold: f64,
    looks: (Pairing, &[f64]),
) -> anyhow::Result<Comparison> {
    judge::compare_at(old, new, threshold, looks).map_err(anyhow::Error::msg)
}

/// Returns the baseline to compare with. Returns `None` if the new run becomes the baseline. The new run becomes the
/// baseline if no baseline is called `name`, or if `replace` is set.
fn baseline(name: &str, new: &[PathBuf], replace: bool) -> anyhow::Result<Option<PathBuf>> {
    let path = Path::new(name);
    let is_path = path.components().count() > 1 || path.join("run.json").is_file();
    let plain = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && !name.starts_with('.');
    ensure!(
        is_path || plain,
        "{name:?} is neither the directory of a run nor a name of letters, digits, '-', '_' and '.'"
    );
    let place = if is_path { path.to_owned() } else { Path::new(BASELINES).join(name) };
    let kept = place.join("run.json").is_file();
    if kept && !replace {
        return Ok(Some(place));
    }
    ensure!(!is_path || !kept, "--replace needs the name of a baseline, but {name} is the directory of a run");
    let [new] = new else { bail!("{} new runs, but only one can be the baseline {name}: name that one", new.len()) };
    let run = crate::run_folder::load_run(new)?;
    run::RunDir::create(&place)?.save(&run).with_context(|| format!("keeping the baseline {name}"))?;
    output::print(&format!("{} is now the baseline {name} ({})\n", new.display(), place.display()))?;
    Ok(None)
}

/// Compares two live servers. Returns the comparison, and true if the user interrupted it.
fn live_servers(args: &Args) -> anyhow::Result<(Option<Comparison>, bool)> {
    output::catch_interrupts();
    let mut lines = Vec::new();
    let plans = [plan(args, 0, &mut lines)?, plan(args, 1, &mut lines)?];
    mix::tell(&lines);
    let speaks = plans.each_ref().map(|plan| plan.load.protocol.name());
    judge::same_protocol((&args.both()[0], &speaks[..1]), (&args.both()[1], &speaks[1..]))
        .map_err(anyhow::Error::msg)?;
    let started = own_servers(args, &plans);
    let Some(servers) = unless_interrupted(started, sys::interrupt::seen() > 0)? else { return Ok((None, true)) };
    let at = plans.each_ref().map(|plan| address(plan).ok());
    let same = same_target::warning([&args.both()[0], &args.both()[1]], at);
    let (budget_s, threshold, whole_budget) = (args.budget.unwrap_or(BUDGET_S), args.threshold, args.whole_budget);
    let duet = args.duet.map(Into::into).unwrap_or_default();
    let settings = lab::InTurnsPlan { budget_s, threshold, whole_budget, duet };
    let lab::InTurns { runs, turns, notes, pairing, looks, ended_after_s, interrupted } =
        lab::in_turns(plans, settings, &Interrupts)?;
    let both = args.both();
    let [old, new] = [&both[0], &both[1]];
    let judged = judged((old, &runs[..1]), (new, &runs[1..]), threshold, (pairing, &looks));
    let comparison = match judged {
        Err(_) if interrupted => None,
        judged => Some(judged?),
    };
    let with_turns = |c: Comparison| {
        let decided = !interrupted && c.outcome != ComparisonOutcome::Undecided;
        let decided_after_s = decided.then_some(ended_after_s);
        let notes = same.into_iter().chain(notes).chain(c.notes).collect();
        let c = Comparison { turns: Some(turns), notes, decided_after_s, ..c };
        with_last_words(c, &servers)
    };
    Ok((comparison.map(with_turns), interrupted))
}

/// If loadline itself started a server that died, adds the exit status and the last output of the server's command to
/// the description of the death.
fn with_last_words(mut comparison: Comparison, servers: &[Option<CommandServer>; 2]) -> Comparison {
    for death in &mut comparison.deaths {
        let ended = servers[usize::from(death.new)].as_ref().and_then(CommandServer::ended);
        death.text.extend(ended.map(|ended| format!("; its command ended ({ended})")));
    }
    comparison
}

/// Starts the servers for which the user gave commands. The servers end when the returned value is dropped.
fn own_servers(args: &Args, plans: &[Plan; 2]) -> anyhow::Result<[Option<CommandServer>; 2]> {
    let commands = [&args.command_a, &args.command_b];
    if commands.iter().all(|command| command.is_some()) {
        let [a, b] = [address(&plans[0])?, address(&plans[1])?];
        ensure!(a != b, "both servers are at {a}: give each its own port");
    }
    let stop = || sys::interrupt::seen() > 0;
    let start = |side: usize| -> anyhow::Result<Option<CommandServer>> {
        let Some(command) = commands[side] else { return Ok(None) };
        Ok(Some(CommandServer::start(&ServerCommand::new(command), &address(&plans[side])?, &stop)?))
    };
    Ok([start(0)?, start(1)?])
}

/// Returns the started servers, or `None` if the user interrupted their start. An error of an interrupted start is only
/// an effect of the interrupt, so it is left out.
fn unless_interrupted<T>(started: anyhow::Result<T>, interrupted: bool) -> anyhow::Result<Option<T>> {
    match started {
        Err(_) if interrupted => Ok(None),
        started => started.map(Some),
    }
}

/// Returns the address at which a plan's server answers.
fn address(plan: &Plan) -> Result<Address, LabError> {
    lab::resolve(&plan.target.url, &plan.load.protocol).map(|resolved| resolved.addr)
}

/// Handles Ctrl-C: the measurement ends, and loadline compares the windows that are finished by then.
struct Interrupts;

impl lab::Watch for Interrupts {
    fn stop(&self) -> bool {
        sys::interrupt::seen() > 0
    }
}

/// Returns the plan for server `at` (0: old, 1: new), and adds messages about the server's requests to `lines`.
fn plan(args: &Args, at: usize, lines: &mut Vec<String>) -> anyhow::Result<Plan> {
    let mut plan = Plan { command: "compare".into(), ..Plan::default() };
    plan.target.url = args.both()[at].clone();
    plan.target.authorized = args.authorized;
    plan.load.seed = args.seed.unwrap_or(plan.load.seed);
    lines.extend(args.mix.apply(&mut plan)?);
    set_protocol(&mut plan)?;
    args.flags.apply(&mut plan.load)?;
    if let Intensity::Closed { connections, .. } = &mut plan.load.intensity {
        *connections = args.connections.unwrap_or(CONNECTIONS);
    }
    args.tls.apply_to_either(&mut plan, &args.both())?;
    args.hosts.with_server_host(args.server_host_b.as_ref().filter(|_| at == 1)).apply(&mut plan)?;
    mix::check(&plan, &[])?;
    read_variables(&mut plan.load)?;
    plan.redact_secrets(&[]);
    plan.check()?;
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_start_of_a_server_is_no_error() {
        let failed = || Err::<u8, _>(anyhow::anyhow!("\"sleep 30\" was interrupted while it started"));
        assert!(unless_interrupted(failed(), true).is_ok_and(|servers| servers.is_none()));
        assert!(unless_interrupted(failed(), false).is_err());
        assert!(unless_interrupted(Ok(7), true).is_ok_and(|servers| servers == Some(7)));
    }

    #[test]
    fn a_wrong_form_and_two_forms_are_refused_before_any_measurement() {
        let parsed = |flags: &[&str]| {
            let words = [&["loadline", "compare", "http://127.0.0.1:1/", "http://127.0.0.1:2/"][..], flags].concat();
            crate::parse(words.into_iter().map(Into::into))
        };
        assert!(parsed(&["--form", "html", "--json"]).is_err() && parsed(&["--json"]).is_ok());
        let Ok(crate::Cli { command: crate::commands::Command::Compare(args) }) = parsed(&["--form", "csv"]) else {
            panic!("not `compare`")
        };
        assert!(run(&args).unwrap_err().to_string().contains("no report form"));
    }
}
