//! Costs per request of each request class on the server, as estimates with intervals. A sentence names the most
//! expensive class.

use run::{ClassCosts, ClassFinding, Run};

use crate::{Block, Cell, Col, Note, Table, Tone, Unit};
use run::number::quantity;

/// Returns the table of costs, and the sentence about the most expensive class; empty if the run has no estimates.
pub(super) fn blocks(run: &Run) -> Vec<Block> {
    let Some(costs) = &run.findings.class_costs else { return Vec::new() };
    let found = &run.findings.classes;
    let columns = vec![
        Col::words("class", 0),
        Col::figures("server CPU per request", 0),
        Col::figures("95 % interval", 0),
        Col::figures("of the requests", 1),
        Col::figures("of their CPU", 0),
    ];
    let mut table = Table {
        caption: "Cost of a request of each class for the server.".into(),
        columns,
        rows: found.iter().filter_map(row).collect(),
        ..Table::default()
    };
    table.notes.push(sentence_of(&costs.how));
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(dearest(found, costs).map(|sentence| Note::block(Tone::Plain, sentence)));
    blocks
}

fn row(class: &ClassFinding) -> Option<Vec<Cell>> {
    let cost = class.server_cpu?;
    let us = |us: Option<f64>| quantity(us.unwrap_or(f64::NAN), Unit::Micros);
    let share = |share: Option<f64>| quantity(share.unwrap_or(f64::NAN), Unit::Share);
    Some(vec![
        class.name.clone().into(),
        us(Some(cost.us)).into(),
        format!("{} to {}", us(cost.low), us(cost.high)).into(),
        share(class.share).into(),
        share(class.server_cpu_share).into(),
    ])
}

/// Returns a sentence that names the class with the largest share of the server's CPU time. The sentence also says if
/// the classes' intervals overlap.
fn dearest(found: &[ClassFinding], costs: &ClassCosts) -> Option<String> {
    let class = found.get(costs.dearest?)?;
    let share = |share: Option<f64>| quantity(share.unwrap_or(f64::NAN), Unit::Share);
    let figures = format!(
        "{} of the requests, and by this estimate {} of the server's CPU time for them",
        share(class.share),
        share(class.server_cpu_share)
    );
    Some(match costs.sure {
        true => format!("{} costs the server most: {figures}.", class.name),
        false => format!("{} may cost the server most ({figures}), but the intervals overlap.", class.name),
    })
}

/// Returns the text as a sentence that begins with a capital letter and ends with a full stop.
fn sentence_of(how: &str) -> String {
    let mut chars = how.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

#[cfg(test)]
mod tests {
    use run::CpuEstimate;

    use super::*;

    fn class(name: &str, us: f64, share: f64, cpu: f64) -> ClassFinding {
        ClassFinding {
            name: name.into(),
            share: Some(share),
            server_cpu: Some(CpuEstimate { us, low: Some(0.9 * us), high: Some(1.1 * us) }),
            server_cpu_share: Some(cpu),
            ..ClassFinding::default()
        }
    }

    #[test]
    fn costs_have_intervals_and_the_most_expensive_class_is_named() {
        let mut run = Run::default();
        run.findings.classes = vec![class("page", 100.0, 0.6, 0.23), class("search", 500.0, 0.4, 0.77)];
        assert!(blocks(&run).is_empty());
        let how = "an estimate: a regression".to_owned();
        run.findings.class_costs = Some(ClassCosts { windows: 9, dearest: Some(1), sure: true, how });
        let [Block::Table(table), Block::Note(note)] = &blocks(&run)[..] else { panic!("a table and its sentence") };
        let cells: Vec<&str> = table.rows[1].iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(cells, ["search", "500 µs", "450 µs to 550 µs", "40 %", "77 %"]);
        assert_eq!(table.notes, ["An estimate: a regression."]);
        assert!(note.text.starts_with("search costs the server most: 40 % of the requests"), "{}", note.text);
        run.findings.class_costs.as_mut().unwrap().sure = false;
        let told = blocks(&run);
        assert!(matches!(&told[1], Block::Note(note) if note.text.starts_with("search may cost the server most")));
        run.findings.classes[0].server_cpu = None;
        assert!(matches!(&blocks(&run)[0], Block::Table(table) if table.rows.len() == 1), "not told apart");
    }
}
