//! The end of a run: prints the verdict, writes the report beside `run.json`, and returns the exit status.

use std::path::Path;

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
    /// Number of lines that are already on the screen, if only the short answer is printed; `None` if the whole report
    /// is printed.
    pub(crate) used: Option<usize>,
    /// True to print the table of the server's threads, and their functions, after the short answer.
    pub(crate) threads: bool,
}

impl Ends {
    /// Returns the options for printing the short answer or, with `--verbose`, the whole report.
    pub(crate) fn of(out: &OutArgs, kept: Option<Kept>, used: usize) -> Self {
        Self { kept, json: out.json, json_lines: false, used: (!out.verbose).then_some(used), threads: false }
    }

    /// Sets the option that prints the table of the server's threads.
    pub(crate) fn with_threads(self, threads: bool) -> Self {
        Self { threads, ..self }
    }

    /// If the run printed lines of JSON, sets the option for a last line of JSON.
    pub(crate) fn seen(self, see: &SeeArgs) -> Self {
        Self { json_lines: see.json_lines, ..self }
    }

    fn text(&self, run: &Run) -> anyhow::Result<String> {
        Ok(match self.used {
            Some(used) => {
                let brief = report::brief(run, &output::style(), LINES.saturating_sub(used));
                let threads = Some(run).filter(|_| self.threads).and_then(threads).unwrap_or_default();
                [brief, threads].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
            }
            None => report::render("text", run, &output::style())?,
        })
    }
}

/// Returns the table of the server's threads, as `loadline waits` prints it. The table's title is the cause for which
/// threads wait, unless the verdict already contains this cause. Returns `None` if no threads were sampled.
fn threads(run: &Run) -> Option<String> {
    let (profile, findings) = (run.sampled_waits()?, &run.findings);
    let is_said = findings.waits.first().is_some_and(|first| findings.bottleneck.sentence.contains(&first.sentence));
    let title = if is_said { "Threads of the server".into() } else { judge::headline(profile, &findings.waits) };
    Some(report::render_waits(run, &title, "in the full report", &output::style()))
}

/// Maximum number of printed lines for a run whose result has no summary of a few lines. Lines that are already on the
/// screen count, too. With one line before the report and two lines after it, a screen of 45 lines is full.
const LINES: usize = 42;

/// Prints the results of a run, and writes them to files. The verdict is printed before the files are written, so the
/// user sees it even if the disk is full.
fn finish(run: &Run, ends: &Ends) -> anyhow::Result<Exit> {
    if ends.json_lines {
        return finish_lines(run, ends);
    }
    match ends.json {
        true => output::print(&report::render("json", run, &output::plain())?)?,
        false => output::print(&format!("\n{}", ends.text(run)?))?,
    }
    if let Some(kept) = &ends.kept {
        let place = save(run, kept)?;
        // If the whole report is already on the screen, or if the output is for a program, no hint at the details is
        // needed.
        let details = if ends.used.is_some() {
            format!("details: loadline report {}\n", kept.shell_path())
        } else {
            String::new()
        };
        if ends.json { output::tell(place.trim_end()) } else { output::print(&format!("\n{details}{place}"))? }
    }
    Ok(status(run))
}

/// Writes the results of a run to files, and then prints the last line of JSON. The line contains the exit status,
/// which is known only after the files are written.
fn finish_lines(run: &Run, ends: &Ends) -> anyhow::Result<Exit> {
    let saved = ends.kept.as_ref().map(|kept| save(run, kept)).transpose();
    let number = if saved.is_ok() { status(run).number() } else { Exit::ERROR };
    json_lines::print_result(run, ends.kept.as_ref().map(Kept::dir), number)?;
    if let Some(place) = saved? {
        output::tell(place.trim_end());
    }
    Ok(status(run))
}

/// Writes a run and its reports into the run's directory. Returns lines for the user, which name the report.
fn save(run: &Run, kept: &Kept) -> anyhow::Result<String> {
    write(run, kept.dir())?;
    kept.settle()
}

/// Writes a run (`run.json`) and its reports into a directory.
pub(crate) fn write(run: &Run, dir: &Path) -> anyhow::Result<()> {
    let dir = RunDir::create(dir)?;
    // Each trial was already saved when it ended, unless the disk was full. The call of `save` below adds the
    // conclusions, such as the verdict.
    dir.save(run)?;
    for (form, file) in KEPT {
        dir.put(file, report::render(form, run, &output::plain())?.as_bytes())?;
    }
    Ok(())
}

/// Ends a run that succeeded or failed. For a failed run with measurements, the returned error names the directory that
/// contains them.
pub(crate) fn ended<E>(result: Result<Run, E>, ends: &Ends) -> anyhow::Result<Exit>
where
    E: std::error::Error + Send + Sync + 'static,
{
    match result {
        // Sets the link to the latest run even if writing this run's report failed.
        Ok(run) => finish(&run, ends).inspect_err(|_| drop(ends.kept.as_ref().and_then(Kept::cut_short))),
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

#[cfg(test)]
mod tests {
    use run::{Side, ThreadState, Trial, WaitFinding, WaitGroup, WaitProcess, WaitProfile};

    use super::*;

    #[test]
    fn the_table_of_the_threads_follows_the_answer_and_repeats_no_sentence() {
        let group = WaitGroup { thread: "worker-#".into(), state: ThreadState::Sleep, ..WaitGroup::default() };
        let processes = vec![WaitProcess { process: "app:7".into(), threads: 4.0, ..WaitProcess::default() }];
        let profile = WaitProfile { rounds: 9, processes, groups: vec![group], ..WaitProfile::default() };
        let server = Some(Side { waits: Some(Box::new(profile)), ..Side::default() });
        let mut run = Run { trials: vec![Trial { server, ..Trial::default() }], ..Run::default() };
        let sentence = "4 of 4 threads of app:7 sleep".to_string();
        run.findings.waits = vec![WaitFinding { sentence: sentence.clone(), ..WaitFinding::default() }];
        let ends = |threads| Ends { kept: None, json: false, json_lines: false, used: Some(0), threads };
        let text = |run: &Run, threads| ends(threads).text(run).unwrap();
        assert!(!text(&run, false).contains("worker-#"));
        let table = text(&run, true);
        assert!(table.contains("worker-#") && table.contains(&format!("{sentence}.")), "{table}");
        run.findings.bottleneck.sentence = format!("{sentence}; it is full");
        let table = text(&run, true);
        assert!(table.contains("worker-#") && !table.contains(&format!("{sentence}.")), "{table}");
        assert!(!text(&Run::default(), true).contains("Threads"));
    }
}
