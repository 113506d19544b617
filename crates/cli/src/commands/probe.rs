//! `loadline probe`: runs a scripted workload against a file, or against a server that stores records.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use workload::{self, Workload};

use crate::{Exit, output};

/// Arguments of `probe`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Workload: a TOML file, or a script of Response Probe (.SCR)
    #[arg(required_unless_present = "child")]
    workload: Option<PathBuf>,
    /// Length of the trial, seconds [default: the workload's own]
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// Print the workload as TOML and do nothing
    #[arg(long)]
    convert: bool,
    /// Print the rows as JSON
    #[arg(long)]
    json: bool,
    /// Also write the table to a file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Be one process of a workload; started by this command itself
    #[arg(long, hide = true)]
    child: bool,
}

/// Runs the workload, or prints it as TOML.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let Some(path) = args.workload.as_deref().filter(|_| !args.child) else {
        workload::child();
        return Ok(Exit::Done);
    };
    let workload = read(path, args.seconds)?;
    if args.convert {
        output::print(&toml::to_string(&workload)?)?;
        return Ok(Exit::Done);
    }
    let program =
        std::env::current_exe().context("cannot find the path of this program, which the workload's processes run")?;
    args.out.as_deref().map_or(Ok(()), output::check_writable)?;
    let outcome = workload::run(&workload, &path.display().to_string(), &program, &["probe", "--child"])?;
    // On a terminal that is too narrow for the rows of the result, loadline splits the result into two tables. If the
    // output is a file or a pipe, loadline prints one table.
    let width = sys::terminal::width().unwrap_or(usize::MAX);
    let text = if args.json { serde_json::to_string(&outcome)? + "\n" } else { outcome.text(width) };
    output::print(&text)?;
    // The result is printed first, so the user sees it even if the file cannot be written.
    if let Some(out) = &args.out {
        output::save_or_print(Some(out), &outcome.text(usize::MAX))?;
    }
    Ok(Exit::Done)
}

fn read(path: &Path, seconds: Option<f64>) -> anyhow::Result<Workload> {
    let script = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("scr"));
    let mut workload = if script {
        workload::read_script(path, seconds.unwrap_or(10.0), |note| output::tell(&format!("note: {note}")))?
    } else {
        let text = run::read_text(path, crate::args::MAX_PLAN_BYTES, "name a workload (TOML) or a script (.SCR)")?;
        Workload::from_toml(&path.display().to_string(), &text)?
    };
    workload.seconds = seconds.unwrap_or(workload.seconds);
    workload.check().map_err(anyhow::Error::msg)?;
    Ok(workload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unwritable_file_is_refused_before_the_trial() {
        let dir = tempfile::tempdir().unwrap();
        let (data, file) = (dir.path().join("data"), dir.path().join("workload.toml"));
        std::fs::write(&data, [0; 65_536]).unwrap();
        let thread = format!("file = '{}'\nrecord_bytes = 2048\ncycle_reads = {{ mean = 1 }}", data.display());
        std::fs::write(&file, format!("seconds = 3600\n[[process]]\nname = 'a'\n[[process.thread]]\n{thread}\n"))
            .unwrap();
        let out = Some(dir.path().join("none/table"));
        let args = Args { workload: Some(file), seconds: None, convert: false, json: false, out, child: false };
        assert!(run(&args).unwrap_err().to_string().contains("cannot write"));
    }
}
