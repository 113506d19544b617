//! `loadline history`: finds changes of performance between the runs in a directory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use judge::{HistoryLimits, HistoryRuns};

use crate::args::{Names, form_of_file, units};
use crate::{Exit, output};

/// Maximum number of directory levels below the given directory that the command searches.
const MAX_DEPTH: usize = 8;
/// Maximum number of runs that the command reads.
const MAX_RUNS: usize = 100_000;
/// Maximum number of skipped files that an error names.
const MAX_NAMED: usize = 3;

/// Arguments of `history`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory that holds runs, at any depth
    #[arg(value_name = "DIR", default_value = "loadline-runs")]
    directory: PathBuf,
    /// A change is new if the series without its last N runs does not show it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), default_value_t = 10)]
    recent: u32,
    /// A new change for the worse of at least this share exits with status 1
    #[arg(long, value_name = "SHARE", value_parser = units::share, default_value = "0.5%")]
    threshold: f64,
    /// text, markdown, html or json [default: that of the file name of --out, or text]
    #[arg(long, value_name = "FORM", value_parser = Names::AnswerForms, hide_possible_values = true)]
    form: Option<String>,
    /// Same as --form json
    #[arg(long, conflicts_with = "form")]
    json: bool,
    /// Write to a file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Reads the runs, finds changes and prints them. The exit status is a failure if there is a new change for the worse.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let requested = if args.json { Some("json") } else { args.form.as_deref() };
    let form = form_of_file(requested, args.out.as_deref(), &report::ANSWER_FORMS)?;
    ensure!(args.directory.is_dir(), "{} is no directory; name one that holds runs", args.directory.display());
    let mut files = Vec::new();
    let mut runs = HistoryRuns::default();
    find_runs(&args.directory, MAX_DEPTH, &mut files, &mut runs)?;
    ensure!(!files.is_empty(), "{} holds no run.json; name a directory of runs", args.directory.display());
    files.iter().for_each(|file| add(file, &mut runs));
    let none = runs.count() == 0;
    let limits = HistoryLimits { recent: args.recent as usize, threshold: args.threshold };
    let history = runs.history(args.directory.display().to_string(), limits);
    if none {
        let reasons =
            history.skipped.iter().take(MAX_NAMED).map(|skipped| format!("{}: {}", skipped.file, skipped.reason));
        bail!(
            "{} holds no run that a history can use: {}",
            args.directory.display(),
            reasons.collect::<Vec<_>>().join("; ")
        );
    }
    let style = output::style_for(args.out.as_deref());
    let text = report::render_history(form, &history, &style)?;
    output::save_or_print(args.out.as_deref(), &text)?;
    Ok(if history.fails { Exit::Failed } else { Exit::Done })
}

/// Collects the `run.json` files below a directory, sorted by name within each directory. Does not follow symbolic
/// links, so no run is found twice.
fn find_runs(directory: &Path, depth: usize, files: &mut Vec<PathBuf>, runs: &mut HistoryRuns) -> anyhow::Result<()> {
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) if depth < MAX_DEPTH => {
            runs.skip(directory.display().to_string(), format!("cannot read the directory: {error}"));
            return Ok(());
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", directory.display())),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && depth > 0 {
            find_runs(&path, depth - 1, files, runs)?;
        } else if entry.file_name() == "run.json" {
            match kind.is_file() {
                true => files.push(path),
                false => runs.skip(path.display().to_string(), "not a regular file".into()),
            }
        }
    }
    ensure!(files.len() <= MAX_RUNS, "{} holds more than {MAX_RUNS} runs; name a part of it", directory.display());
    Ok(())
}

/// Adds the run that `file` contains. If the run cannot be used, adds the reason for skipping it.
fn add(file: &Path, runs: &mut HistoryRuns) {
    let name = file.display().to_string();
    match run::load_summary(file) {
        Err(error) => runs.skip(name, error.to_string()),
        Ok(run) => match run.started.parse::<jiff::Timestamp>() {
            Err(_) => runs.skip(name, "the run has no start time".into()),
            Ok(start) => {
                let directory = file.parent().unwrap_or(file).display().to_string();
                runs.add(directory, start.as_nanosecond(), &run);
            }
        },
    }
}
