//! How a run ends for the user: the verdict on the screen, the report beside `run.json`, the exit status.

use std::path::Path;

use run::{Run, RunDir};

use crate::{Exit, output};

/// Where the result goes.
pub(crate) struct Ends<'a> {
    /// Directory of the run.
    pub(crate) out: Option<&'a Path>,
    /// Print run.json instead of text.
    pub(crate) json: bool,
}

/// Forms that are written into the directory of a run besides `run.json`.
const KEPT: &[(&str, &str)] = &[("html", "report.html"), ("hdr", "latency.hlog")];

/// Writes and prints everything.
pub(crate) fn finish(run: Run, ends: &Ends<'_>) -> anyhow::Result<Exit> {
    if let Some(out) = ends.out {
        let dir = RunDir::create(out)?;
        for (form, file) in KEPT {
            dir.put(file, report::render(form, &run, &output::plain())?.as_bytes())?;
        }
    }
    if ends.json {
        output::print(&report::render("json", &run, &output::plain())?)?;
    } else {
        output::print(&format!("\n{}", report::render("text", &run, &output::style())?))?;
        if let Some(out) = ends.out {
            output::print(&format!("\nreport: {}\n", out.join("report.html").display()))?;
        }
    }
    Ok(status(&run))
}

/// What the run means for a script.
fn status(run: &Run) -> Exit {
    let failed_check = run.findings.checks.iter().any(|c| !c.pass);
    let broken = run.findings.capacity.as_ref().is_some_and(|c| !c.held);
    // Timings of calls complete no request; there the checks alone decide.
    let only_timed = !run.asked() && !run.findings.checks.is_empty();
    match run {
        run if run.interrupted => Exit::Interrupted,
        run if !only_timed && run.trials.iter().all(|t| t.measured.tally.completed == 0) => Exit::Failed,
        _ if failed_check || broken => Exit::Failed,
        _ => Exit::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_only_timed_calls_is_done_when_its_checks_held() {
        let mut run = Run { trials: vec![run::Trial::default()], ..Run::default() };
        assert_eq!(status(&run), Exit::Failed, "nothing completed, nothing checked");
        run.findings.checks.push(run::Check { pass: true, ..run::Check::default() });
        assert_eq!(status(&run), Exit::Done);
        run.trials[0].tally.attempted = 1;
        assert_eq!(status(&run), Exit::Failed, "a request was sent and none was answered");
        run.trials[0].tally.attempted = 0;
        run.findings.checks[0].pass = false;
        assert_eq!(status(&run), Exit::Failed);
    }
}
