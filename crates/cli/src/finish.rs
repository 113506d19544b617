//! The end of a run: prints the verdict, writes the report beside `run.json`, and returns the exit status.

use run::{Failure, Run, RunDir};

use crate::args::{OutArgs, SeeArgs};
use crate::feeds::json_lines;
use crate::kept::{KEPT, Kept};
use crate::{Exit, output};

/// Options for printing the result of a run.
pub(crate) struct Ends {
    /// Directory in which loadline stores the run; `None` if loadline only prints the run.
    pub(crate) kept: Option<Kept>,
    /// True to print run.json instead of text.
    pub(crate) json: bool,
    /// True to print a last line of JSON (`--json-lines`) instead of text.
    pub(crate) json_lines: bool,
    /// Number of lines that are already on the screen, to print only the short answer. `None` to print the whole
    /// report.
    pub(crate) used: Option<usize>,
}

impl Ends {
    /// Returns the options for printing the short answer or, with `--verbose`, the whole report.
    pub(crate) fn of(out: &OutArgs, kept: Option<Kept>, used: usize) -> Self {
        Self { kept, json: out.json, json_lines: false, used: (!out.verbose).then_some(used) }
    }

    /// If the run printed lines of JSON, sets the option for a last line of JSON.
    pub(crate) fn seen(self, see: &SeeArgs) -> Self {
        Self { json_lines: see.json_lines, ..self }
    }

    /// Returns true if standard output is meant for a program instead of a person.
    fn for_program(&self) -> bool {
        self.json || self.json_lines
    }

    fn text(&self, run: &Run) -> anyhow::Result<String> {
        Ok(match self.used {
            Some(used) => report::brief(run, &output::style(), LINES.saturating_sub(used)),
            None => report::render("text", run, &output::style())?,
        })
    }
}

/// Maximum number of printed lines for a run whose result has no summary of a few lines. Lines that are already on the
/// screen count, too. These lines, one line before the report and two lines after it fit on a screen of 45 lines.
const LINES: usize = 42;

/// Prints and writes all results. Prints the verdict before it writes the files, so the user sees the verdict even if
/// the disk is full.
fn finish(run: Run, ends: &Ends) -> anyhow::Result<Exit> {
    match (ends.json, ends.json_lines) {
        (true, _) => output::print(&report::render("json", &run, &output::plain())?)?,
        (_, true) => json_lines::print_result(&run, ends.kept.as_ref().map(Kept::dir), status(&run).number())?,
        _ => output::print(&format!("\n{}", ends.text(&run)?))?,
    }
    if let Some(kept) = &ends.kept {
        let dir = RunDir::create(kept.dir())?;
        // Each trial was already saved when it ended, unless the disk was full. This call saves the conclusions, too.
        dir.save(&run)?;
        for (form, file) in KEPT {
            dir.put(file, report::render(form, &run, &output::plain())?.as_bytes())?;
        }
        let place = kept.settle()?;
        // If the whole report is already on the screen, or if the output is for a program, no hint at the details is
        // needed.
        let details = if ends.used.is_some() {
            format!("details: loadline report {}\n", kept.shell_path())
        } else {
            String::new()
        };
        if ends.for_program() { output::tell(place.trim_end()) } else { output::print(&format!("\n{details}{place}"))? }
    }
    Ok(status(&run))
}

/// Ends a run that succeeded or failed. For a failed run with measurements, the returned error names the directory that
/// contains them.
pub(crate) fn ended<E>(result: Result<Run, E>, ends: &Ends) -> anyhow::Result<Exit>
where
    E: std::error::Error + Send + Sync + 'static,
{
    match result {
        // Sets the link to the latest run even if writing this run's report failed.
        Ok(run) => finish(run, ends).inspect_err(|_| drop(ends.kept.as_ref().and_then(Kept::cut_short))),
        Err(error) => match ends.kept.as_ref().and_then(Kept::cut_short) {
            Some(place) => Err(anyhow::anyhow!("{error}; the measurements until then are in {place}")),
            None => Err(error.into()),
        },
    }
}

/// Returns the exit status of a run.
fn status(run: &Run) -> Exit {
    match run.findings.failure {
        Some(Failure::Died) => Exit::Failed,
        _ if run.interrupted => Exit::Interrupted,
        Some(_) => Exit::Failed,
        None => Exit::Done,
    }
}
