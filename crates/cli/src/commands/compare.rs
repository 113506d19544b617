//! `loadline compare`: compares old runs with new runs, or two live servers.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use judge::Pairing;
use run::{Comparison, ComparisonOutcome, Run, UrlParts};

use crate::args::{FormArgs, units};
use crate::commands::compare_live::LiveArgs;
use crate::{Exit, comparison_page, output};

/// Directory with one subdirectory for each named baseline (a run to compare with).
const BASELINES: &str = "loadline-runs/baselines";

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
    #[command(flatten)]
    live: LiveArgs,
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
    let of_requests = args.live.describes_requests();
    let live = args.both().iter().filter(|one| UrlParts::parse(one).scheme.is_some()).count();
    ensure!(live > 0 || !of_requests, "flags of requests and TLS need two live servers");
    if live != 2 && args.live.starts_servers() {
        bail!("--command-a and --command-b need two addresses: give both as http://HOST:PORT/");
    }
    match live {
        0 => {
            only_of_servers(args)?;
            let Some((comparison, runs)) = of_runs(args)? else { return Ok(Exit::Done) };
            print(args, &comparison)?;
            if args.form.name() == "text" || args.live.out.is_some() {
                let [old, new] = &runs;
                tell_files(args, &comparison_page::write_of_saved(args.live.out.as_deref(), &comparison, [old, new])?)?;
            }
            Ok(status(&comparison, false, args.undecided))
        }
        2 => {
            only_of_runs(args)?;
            of_servers(args)
        }
        _ => match &args.both()[..] {
            [one] => bail!("{one} is only one address: give a second address, or two runs"),
            _ => bail!("only one of {} is an address: give two runs, or two addresses", args.both().join(" and ")),
        },
    }
}

/// Compares two live servers, prints the result, and keeps both runs. Prints first, so the user sees the result even if
/// the disk is full.
fn of_servers(args: &Args) -> anyhow::Result<Exit> {
    let (form, both) = (args.form.name(), args.both());
    let measured = args.live.measure([&both[0], &both[1]], args.threshold, form == "json")?;
    match &measured.comparison {
        Some(comparison) => print(args, comparison)?,
        None => output::print("Interrupted before both servers had a window: there is nothing to compare.\n")?,
    }
    tell_files(args, &measured.keep()?)?;
    let of = |comparison: &Comparison| status(comparison, measured.interrupted, args.undecided);
    Ok(measured.comparison.as_ref().map_or(Exit::Interrupted, of))
}

/// Prints lines that name the written files. If a program may read the result from standard output, prints the lines to
/// standard error.
fn tell_files(args: &Args, lines: &str) -> anyhow::Result<()> {
    match args.form.name() {
        _ if lines.is_empty() => {}
        "text" => output::print(&format!("\n{lines}"))?,
        _ => output::tell(lines.trim_end()),
    }
    Ok(())
}

fn print(args: &Args, comparison: &Comparison) -> anyhow::Result<()> {
    let text = match args.form.name() {
        "text" if !args.verbose => report::brief_comparison(comparison, &output::style()),
        form => report::render_comparison(form, comparison, &output::style())?,
    };
    output::print(&text)
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
    match args.live.given() {
        Some(flag) => bail!("{flag} needs two live servers, but these are saved runs: leave it out"),
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

/// Compares saved runs. Returns the comparison, and the paths of the runs of both sides. Returns `None` if the new run
/// only becomes a baseline.
fn of_runs(args: &Args) -> anyhow::Result<Option<(Comparison, [Vec<PathBuf>; 2])>> {
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
    Ok(Some((comparison, [old, new])))
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
    let mut runs = paths.iter().map(one).collect::<anyhow::Result<Vec<Run>>>()?;
    judge::sort_by_time(&mut runs);
    Ok(runs)
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

#[cfg(test)]
mod tests {
    use super::*;

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
