//! `loadline judge`: judges counters that another tool measured, or an old run.

use std::path::PathBuf;

use anyhow::Context as _;
use judge::counters_csv::{Derived, MAX_BYTES, as_run, columns, derive, read};
use report::{Block, Cell, Col, FORMS, Section, Table, Tone, Weight};

use crate::args::{Names, form_of_file};
use crate::{Exit, output};

/// Arguments of `judge`.
#[derive(clap::Args)]
#[command(after_help = columns_help())]
pub(crate) struct Args {
    /// CSV file of counters with one line per operating point, or a run. At most 10,000 lines and 8 MiB of CSV, 10,000
    /// trials and 256 MiB of run.json
    file: PathBuf,
    /// Output form (`loadline list forms`) [default: that of the file name of --out, or text]
    #[arg(long, value_name = "FORM", value_parser = Names::Rows("forms"))]
    form: Option<String>,
    /// Write to a file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Returns the help text about the columns of a CSV file.
fn columns_help() -> String {
    format!(
        "The first line of a CSV file names its columns, beginning with `case`, the name of the operating point. Columns \
         are: {}. A column `printed.QUANTITY` holds what a text prints for a derived quantity, to be compared with ours \
         (`loadline list quantities`). An empty cell is unknown; lines that begin with # are comments.",
        columns().join(", ")
    )
}

/// Computes the derived figures, judges them and prints the result. The exit status is a failure if the counters
/// contradict a figure that the CSV file quotes from a publication.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let all: Vec<&str> = FORMS.iter().map(|form| form.name).collect();
    let name = form_of_file(args.form.as_deref(), args.out.as_deref(), &all)?;
    let form = FORMS.iter().find(|form| form.name == name);
    let form = form.ok_or_else(|| lab::LabError::name("form", name, all))?;
    let csv = !args.file.is_dir() && args.file.extension().is_none_or(|e| e != "json");
    let (mut run, derived) = if csv {
        let name = args.file.display();
        let text = run::read_text(&args.file, MAX_BYTES, "name a CSV file")?;
        let cases = read(&text).with_context(|| format!("{name}"))?;
        let run = as_run(&cases);
        anyhow::ensure!(!cases.is_empty(), "{name}: it has a header and no line; give each operating point a line");
        anyhow::ensure!(
            !run.trials.is_empty(),
            "{name}: no line has a rate, so there is nothing to judge; give the column reads_per_s, or clients and \
             response_given_ms"
        );
        (run, derive(&cases))
    } else {
        (crate::run_folder::load_run(&args.file)?, Vec::new())
    };
    judge::judge(&mut run);
    experiments::present(&mut run);
    let mut doc = report::document(&run);
    if !derived.is_empty() {
        let at = doc.sections.len().min(1);
        let blocks = vec![Block::Table(table(&derived))];
        doc.sections.insert(at, Section::new("derived", "Derived from the counters", Weight::Main, blocks));
    }
    let style = output::style_for(args.out.as_deref());
    let text = (form.make)(&doc, &run, &style)?;
    output::save_or_print(args.out.as_deref(), &text)?;
    let contradicted = derived.iter().any(|d| d.agrees() == Some(false));
    Ok(if contradicted { Exit::Failed } else { Exit::Done })
}

fn table(derived: &[Derived]) -> Table {
    let words = ["case", "quantity"].map(|name| Col::words(name, 0));
    let figures = ["value", "printed"].map(|name| Col::figures(name, 0));
    let rest = [Col::words("agrees within 0.5 %", 0), Col::words("formula", 3)];
    let mut notes: Vec<String> = Vec::new();
    for d in derived {
        if let Some(why) = d.source_error() {
            notes.push(format!("{}, {}: an error of the source: {why}", d.case, d.quantity.id));
        }
    }
    Table {
        caption: "Recomputed from the counters, beside printed values.".into(),
        columns: words.into_iter().chain(figures).chain(rest).collect(),
        rows: derived.iter().map(row).collect(),
        notes,
        ..Table::default()
    }
}

fn row(d: &Derived) -> Vec<Cell> {
    let unit = |v: f64| format!("{} {}", digits(v), d.quantity.unit).trim_end().to_string();
    let agrees = match d.agrees() {
        None => Cell::new(""),
        Some(true) if d.source_error().is_some() => Cell::new("yes, despite an error of the source").toned(Tone::Warn),
        Some(true) => Cell::new("yes").toned(Tone::Good),
        Some(false) => Cell::new("no").toned(Tone::Bad),
    };
    vec![
        Cell::new(d.case.clone()),
        Cell::new(d.quantity.id),
        Cell::new(unit(d.value)),
        Cell::new(d.printed.map_or(String::new(), unit)),
        agrees,
        Cell::new(d.quantity.formula),
    ]
}

/// Formats a number with six significant digits and without trailing zeros. Six digits are enough to compare figures
/// within 0.5 %.
fn digits(value: f64) -> String {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let decimals = (5 - magnitude).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_enough_digits_for_a_comparison() {
        assert_eq!(
            (digits(734.887_4), digits(2.0), digits(0.0), digits(-0.012_345_678)),
            ("734.887".into(), "2".into(), "0".into(), "-0.0123457".into())
        );
    }

    #[test]
    fn help_names_every_column() {
        let help = <crate::Cli as clap::CommandFactory>::command();
        let mut judge = help.find_subcommand("judge").unwrap().clone();
        let text = judge.render_help().to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(columns().len() > 20 && text.contains("`case`"), "{text}");
        columns().iter().for_each(|name| assert!(text.contains(*name), "{name}: {text}"));
    }

    #[test]
    fn errors_in_published_figures_are_marked() {
        let cases = read("case,reads_per_s,cpu_percent,printed.cpu_us\nrole swap,195.56,7.95,460.5\n").unwrap();
        let table = table(&derive(&cases));
        assert!(table.rows.iter().any(|r| r[4].text == "no"), "{table:?}");
        assert!(table.notes.iter().any(|n| n.contains("transposed")), "{table:?}");
    }
}
