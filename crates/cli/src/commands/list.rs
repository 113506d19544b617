//! `loadline list`: prints all tables or one table, prints the services of a gRPC server, or writes the generated pages
//! of docs/.

use std::path::PathBuf;

use super::list_grpc::{self, GrpcArgs};
use crate::args::Names;
use crate::tables::{TABLES, Table};
use crate::{Exit, docs, output};

/// Arguments of `list`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of a table [default: all]
    #[arg(value_parser = Names::Tables)]
    table: Option<String>,
    /// As Markdown
    #[arg(long)]
    markdown: bool,
    /// Write the generated pages of docs/ into a directory
    #[arg(long, value_name = "DIR")]
    write_docs: Option<PathBuf>,
    #[command(flatten)]
    grpc: GrpcArgs,
}

/// Prints the tables or the services of a gRPC server, or writes the pages of docs/.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.grpc.is_given() {
        return list_grpc::run(&args.grpc);
    }
    if let Some(dir) = &args.write_docs {
        for page in docs::PAGES {
            let file = dir.join(page.file);
            let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
            made.and_then(|()| std::fs::write(&file, (page.text)())).map_err(|e| {
                anyhow::anyhow!("cannot write {}: {e}; name a directory that you may write", file.display())
            })?;
        }
        return Ok(Exit::Done);
    }
    let chosen: Vec<&Table> = match &args.table {
        Some(name) => vec![find(name)?],
        None => TABLES.iter().collect(),
    };
    let width = output::style().width;
    for (i, table) in chosen.iter().enumerate() {
        let gap = if i > 0 { "\n" } else { "" };
        let text = if args.markdown { docs::markdown(table) } else { plain(table, width) };
        output::print(&format!("{gap}{text}"))?;
    }
    Ok(Exit::Done)
}

fn find(name: &str) -> anyhow::Result<&'static Table> {
    let found = TABLES.iter().find(|t| t.name == name || t.name.trim_end_matches('s') == name);
    found.ok_or_else(|| lab::LabError::name("table", name, TABLES.iter().map(|t| t.name)).into())
}

fn plain(table: &Table, width: usize) -> String {
    let rows = (table.rows)();
    let id = rows.iter().map(|r| r.id.len()).max().unwrap_or(0);
    let title = report::wrap(&format!("{}: {}", table.name, table.what), width);
    let mut text: String = title.into_iter().map(|line| line + "\n").collect();
    for row in rows {
        let room = width.saturating_sub(id + 4).max(30);
        let mut lines = report::wrap(&row.help, room).into_iter();
        text.push_str(&format!("  {:<id$}  {}\n", row.id, lines.next().unwrap_or_default()));
        lines.for_each(|line| text.push_str(&format!("  {:<id$}  {line}\n", "")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_rows_and_every_row_a_line() {
        for table in TABLES {
            let rows = (table.rows)();
            assert!(!rows.is_empty(), "{} is empty", table.name);
            assert!(rows.iter().all(|r| !r.id.is_empty() && !r.help.is_empty()), "{}", table.name);
        }
    }

    #[test]
    fn titles_fit_into_the_terminal() {
        for table in TABLES {
            let text = plain(table, 80);
            let mut title = text.lines().take_while(|line| !line.starts_with("  "));
            assert!(title.all(|line| line.chars().count() <= 80), "{text}");
        }
    }

    #[test]
    fn a_wrong_table_name_suggests_the_nearest_one() {
        assert!(find("modles").err().unwrap().to_string().contains("models"));
        assert!(find("model").is_ok());
    }
}
