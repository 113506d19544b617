//! `loadline report`: judges an old run again with this version of loadline, and renders its report.

use std::path::PathBuf;

use crate::args::{Names, form_of_file};
use crate::{Exit, output};

/// Arguments of `report`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory of a run, or its run.json
    run: PathBuf,
    /// Output form (`loadline list forms`) [default: that of the file name of --out, or text]
    #[arg(long, value_name = "FORM", value_parser = Names::Rows("forms"))]
    form: Option<String>,
    /// Write to a file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Has no effect, because a report is always whole; accepted because `find`, `load` and `compare` take `-v`
    #[arg(long = "verbose", short = 'v', hide = true)]
    _verbose: bool,
}

/// Judges the run and renders its report.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let all: Vec<&str> = report::FORMS.iter().map(|form| form.name).collect();
    let form = form_of_file(args.form.as_deref(), args.out.as_deref(), &all)?;
    let mut run = crate::run_folder::load_run(&args.run)?;
    judge::judge(&mut run);
    experiments::present(&mut run);
    let style = output::style_for(args.out.as_deref());
    let text = report::render(form, &run, &style)?;
    output::save_or_print(args.out.as_deref(), &text)?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_report_is_always_whole() {
        let parsed = |flags: &[&str]| {
            let words = [&["loadline", "report", "run"][..], flags].concat();
            crate::parse(words.into_iter().map(Into::into)).is_ok()
        };
        assert!(parsed(&["-v"]) && parsed(&["--verbose"]) && !parsed(&["-w"]));
    }
}
