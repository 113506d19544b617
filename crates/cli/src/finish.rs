//! How a run ends for the user: the verdict on the screen, the report beside `run.json`, the exit status.

use run::{Failure, Run, RunDir};

use crate::args::OutArgs;
use crate::kept::{KEPT, Kept};
use crate::{Exit, output};

/// Where the result goes.
pub(crate) struct Ends {
    /// Where the run is kept, if anywhere.
    pub(crate) kept: Option<Kept>,
    /// Print run.json instead of text.
    pub(crate) json: bool,
    /// Lines that the screen showed before, where all of it is to fit one; absent: the whole report is printed.
    pub(crate) used: Option<usize>,
}

impl Ends {
    /// One screen, unless everything was asked for.
    pub(crate) fn of(out: &OutArgs, kept: Option<Kept>, used: usize) -> Self {
        Self { kept, json: out.json, used: (!out.verbose).then_some(used) }
    }

    fn text(&self, run: &Run) -> anyhow::Result<String> {
        Ok(match self.used {
            Some(used) => report::brief(run, &output::style(), LINES.saturating_sub(used)),
            None => report::render("text", run, &output::style())?,
        })
    }
}

/// Lines for a report without the line before it and the two behind it: one screen of 45.
const LINES: usize = 42;

/// Prints and writes everything: the verdict first, which a full disk must not hide.
fn finish(run: Run, ends: &Ends) -> anyhow::Result<Exit> {
    match ends.json {
        true => output::print(&report::render("json", &run, &output::plain())?)?,
        false => output::print(&format!("\n{}", ends.text(&run)?))?,
    }
    if let Some(kept) = &ends.kept {
        let dir = RunDir::create(kept.dir())?;
        for (form, file) in KEPT {
            dir.put(file, report::render(form, &run, &output::plain())?.as_bytes())?;
        }
        let place = kept.settle()?;
        if ends.json { eprint!("{place}") } else { output::print(&format!("\n{place}"))? }
    }
    Ok(status(&run))
}

/// Ends a run that came to its end, or one that could not go on: then the error says where what was measured is.
pub(crate) fn ended<E>(result: Result<Run, E>, ends: &Ends) -> anyhow::Result<Exit>
where
    E: std::error::Error + Send + Sync + 'static,
{
    match result {
        // A run whose report could not be written is the latest all the same.
        Ok(run) => finish(run, ends).inspect_err(|_| drop(ends.kept.as_ref().and_then(Kept::cut_short))),
        Err(error) => match ends.kept.as_ref().and_then(Kept::cut_short) {
            Some(place) => Err(anyhow::anyhow!("{error}; what was measured until then is in {place}")),
            None => Err(error.into()),
        },
    }
}

/// What the run means for a script.
fn status(run: &Run) -> Exit {
    match run.findings.failure {
        Some(Failure::Died) => Exit::Failed,
        _ if run.interrupted => Exit::Interrupted,
        Some(_) => Exit::Failed,
        None => Exit::Done,
    }
}
