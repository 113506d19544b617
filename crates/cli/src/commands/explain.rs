//! `loadline explain ID`: prints all entries of loadline's tables about an ID.

use clap::Command;

use crate::args::Names;
use crate::tables::{Row, TABLES};
use crate::terms::TERMS;
use crate::{Exit, output};

/// Arguments of `explain`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Id of a bottleneck, counter, cost, model, … (`loadline list`), or a word from a report: knee, p99, S-Client
    #[arg(required = true, value_parser = Names::Rows(""), hide_possible_values = true)]
    id: Vec<String>,
}

/// Prints the pages about an ID. `program` is the parser of the command line, with all commands.
pub(crate) fn run(args: &Args, program: &Command) -> anyhow::Result<Exit> {
    output::print(&all_pages(&args.id, output::style().width.min(100), program)?)?;
    Ok(Exit::Done)
}

/// Returns the pages about the name that all words form together, such as `accept queue`. If no page has this name,
/// returns the pages about each word.
fn all_pages(words: &[String], width: usize, program: &Command) -> anyhow::Result<String> {
    let whole = pages(&words.join(" "), width, program);
    if whole.is_ok() || words.len() < 2 {
        return whole;
    }
    let each: Vec<String> = words.iter().map(|word| pages(word, width, program)).collect::<Result<_, _>>()?;
    Ok(each.join("\n"))
}

/// Returns the pages from all tables about a name. Leaves out an entry whose only sentence is also in a longer entry.
fn pages(name: &str, width: usize, program: &Command) -> anyhow::Result<String> {
    let (mut found, mut ids, wanted) = (Vec::new(), Vec::new(), plain(name));
    for table in TABLES {
        for row in (table.rows)() {
            let also = TERMS.iter().find(|t| t.name == row.id && table.name == "terms").map_or(&[][..], |t| t.also);
            ids.push(row.id.clone());
            ids.extend(also.iter().map(ToString::to_string));
            if plain(&row.id) == wanted || also.iter().any(|name| plain(name) == wanted) {
                found.push((table.name, row));
            }
        }
    }
    if found.is_empty()
        && let Some(page) = command_page(name, program)
    {
        return Ok(page);
    }
    if found.is_empty() {
        ids.extend(program.get_subcommands().map(|command| command.get_name().to_owned()));
        return Err(lab::LabError::name("entry", name, ids.iter().map(String::as_str)).into());
    }
    let is_repeated =
        |row: &Row| row.page.is_empty() && found.iter().any(|(_, o)| o.help == row.help && !o.page.is_empty());
    let shown = found.iter().filter(|(_, row)| !is_repeated(row));
    let page = |(table, row): &(&str, Row)| {
        let body = if row.page.is_empty() { row.help.clone() } else { format!("{}\n\n{}", row.help, row.page) };
        format!("{} ({table})\n\n{}\n", row.id, paragraphs(&body, width))
    };
    Ok(shown.map(page).collect())
}

/// Returns a page about a command: its purpose, and the command that explains its flags.
fn command_page(name: &str, program: &Command) -> Option<String> {
    let command = program.find_subcommand(name.trim().trim_start_matches("loadline "))?;
    let (name, about) = (command.get_name(), command.get_about().map(ToString::to_string).unwrap_or_default());
    Some(format!("{name} (command)\n\n{about}\n\n`loadline {name} --help` explains its flags.\n"))
}

/// Returns a name in lower case, without hyphens, underscores and a plural s. The result is the same for names that
/// differ only in capital letters, hyphens instead of underscores, or a plural s.
fn plain(name: &str) -> String {
    let name = name.trim().to_lowercase().replace(['-', '_'], " ");
    name.strip_suffix('s').map(String::from).unwrap_or(name)
}

fn paragraphs(text: &str, width: usize) -> String {
    text.split("\n\n")
        .map(|p| report::wrap(&p.replace('\n', " "), width).join("\n") + "\n")
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(name: &str) -> anyhow::Result<String> {
        pages(name, 80, &crate::command())
    }

    #[test]
    fn every_word_of_the_terms_is_explained_however_it_is_written() {
        for term in TERMS {
            for name in std::iter::once(&term.name).chain(term.also) {
                assert!(page(name).unwrap().contains(" (terms)"), "{name}");
            }
        }
        for name in ["knee", "P99", "phantoms", "s-clients", "service-time", "xmax", "server-cpu", "accept_queue"] {
            assert!(page(name).is_ok(), "{name}");
        }
        let of = |words: &[&str]| {
            all_pages(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), 80, &crate::command())
        };
        let both = of(&["knee", "p99"]).unwrap();
        assert!(both.contains(&page("knee").unwrap()) && both.contains(&page("p99").unwrap()), "{both}");
        assert_eq!(of(&["service", "time"]).unwrap(), page("service-time").unwrap());
        assert!(of(&["knee", "p98.7"]).is_err());
        assert!(page("kneee").unwrap_err().to_string().contains("knee"));
        assert!(page("compare").unwrap().contains("`loadline compare --help`"));
        assert!(of(&["loadline", "compare"]).unwrap().starts_with("compare (command)"));
        assert!(page("comparee").unwrap_err().to_string().contains("\"compare\""));
    }
}
