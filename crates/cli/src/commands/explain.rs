//! `loadline explain ID`: everything that the tables say of one thing.

use super::list::wrap;
use crate::tables::TABLES;
use crate::{Exit, output};

/// Arguments.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Id of a bottleneck, counter, cost, model, … (`loadline list`)
    id: String,
}

/// Prints the page.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let width = output::style().width.min(100);
    let mut text = String::new();
    let mut ids = Vec::new();
    for table in TABLES {
        for row in (table.rows)() {
            if row.id.eq_ignore_ascii_case(&args.id) {
                let body = if row.page.is_empty() { row.help.clone() } else { format!("{}\n\n{}", row.help, row.page) };
                text.push_str(&format!("{} ({})\n\n{}\n", row.id, table.name, paragraphs(&body, width)));
            }
            ids.push(row.id);
        }
    }
    if text.is_empty() {
        return Err(lab::LabError::name("thing", &args.id, ids.iter().map(String::as_str)).into());
    }
    output::print(&text)?;
    Ok(Exit::Done)
}

fn paragraphs(text: &str, width: usize) -> String {
    text.split("\n\n").map(|p| wrap(p, width).join("\n") + "\n").collect::<Vec<_>>().join("\n")
}
