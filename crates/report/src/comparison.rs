//! A comparison as a document: the verdict, what else differs, and one table of all figures.

use run::{Compared, ComparedWord, Comparison};

use crate::number::{quantity_in, significant};
use crate::{Block, Cell, Col, Doc, KeyFigure, Note, ReportError, Section, Style, Table, Tone, Weight};

/// Renders a comparison: `text`, `markdown`, `html` or `json`.
pub fn render_comparison(form: &str, comparison: &Comparison, style: &Style) -> Result<String, ReportError> {
    crate::answer::render(form, comparison, &document(comparison), style)
}

fn document(comparison: &Comparison) -> Doc {
    let mut blocks: Vec<Block> =
        comparison.differences.iter().map(|d| Note::block(Tone::Warn, format!("Not the same: {d}"))).collect();
    blocks.push(Block::KeyFigures(vec![KeyFigure {
        name: "Verdict".into(),
        value: comparison.verdict.name().into(),
        detail: decided(comparison),
        tone: tone(comparison.verdict),
    }]));
    blocks.extend(comparison.tls.iter().map(|tls| Note::block(Tone::Plain, tls.sentence.clone())));
    blocks.push(Block::Table(table(comparison)));
    Doc {
        title: title(comparison),
        subtitle: format!("old: {} · new: {}", comparison.old, comparison.new),
        sections: vec![Section::new("compare", "", Weight::First, blocks)],
    }
}

fn title(comparison: &Comparison) -> String {
    let threshold = significant(100.0 * comparison.threshold);
    match comparison.verdict {
        ComparedWord::Faster => "The new one is faster".into(),
        ComparedWord::Slower if comparison.regression => format!("Slower by more than {threshold} %"),
        ComparedWord::Slower => format!("Slower, by less than {threshold} %"),
        ComparedWord::Same => format!("The same within {threshold} %"),
        ComparedWord::NotEnough => "Not enough data to tell them apart or to call them the same".into(),
    }
}

fn decided(comparison: &Comparison) -> String {
    let Some(figure) = &comparison.decided_by else {
        return "no figure could be decided; measure longer, or repeat".into();
    };
    let ratio = comparison.comparisons.iter().find(|c| c.figure == *figure).map(change).unwrap_or_default();
    format!("decided by {figure}: {ratio}")
}

fn tone(word: ComparedWord) -> Tone {
    match word {
        ComparedWord::Faster | ComparedWord::Same => Tone::Good,
        ComparedWord::Slower => Tone::Bad,
        ComparedWord::NotEnough => Tone::Warn,
    }
}

fn change(c: &Compared) -> String {
    let percent = |ratio: f64| format!("{:+.1} %", 100.0 * (ratio - 1.0));
    match c.low.zip(c.high) {
        Some((low, high)) => format!("{} ({} to {})", percent(c.ratio), percent(low), percent(high)),
        None => percent(c.ratio),
    }
}

fn table(comparison: &Comparison) -> Table {
    let names = [("figure", false), ("old", true), ("new", true), ("change, 95 % interval", true), ("p", true)];
    let mut columns: Vec<Col> =
        names.into_iter().map(|(name, right)| Col { name: name.into(), right, rank: 0 }).collect();
    columns.push(Col { name: "word".into(), right: false, rank: 0 });
    let open = comparison.comparisons.iter().any(|c| c.more.is_some());
    let note = "not-enough (×N): about N times as many windows would decide it";
    let notes = open.then(|| note.to_string()).into_iter().collect();
    Table { columns, rows: comparison.comparisons.iter().map(row).collect(), notes, ..Table::default() }
}

fn row(c: &Compared) -> Vec<Cell> {
    let more = c.more.filter(|m| *m > 1.0).map(|m| format!(" (×{})", significant(m.ceil())));
    let word = format!("{}{}", c.word.name(), more.unwrap_or_default());
    let p = c.p.map_or_else(|| "-".into(), |p| if p < 1e-4 { "<0.0001".into() } else { significant(p) });
    vec![
        c.figure.as_str().into(),
        quantity_in(c.old, &c.unit).into(),
        quantity_in(c.new, &c.unit).into(),
        change(c).into(),
        p.into(),
        Cell { text: word, ..Cell::default() }.toned(tone(c.word)),
    ]
}
