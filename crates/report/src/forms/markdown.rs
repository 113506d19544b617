//! Markdown form, for issues, wikis and the project's generated documentation. Tables are written with pipes.

use run::Run;

use super::code_spans::{Piece, code_spans};
use super::wrap::clean;
use crate::{Block, Doc, ReportError, Section, Style, Table, Tone};
use run::number::quantity;

pub(super) fn make(doc: &Doc, _: &Run, _: &Style) -> Result<String, ReportError> {
    let mut out = format!("# {}\n", escape(&doc.title));
    if !doc.subtitle.is_empty() {
        out.push_str(&format!("\n{}\n", escape(&doc.subtitle)));
    }
    doc.sections.iter().for_each(|s| section(s, &mut out));
    Ok(out)
}

/// Renders a table in Markdown from the texts of its cells, for generated pages.
pub fn markdown_table(columns: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = line(columns.iter().map(|c| escape(c)).collect());
    out.push_str(&format!("|{}\n", "---|".repeat(columns.len())));
    rows.iter().for_each(|row| out.push_str(&line(row.iter().map(|c| escape(c)).collect())));
    out
}

/// Appends a section of the document as Markdown. Leaves out a section that has only charts.
fn section(section: &Section, out: &mut String) {
    let texts: Vec<String> = section.blocks.iter().map(block).filter(|text| !text.is_empty()).collect();
    if !section.title.is_empty() && !texts.is_empty() {
        out.push_str(&format!("\n## {}\n", escape(&section.title)));
    }
    texts.iter().for_each(|text| {
        out.push('\n');
        out.push_str(text);
    });
}

fn block(block: &Block) -> String {
    match block {
        Block::Paragraph(text) => escape(text) + "\n",
        Block::Note(note) if note.tone == Tone::Good => format!("{}\n", escape(&note.text)),
        Block::Note(note) => format!("> **Note:** {}\n", escape(&note.text)),
        Block::Answer(lines) => {
            let line = |l: &crate::AnswerLine| {
                let value = if l.value.is_empty() { String::new() } else { format!("**{}** ", escape(&l.value)) };
                format!("- {}: {value}{}", escape(&l.name), escape(&l.detail)).trim_end().to_string() + "\n"
            };
            lines.iter().map(line).collect()
        }
        Block::Warnings(warnings) => {
            let all = warnings.shown.iter().cloned().chain(warnings.rest(false));
            all.map(|text| format!("> **Note:** {}\n", escape(&text))).collect::<Vec<_>>().join("\n")
        }
        Block::KeyFigures(figures) => {
            let line = |f: &crate::KeyFigure| {
                let detail = if f.detail.is_empty() { String::new() } else { format!(" ({})", escape(&f.detail)) };
                format!("- **{}:** {}{detail}\n", escape(&f.name), escape(&f.value))
            };
            figures.iter().map(line).collect()
        }
        Block::Evidence(lines) => {
            let line = |l: &crate::EvidenceLine| {
                let place = if l.place.is_empty() { String::new() } else { format!(" [{}]", escape(&l.place)) };
                format!("- {}{place}\n", escape(&l.text))
            };
            format!("**Because**\n\n{}", lines.iter().map(line).collect::<String>())
        }
        Block::List(list) => {
            let line = |i: &crate::Item| match i.term.as_str() {
                "" => format!("- {}\n", escape(&i.text)),
                term => format!("- {}: {}\n", escape(term), escape(&i.text)),
            };
            format!("**{}**\n\n{}", escape(&list.title), list.items.iter().map(line).collect::<String>())
        }
        Block::Table(table) => self::table(table),
        Block::Bars(bars) if bars.terminal_only => String::new(),
        Block::Bars(bars) => {
            let row = |r: &crate::BarRow| vec![r.label.clone(), quantity(r.sum(), bars.unit)];
            let rows: Vec<Vec<String>> = bars.rows.iter().map(row).collect();
            format!("{}\n\n{}", escape(&bars.title), markdown_table(&["", "value"], &rows))
        }
        Block::Chain(chain) => {
            let line =
                |(i, step): &(usize, usize)| format!("{}- {}\n", "  ".repeat(*step), escape(&chain.links[*i].told()));
            format!("{}\n\n{}", escape(&chain.title), chain.order().iter().map(line).collect::<String>())
        }
        // The Markdown form leaves out curves, which only the HTML form draws.
        Block::Plot(_) | Block::Multiples(_) | Block::Intervals(_) => String::new(),
        Block::Flame(flame) if flame.has_table => String::new(),
        Block::Flame(flame) => {
            let lines: String = flame.lines().map(|line| format!("- {}\n", escape(&line))).collect();
            format!("{}\n\n{lines}", escape(&flame.title))
        }
    }
}

fn table(table: &Table) -> String {
    let mut out = String::new();
    if !table.caption.is_empty() {
        out.push_str(&format!("{}\n\n", escape(&table.caption)));
    }
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    out.push_str(&line(table.columns.iter().map(|c| escape(&c.name)).collect()));
    let rule: Vec<&str> = table.columns.iter().map(|c| if c.right { "---:" } else { "---" }).collect();
    out.push_str(&format!("| {} |\n", rule.join(" | ")));
    for row in &table.rows {
        out.push_str(&line(row.iter().map(|c| escape(&c.text)).collect()));
    }
    if !table.notes.is_empty() {
        out.push('\n');
        table.notes.iter().for_each(|n| out.push_str(&format!("{}\n", escape(n))));
    }
    out
}

/// Escapes a text for Markdown. The result contains no markup except code, no HTML, and nothing that would end a table
/// cell or a line.
fn escape(text: &str) -> String {
    let piece = |piece| match piece {
        Piece::Words(words) => escape_words(words),
        // Within code, only the pipe needs an escape, because it would end the table cell.
        Piece::Code(code) => format!("`{}`", code.replace('|', "\\|")),
    };
    code_spans(&clean(text)).into_iter().map(piece).collect()
}

fn escape_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '[' | ']' | '|' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_words_is_rendered() {
        let text = markdown_table(&["id", "meaning"], &[vec!["a|b".into(), "<x>".into()]]);
        assert_eq!(text, "| id | meaning |\n|---|---|\n| a\\|b | &lt;x> |\n");
        assert_eq!(escape("run `find '<a>' | x*` and * `"), "run `find '<a>' \\| x*` and \\* \\`");
    }
}
