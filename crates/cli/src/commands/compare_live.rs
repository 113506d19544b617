//! Comparison of two live servers: its flags, its load plans, its servers and its runs.

use std::path::PathBuf;

use anyhow::ensure;
use lab::{CommandServer, LabError, ServerCommand};
use run::{Address, Comparison, ComparisonOutcome, Intensity, Plan, Run};

use crate::args::mix::{self, MixArgs};
use crate::args::{HostArgs, RequestArgs, SecretHeaderArgs, StreamArgs, TlsArgs, apply_deadline, set_protocol, units};
use crate::kept_pair::KeptPair;
use crate::screen::Screen;
use crate::{finish, output, same_target};

/// Default total time for measuring two live servers, seconds.
const BUDGET_S: f64 = 60.0;
/// Default number of connections of the closed loop for two live servers.
const CONNECTIONS: u32 = 16;

/// Flags of a comparison of two live servers.
#[derive(clap::Args)]
pub(crate) struct LiveArgs {
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
    /// Two live servers: a response that takes longer is an error
    #[arg(long, value_name = "TIME", value_parser = units::seconds)]
    timeout: Option<f64>,
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
    /// Folder for the page of the comparison, DIR/compare.html, and for the runs of two live servers, DIR/old and
    /// DIR/new; an earlier run there moves to DIR/old-TIME or DIR/new-TIME [default: loadline-runs/TIME; with --json or
    /// --form, only --out writes files]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Overwrite earlier runs in DIR
    #[arg(long, requires = "out")]
    force: bool,
    #[command(flatten)]
    mix: MixArgs,
    #[command(flatten)]
    request: RequestArgs,
    #[command(flatten)]
    secret_header: SecretHeaderArgs,
    #[command(flatten)]
    stream: StreamArgs,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    hosts: HostArgs,
    /// Host of the second live server, if it is not the first's host
    #[arg(long, value_name = "HOST", help_heading = "Other hosts", requires = "server_host")]
    server_host_b: Option<String>,
}

/// When to measure the two servers at the same time (a duet) instead of one after the other.
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

/// Result of a comparison of two live servers.
pub(crate) struct Measured {
    /// Result of the comparison; `None` if the user interrupted it before both servers were measured.
    pub(crate) comparison: Option<Comparison>,
    /// True if the user interrupted the comparison.
    pub(crate) interrupted: bool,
    /// Runs of the two servers; `None` if the user interrupted the start of the servers.
    runs: Option<[Run; 2]>,
    /// Directories of the runs; `None` if the runs are not kept.
    kept: Option<KeptPair>,
}

impl Measured {
    /// Writes both runs with their reports, and the page of the comparison. Returns lines for the user, which name the
    /// files; empty if there are none.
    pub(crate) fn keep(&self) -> anyhow::Result<String> {
        let (Some(kept), Some(runs)) = (&self.kept, &self.runs) else { return Ok(String::new()) };
        let Some(comparison) = &self.comparison else {
            return Ok(kept.cut_short().map_or(String::new(), |place| format!("measurements until then: {place}\n")));
        };
        let written = runs.iter().zip(kept.dirs()).try_for_each(|(run, dir)| finish::write(run, dir));
        // Sets the link to the latest run even if a report cannot be written.
        written.inspect_err(|_| drop(kept.cut_short()))?;
        kept.settle(comparison)
    }
}

impl LiveArgs {
    /// Returns the first given flag that does not apply to saved runs; `None` if there is no such flag.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--budget", self.budget.is_some()),
            ("--whole-budget", self.whole_budget),
            ("--duet", self.duet.is_some()),
            ("--connections", self.connections.is_some()),
            ("--timeout", self.timeout.is_some()),
            ("--seed", self.seed.is_some()),
            ("--authorized", self.authorized),
            ("--client-hosts, --server-host or --via", self.hosts.given()),
        ];
        given.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
    }

    /// Returns true if a flag describes requests or TLS.
    pub(crate) fn describes_requests(&self) -> bool {
        let one = self.request.any() || self.stream.any() || !self.secret_header.names.is_empty();
        self.mix.given() || one || self.tls.any()
    }

    /// Returns true if loadline starts a server.
    pub(crate) fn starts_servers(&self) -> bool {
        self.command_a.is_some() || self.command_b.is_some()
    }

    /// Measures and compares the servers at two URLs. `is_json` is true if only JSON is printed. The runs are then kept
    /// only with `--out`.
    pub(crate) fn measure(&self, urls: [&str; 2], threshold: f64, is_json: bool) -> anyhow::Result<Measured> {
        output::catch_interrupts();
        let mut lines = Vec::new();
        let plans = [self.plan(urls, 0, &mut lines)?, self.plan(urls, 1, &mut lines)?];
        mix::tell(&lines);
        let speaks = plans.each_ref().map(|plan| plan.load.protocol.name());
        judge::same_protocol((urls[0], &speaks[..1]), (urls[1], &speaks[1..])).map_err(anyhow::Error::msg)?;
        let kept = KeptPair::prepare(self.out.as_deref(), self.force, is_json)?;
        let started = self.own_servers(&plans);
        let Some(servers) = unless_interrupted(started, sys::interrupt::seen() > 0)? else {
            return Ok(Measured { comparison: None, interrupted: true, runs: None, kept });
        };
        let at = plans.each_ref().map(|plan| address(plan).ok());
        let same = same_target::warning(urls, at);
        let measured = self.in_turns(plans, threshold, kept.as_ref());
        let lab::InTurns { runs, turns, notes, pairing, looks, ended_after_s, interrupted } = measured?;
        let [old, new] = [(urls[0], &runs[..1]), (urls[1], &runs[1..])];
        let comparison = match judge::compare_at(old, new, threshold, (pairing, &looks)) {
            Err(_) if interrupted => None,
            judged => Some(judged.map_err(|why| with_place(why, kept.as_ref()))?),
        };
        let with_turns = |c: Comparison| {
            let decided = !interrupted && c.outcome != ComparisonOutcome::Undecided;
            let decided_after_s = decided.then_some(ended_after_s);
            let notes = same.into_iter().chain(notes).chain(c.notes).collect();
            let c = Comparison { turns: Some(turns), notes, decided_after_s, ..c };
            with_last_words(c, &servers)
        };
        Ok(Measured { comparison: comparison.map(with_turns), interrupted, runs: Some(runs), kept })
    }

    fn in_turns(&self, plans: [Plan; 2], threshold: f64, kept: Option<&KeptPair>) -> anyhow::Result<lab::InTurns> {
        let (budget_s, whole_budget) = (self.budget.unwrap_or(BUDGET_S), self.whole_budget);
        let duet = self.duet.map(Into::into).unwrap_or_default();
        let settings = lab::InTurnsPlan { budget_s, threshold, whole_budget, duet };
        let mut screen = Screen::of_bar(budget_s);
        let measured = lab::in_turns(plans, settings, kept.map(KeptPair::dirs), &mut screen);
        screen.done();
        measured.map_err(|error| match kept.and_then(KeptPair::cut_short) {
            Some(place) => anyhow::anyhow!("{error}; the measurements until then are in {place}"),
            None => error.into(),
        })
    }

    /// Starts the servers for which the user gave commands (`--command-a`, `--command-b`). Dropping the returned value
    /// ends these servers.
    fn own_servers(&self, plans: &[Plan; 2]) -> anyhow::Result<[Option<CommandServer>; 2]> {
        let commands = [&self.command_a, &self.command_b];
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

    /// Returns the plan for server `at` (0: old, 1: new), and adds messages about the server's requests to `lines`.
    fn plan(&self, urls: [&str; 2], at: usize, lines: &mut Vec<String>) -> anyhow::Result<Plan> {
        let mut plan = Plan { command: "compare".into(), ..Plan::default() };
        plan.target.url = urls[at].to_owned();
        plan.target.authorized = self.authorized;
        plan.load.seed = self.seed.unwrap_or(plan.load.seed);
        lines.extend(self.mix.apply(&mut plan)?);
        set_protocol(&mut plan)?;
        self.request.apply(&mut plan.load, false)?;
        plan.load.timeout_s = self.timeout.unwrap_or(plan.load.timeout_s);
        self.stream.apply(&mut plan.load);
        apply_deadline(&mut plan.load, self.timeout);
        if let Intensity::Closed { connections, .. } = &mut plan.load.intensity {
            *connections = self.connections.unwrap_or(CONNECTIONS);
        }
        self.tls.apply_to_either(&mut plan, &urls.map(str::to_owned))?;
        self.hosts.with_server_host(self.server_host_b.as_ref().filter(|_| at == 1)).apply(&mut plan)?;
        mix::check(&plan, &self.request.of_one())?;
        plan.redact_secrets(&self.secret_header.names);
        plan.check()?;
        Ok(plan)
    }
}

/// Completes the description of a server's death, if loadline itself started the server: adds the exit status and the
/// last output of the server's command.
fn with_last_words(mut comparison: Comparison, servers: &[Option<CommandServer>; 2]) -> Comparison {
    for death in &mut comparison.deaths {
        let ended = servers[usize::from(death.new)].as_ref().and_then(CommandServer::ended);
        death.text.extend(ended.map(|ended| format!("; its command ended ({ended})")));
    }
    comparison
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

/// Returns an error about a finished measurement, with the directories of its runs.
fn with_place(why: String, kept: Option<&KeptPair>) -> anyhow::Error {
    match kept.and_then(KeptPair::cut_short) {
        Some(place) => anyhow::anyhow!("{why}; the measurements are in {place}"),
        None => anyhow::Error::msg(why),
    }
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
}
