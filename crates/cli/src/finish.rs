//! The end of a run: prints the verdict, writes the report beside `run.json`, and returns the exit status.

use run::{Failure, Run, RunDir};

use crate::args::{OutArgs, SeeArgs};
use crate::feeds::json_lines;
use crate::kept::{KEPT, Kept};
use crate::{Exit, output};

/// Options for the output of the result.
pub(crate) struct Ends {
    /// Directory of the run; `None` if it is only printed.
    pub(crate) kept: Option<Kept>,
    /// True to print run.json instead of text.
    pub(crate) json: bool,
    /// True to print a last line of JSON instead of text.
    pub(crate) json_lines: bool,
    /// Number of lines already on the screen, if only the answer is printed; `None` to print the whole report.
    pub(crate) used: Option<usize>,
}

impl Ends {
    /// Returns the options for printing the answer, or for the whole report with --verbose.
    pub(crate) fn of(out: &OutArgs, kept: Option<Kept>, used: usize) -> Self {
        Self { kept, json: out.json, json_lines: false, used: (!out.verbose).then_some(used) }
    }

    /// Prints a last line of JSON if the run printed lines of JSON.
    pub(crate) fn seen(self, see: &SeeArgs) -> Self {
        Self { json_lines: see.json_lines, ..self }
    }

    /// Returns true if the reader of standard output is a program.
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

/// Maximum number of lines of a report that has no short answer: a screen of 45 lines, minus one before it and two
/// after it.
const LINES: usize = 42;

/// Prints and writes all results. The verdict is printed first, so that a full disk cannot prevent it.
fn finish(run: Run, ends: &Ends) -> anyhow::Result<Exit> {
    match (ends.json, ends.json_lines) {
        (true, _) => output::print(&report::render("json", &run, &output::plain())?)?,
        (_, true) => json_lines::print_result(&run, ends.kept.as_ref().map(Kept::dir), status(&run).number())?,
        _ => output::print(&format!("\n{}", ends.text(&run)?))?,
    }
    if let Some(kept) = &ends.kept {
        let dir = RunDir::create(kept.dir())?;
        // The trials were already saved one by one, unless the disk was full.
        dir.save(&run)?;
        for (form, file) in KEPT {
            dir.put(file, report::render(form, &run, &output::plain())?.as_bytes())?;
        }
        let place = kept.settle()?;
        // The whole report is already on the screen, or the reader is a program.
        let details = if ends.used.is_some() {
            format!("details: loadline report {}\n", kept.shell_path())
        } else {
            String::new()
        };
        if ends.for_program() { output::tell(place.trim_end()) } else { output::print(&format!("\n{details}{place}"))? }
    }
    Ok(status(&run))
}

/// Finishes a run that ended normally or failed. The error of a failed run names the directory with its measurements.
pub(crate) fn ended<E>(result: Result<Run, E>, ends: &Ends) -> anyhow::Result<Exit>
where
    E: std::error::Error + Send + Sync + 'static,
{
    match result {
        // The run becomes the latest one even if its report could not be written.
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
