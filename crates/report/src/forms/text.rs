//! Text form for a terminal. The report begins with the verdict. If a table is too wide, the form leaves out columns
//! instead of breaking lines.

use run::Run;

use super::clauses::first_clauses;
use super::paint::{code, paint};
use super::text_table::table;
use super::wrap::{clean, cut, wrap};
use crate::{
    AnswerLine, Bars, Block, Chain, Doc, EvidenceLine, KeyFigure, List, ReportError, Section, Style, Tone, Weight,
};
use run::number::quantity;

/// Width of the left column, which contains the names of figures and list entries, characters.
const GUTTER: usize = 12;

pub(super) fn make(doc: &Doc, _: &Run, style: &Style) -> Result<String, ReportError> {
    Ok(Page::of(doc, style, Weight::Main).text())
}

pub(super) struct Page {
    style: Style,
    lines: Vec<String>,
    /// Minimum importance of a section: the page leaves out sections that are less important than this weight.
    weight: Weight,
}

impl Page {
    pub(super) fn of(doc: &Doc, style: &Style, weight: Weight) -> Self {
        let style = Style { width: style.width.clamp(40, 400), ..*style };
        let mut page = Self { style, lines: Vec::new(), weight };
        page.wrapped("", "", &doc.title, "1");
        page.wrapped("", "", &doc.subtitle, "2");
        doc.sections.iter().filter(|s| s.weight <= weight).for_each(|section| page.section(section));
        page
    }

    /// Returns the number of printed lines.
    pub(super) fn height(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    fn section(&mut self, section: &Section) {
        // A blank line separates sections. If the brief form shows an answer section, there is a blank line only before
        // the section with the ID `answer`.
        if !self.lines.is_empty() && (self.weight > Weight::Answer || section.id == "answer") {
            self.lines.push(String::new());
        }
        if !section.title.is_empty() {
            let title = self.paint(&clean(&section.title), "1");
            self.lines.push(title);
        }
        section.blocks.iter().for_each(|b| self.block(b));
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Paragraph(text) => self.wrapped("", "", text, ""),
            Block::Note(note) => {
                let (sign, indent) = match note.tone {
                    Tone::Good => ("+ ", "  "),
                    Tone::Plain | Tone::Quiet => ("", ""),
                    Tone::Warn | Tone::Bad => ("! ", "  "),
                };
                self.wrapped(sign, indent, &note.text, code(note.tone));
            }
            Block::Answer(lines) => lines.iter().for_each(|line| self.answer(line)),
            Block::Warnings(warnings) => {
                let rest = warnings.rest(self.weight == Weight::Answer);
                let all = warnings.shown.iter().chain(&rest);
                all.for_each(|text| self.warning(text, warnings.max_lines));
            }
            Block::KeyFigures(figures) => figures.iter().for_each(|f| self.key_figure(f)),
            Block::Evidence(lines) => self.evidence(lines),
            Block::List(list) => self.list(list),
            Block::Table(t) if t.brief == Some(0) => {}
            Block::Table(t) => {
                let lines = table(t, &self.style, self.weight > Weight::First);
                self.lines.extend(lines);
            }
            Block::Bars(bars) => self.bars(bars),
            Block::Chain(chain) => self.chain(chain),
            // The text form leaves out curves, which the HTML form shows.
            Block::Plot(_) | Block::Multiples(_) | Block::Intervals(_) => {}
            Block::Flame(flame) if flame.has_table => {}
            Block::Flame(flame) => {
                self.wrapped("", "", &flame.title, "2");
                flame.lines().for_each(|line| self.wrapped("  ", "    ", &line, ""));
            }
        }
    }

    /// Prints a line of the summary: the name, the value in bold, and the explanation.
    fn answer(&mut self, line: &AnswerLine) {
        let (value, detail) = (clean(&line.value), clean(&line.detail));
        let lines = wrapped_clauses(&value, &detail, self.style.width - GUTTER, line.max_lines);
        let tone = if line.tone == Tone::Plain { "1" } else { code(line.tone) };
        let mut bold = value.trim().chars().count();
        for (i, told) in lines.iter().enumerate() {
            let name = gutter(if i == 0 { &line.name } else { "" });
            let (strong, plain) = told.split_at(told.char_indices().nth(bold).map_or(told.len(), |(at, _)| at));
            // If the bold value continues on the next line, the space at the line break counts as one of the value's
            // characters.
            bold = bold.saturating_sub(told.chars().count() + 1);
            self.lines.push(format!("{}{}{plain}", self.paint(&name, "2"), self.paint(strong, tone)));
        }
    }

    fn warning(&mut self, text: &str, max_lines: Option<usize>) {
        let lines = wrapped_clauses("", &clean(text), self.style.width - 2, max_lines);
        for (i, line) in lines.iter().enumerate() {
            let told = format!("{}{line}", if i == 0 { "! " } else { "  " });
            self.lines.push(self.paint(&told, code(Tone::Warn)));
        }
    }

    fn key_figure(&mut self, figure: &KeyFigure) {
        let (name, value, detail) = (clean(&figure.name), clean(&figure.value), clean(&figure.detail));
        let name = format!("{:<GUTTER$}", cut(&name, GUTTER - 1));
        let room = self.style.width - GUTTER;
        let value_width = value.chars().count();
        let painted = self.paint(&cut(&value, room), if figure.tone == Tone::Plain { "1" } else { code(figure.tone) });
        let mut line = format!("{}{painted}", self.paint(&name, "2"));
        if value_width + 2 + detail.chars().count() <= room {
            if !detail.is_empty() {
                line.push_str(&format!("  {}", self.paint(&detail, "2")));
            }
            self.lines.push(line);
        } else {
            self.lines.push(line);
            self.wrapped(&" ".repeat(GUTTER), &" ".repeat(GUTTER), &detail, "2");
        }
    }

    fn evidence(&mut self, lines: &[EvidenceLine]) {
        const BRIEF: usize = 3;
        let mut said = "";
        for (i, line) in lines.iter().take(BRIEF).enumerate() {
            // Prints the source of a line of evidence, such as `server`, unless the previous line had the same source
            // or the text contains the source.
            let known = line.place.is_empty() || line.place == said || line.text.contains(&line.place);
            let place = if known { String::new() } else { format!(" [{}]", line.place) };
            said = &line.place;
            let head = gutter(if i == 0 { "Because" } else { "" });
            self.wrapped(&head, &gutter(""), &format!("{}{place}", line.text), "");
        }
        if self.weight > Weight::First {
            self.rest(lines.len(), BRIEF, "line of evidence", "lines of evidence");
        }
    }

    fn list(&mut self, list: &List) {
        if self.weight == Weight::First && list.brief == 0 {
            return;
        }
        for (i, item) in list.items.iter().take(list.brief).enumerate() {
            let text = if item.term.is_empty() { item.text.clone() } else { format!("{}: {}", item.term, item.text) };
            let head = gutter(if i == 0 { &list.title } else { "" });
            self.wrapped(&head, &gutter(""), &text, code(item.tone));
        }
        let mut rest: Vec<&str> =
            list.items.iter().skip(list.brief).map(|i| i.term.as_str()).filter(|t| !t.is_empty()).collect();
        rest.dedup();
        if rest.is_empty() {
            if self.weight > Weight::First {
                self.rest(list.items.len(), list.brief, "more", "more");
            }
        } else {
            let lead = if list.brief == 0 { "" } else { "also " };
            let head = gutter(if list.brief == 0 { &list.title } else { "" });
            self.wrapped(&head, &gutter(""), &format!("{lead}{}", rest.join(", ")), "2");
        }
    }

    /// Prints a line with the number of list entries or table rows that were left out. If no entry or row was left out,
    /// prints nothing.
    fn rest(&mut self, all: usize, shown: usize, one: &str, many: &str) {
        if all > shown {
            let left = all - shown;
            let what = if left == 1 { one } else { many };
            self.wrapped(&gutter(""), &gutter(""), &format!("and {left} {what} in the full report"), "2");
        }
    }

    fn bars(&mut self, bars: &Bars) {
        let width = self.style.width;
        let least = if bars.terminal_only { GUTTER - 2 } else { 0 };
        let names = bars.rows.iter().map(|r| r.label.chars().count()).max().unwrap_or(0).max(least).min(width / 2);
        let room = width.saturating_sub(names + 14).min(40);
        let longest = bars.rows.iter().map(crate::BarRow::sum).fold(0.0, f64::max);
        let full = bars.full.filter(|f| *f > 0.0).map_or(longest, |f| f.max(longest));
        for row in &bars.rows {
            let share = if full > 0.0 { (row.sum() / full).clamp(0.0, 1.0) } else { 0.0 };
            let name = format!("{:<names$}", cut(&row.label, names));
            let bar = self.paint(&bar(share * room as f64, self.style.ascii), if row.strong { "33" } else { "36" });
            self.lines.push(format!("{name}  {bar} {}", quantity(row.sum(), bars.unit)));
        }
    }

    /// Prints the title of the chain, and then one line per box. Indents each line by the box's depth (the number of
    /// arrows between this box and the first box). Highlights a box whose resource is full.
    fn chain(&mut self, chain: &Chain) {
        self.wrapped("", "", &chain.title, "2");
        for (i, step) in chain.order() {
            // A terminal has too little space to indent a box by more than six levels.
            let inwards = "  ".repeat(step.min(6));
            let (first, next) = (format!("{inwards}{}", if step > 0 { "-> " } else { "" }), format!("{inwards}   "));
            let link = &chain.links[i];
            let color = if link.full.is_empty() { "" } else { code(Tone::Bad) };
            self.wrapped(&first, &next, &link.told(), color);
        }
    }

    fn wrapped(&mut self, first: &str, next: &str, text: &str, color: &str) {
        if text.is_empty() {
            return;
        }
        let room = self.style.width.saturating_sub(next.chars().count());
        for (i, line) in wrap(text, room).iter().enumerate() {
            let lead = if i == 0 { first } else { next };
            let lead = if color.is_empty() { self.paint(lead, "2") } else { self.paint(lead, color) };
            let line = format!("{lead}{}", self.paint(line, color));
            self.lines.push(line);
        }
    }

    fn paint(&self, text: &str, code: &str) -> String {
        paint(text, code, &self.style)
    }
}

/// Returns a bar of `length` characters, in steps of an eighth of a character. If `ascii` is true, the bar consists of
/// `#`.
fn bar(length: f64, ascii: bool) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if ascii {
        return "#".repeat(length.round() as usize);
    }
    let eighths = (length * 8.0).round() as usize;
    // A small value above zero must stay visible, so its bar is at least an eighth of a character long.
    let eighths = if length > 0.0 { eighths.max(1) } else { 0 };
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Wraps a sentence that begins with `value`. If the sentence is longer than `most` lines, `detail` is shortened to its
/// first whole clauses.
pub(super) fn wrapped_clauses(value: &str, detail: &str, width: usize, most: Option<usize>) -> Vec<String> {
    let lines = |part: &str| wrap([value, part].map(str::trim).join(" ").trim(), width);
    match most {
        Some(most) => lines(first_clauses(detail, |part| lines(part).len() <= most)),
        None => lines(detail),
    }
}

fn gutter(name: &str) -> String {
    format!("{:<GUTTER$}", cut(name, GUTTER - 1))
}
