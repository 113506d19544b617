//! Conclusions and checks of an experiment. Failed checks are highlighted.

use run::{Check, Run};

use crate::{Block, Cell, Col, Note, Section, Table, Tone, Weight};
use run::number::number;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let mut sections = Vec::new();
    let said = &run.findings.conclusions;
    if !said.is_empty() {
        let blocks = said.iter().map(|c| Block::Paragraph(c.clone())).collect();
        sections.push(Section::new("conclusions", "What it shows", Weight::Main, blocks));
    }
    if !run.findings.checks.is_empty() {
        sections.push(checks(&run.findings.checks));
    }
    sections
}

fn checks(checks: &[Check]) -> Section {
    let failed = checks.iter().filter(|c| !c.pass).count();
    let note = match failed {
        0 if checks.len() == 1 => Note::block(Tone::Good, "The check held."),
        0 => Note::block(Tone::Good, format!("All {} checks held.", checks.len())),
        n => Note::block(Tone::Bad, format!("{n} of {} checks failed.", checks.len())),
    };
    // A phone shows only the first columns without scrolling, so the result is the first column.
    let columns =
        vec![Col::figures("held", 0), Col::words("claim", 0), Col::figures("came out", 0), Col::figures("wanted", 0)];
    let table = Table { columns, rows: checks.iter().map(row).collect(), ..Table::default() };
    Section::new("checks", "Checks", Weight::Main, vec![note, Block::Table(table)])
}

fn row(check: &Check) -> Vec<Cell> {
    let (word, tone) = if check.pass { ("yes", Tone::Good) } else { ("FAILED", Tone::Bad) };
    let wanted = format!("{} {}", check.relation, precise(check.limit));
    vec![
        Cell::new(word).toned(tone),
        Cell::new(check.name.clone()),
        Cell::new(precise(check.value)),
        Cell::new(wanted.trim().to_string()),
    ]
}

/// Formats a number with three digits. A number near 1 gets up to five decimals, because an R² of 0.9996 must not look
/// like 1.
fn precise(v: f64) -> String {
    let near_one = (0.99..1.01).contains(&v) && v != 1.0;
    match format!("{v:.5}") {
        text if near_one && text == "1.00000" => text,
        text if near_one => text.trim_end_matches('0').into(),
        _ => number(v),
    }
}

#[cfg(test)]
mod tests {
    use super::precise;

    #[test]
    fn values_near_1_keep_their_digits() {
        assert_eq!([0.999_6, 0.999_999_8, 1.0, 0.97, 0.771].map(precise), ["0.9996", "1.00000", "1", "0.97", "0.771"]);
    }
}
