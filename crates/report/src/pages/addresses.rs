//! Table of the server's addresses, one row per address, if the client's connections alternated between several
//! addresses.

use run::{AddressPart, Run, SummaryFigure, Trial};

use super::pick;
use super::times::short_time;
use crate::{Block, Cell, Col, Section, Table, Tone, Unit, Weight};
use run::number::{count, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(trial) = run.picked(|p| p.loaded).filter(|trial| !trial.addresses.is_empty()) else { return Vec::new() };
    vec![Section::new("addresses", "Addresses of the server", Weight::Main, vec![Block::Table(table(trial))])]
}

fn table(trial: &Trial) -> Table {
    let mut table = Table {
        caption: format!("Requests to each address at {}.", pick::name(trial)),
        columns: vec![
            Col::words("address", 0),
            Col::figures("connections", 0),
            Col::figures("completed", 0),
            Col::figures("failed", 1),
            Col::figures("p50", 1),
            Col::figures("p99", 0),
        ],
        rows: trial.addresses.iter().map(row).collect(),
        ..Table::default()
    };
    table.explain_absent();
    table
}

fn row(part: &AddressPart) -> Vec<Cell> {
    let (requests, counts) = (&part.requests, &part.requests.measured);
    let summary = requests.summary();
    let failed = counts.failed.saturating_add(counts.unexpected_status);
    let all = counts.completed.saturating_add(counts.failed);
    let failed = match all {
        0 => Cell::absent("no request ended"),
        all => Cell::from(quantity(failed as f64 / all as f64, Unit::Share)).toned(if failed > 0 {
            Tone::Bad
        } else {
            Tone::Plain
        }),
    };
    vec![
        requests.name.clone().into(),
        count(part.connections).into(),
        count(counts.completed).into(),
        failed,
        short_time(summary.figure(SummaryFigure::P50)).into(),
        short_time(summary.figure(SummaryFigure::P99)).into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{ClassPart, ClassTally, Hist};

    #[test]
    fn each_address_has_a_row_with_its_connections() {
        let part = |name: &str, connections, failed| {
            let mut response = Hist::new();
            response.record_many_ns(1_000_000, 100);
            let measured = ClassTally { completed: 100, failed, ..ClassTally::default() };
            AddressPart {
                connections,
                requests: ClassPart { name: name.into(), measured, response, ..ClassPart::default() },
            }
        };
        let addresses = vec![part("10.0.0.1:80", 7, 0), part("10.0.0.2:80", 6, 100)];
        let mut run = Run { trials: vec![Trial { addresses, ..Trial::default() }], ..Run::default() };
        run.findings.picks.loaded = Some(0);
        let text = crate::render("text", &run, &crate::Style::default()).unwrap();
        assert!(text.contains("10.0.0.1:80") && text.contains("50 %"), "{text}");
        run.trials[0].addresses.clear();
        assert!(sections(&run).is_empty());
    }
}
