//! `loadline waits`: samples the threads of a server and shows the causes of their waits.

use std::net::SocketAddr;
use std::path::Path;

use report::ReportError;
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
    let files: Vec<(&str, &Path)> = [("folded", &args.folded), ("svg", &args.svg)]
        .into_iter()
        .filter_map(|(form, path)| Some((form, path.as_deref()?)))
        .collect();
    files.iter().try_for_each(|(_, path)| output::check_writable(path))?;
    output::catch_interrupts();
    let run = lab::watch_server(plan, args.port.map(Address::Inet), None, &mut Interrupt)?;
    // The findings are printed first, so that the user sees them even if a file cannot be written.
    let exit = print(&run, args.json)?;
    files.into_iter().try_for_each(|(form, path)| write(form, path, &run))?;
    Ok(exit)
}

/// Writes the sampled stacks to a file. If no stack was sampled, writes no file and tells the user why.
fn write(form: &str, path: &Path, run: &Run) -> anyhow::Result<()> {
    match report::render(form, run, &output::plain()) {
        Ok(text) => output::save_or_print(Some(path), &text),
        Err(ReportError::NoStacks) => {
            output::tell(&format!("note: {} was not written: no stack was sampled", path.display()));
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the exit status of a sampling: failed if the server ended, interrupted, or done.
fn status(run: &Run) -> Exit {
    match run.ended_by() {
        Some(_) => Exit::Failed,
        None if run.interrupted => Exit::Interrupted,
        None => Exit::Done,
    }
}

/// Returns a sentence that says why the sampling ended before its time, and after how much of it. Returns `None` if the
/// sampling was complete.
fn cut_short(run: &Run) -> Option<String> {
    let why = match run.ended_by() {
        Some((_, incident)) => incident.text.clone(),
        None if run.interrupted => "interrupted".to_owned(),
        None => return None,
    };
    let sampled_s = run.trials.last().map_or(0.0, |trial| trial.measured.length_s);
    let [sampled, whole] = [sampled_s, run.plan.load.duration_s].map(run::number::span);
    Some(format!("cut short after {sampled} of {whole}: {why}"))
}

/// Prints the findings, and the reason why the sampling ended before its time.
fn print(run: &Run, json: bool) -> anyhow::Result<Exit> {
    let cut_short = cut_short(run);
    let server = run.trials.last().and_then(|trial| trial.server.as_ref());
    let profile = server.and_then(|side| side.waits.as_deref());
    let databases = run.trials.last().map(|trial| trial.databases.as_slice()).unwrap_or_default();
    let Some(profile) = profile.filter(|profile| profile.samples > 0) else {
        let why = profile.and_then(|profile| profile.missing.first().cloned());
        if let Some(cut_short) = cut_short {
            output::tell(&format!("no thread was read: the sampling was {cut_short}"));
            return Ok(status(run));
        }
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
            output::print(
                &(serde_json::to_string_pretty(&Answer { waits, hot, waiting, profile, databases })? + "\n"),
            )?;
            cut_short.iter().for_each(|text| output::tell(&format!("note: the sampling was {text}")));
        }
        false => {
            let cut_short = cut_short.map_or(String::new(), |text| format!("The sampling was {text}. "));
            let headline = format!("{cut_short}{}", judge::headline(profile, waits));
            output::print(&report::render_waits(run, &headline, "with --json", &output::style()))?;
        }
    }
    Ok(status(run))
}

/// Ends the sampling when the user presses Ctrl-C.
struct Interrupt;

impl lab::Watch for Interrupt {
    fn stop(&self) -> bool {
        sys::interrupt::seen() > 0
    }
}

#[cfg(test)]
mod tests {
    use run::{Incident, IncidentKind, Trial, TrialKind};

    use super::*;

    /// Makes a run that sampled a server for 2 of 9 seconds.
    fn sampled(interrupted: bool, incidents: Vec<Incident>) -> Run {
        let mut run = Run { interrupted, ..Run::default() };
        run.plan.load.duration_s = 9.0;
        let mut trial = Trial { kind: TrialKind::Watched, incidents, ..Trial::default() };
        trial.measured.length_s = 2.0;
        run.trials.push(trial);
        run
    }

    #[test]
    fn a_sampling_that_ended_early_says_why_and_has_its_own_status() {
        let whole = sampled(false, Vec::new());
        assert_eq!((cut_short(&whole), status(&whole)), (None, Exit::Done));
        let interrupted = sampled(true, Vec::new());
        assert_eq!(cut_short(&interrupted).unwrap(), "cut short after 2 s of 9 s: interrupted");
        assert_eq!(status(&interrupted), Exit::Interrupted);
        let text = "the server ended at 2.0 s (app:7)".to_owned();
        let end = Incident { kind: IncidentKind::ServerEnded, begin_s: 2.0, end_s: None, text };
        // The end of the server also ends the run early.
        let ended = sampled(true, vec![end]);
        assert_eq!(cut_short(&ended).unwrap(), "cut short after 2 s of 9 s: the server ended at 2.0 s (app:7)");
        assert_eq!(status(&ended), Exit::Failed);
    }

    #[test]
    fn without_stacks_no_file_is_written() {
        let dir = tempfile::tempdir().unwrap();
        for form in ["folded", "svg"] {
            let file = dir.path().join(form);
            assert!(write(form, &file, &sampled(false, Vec::new())).is_ok() && !file.exists(), "{form}");
        }
    }
}
