//! What it would take to double the capacity.

use run::{ResourceNeed, Run};

use crate::{Block, Cell, Col, Section, Table, Unit, Weight};
use run::number::{number, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    if run.findings.what_if.is_empty() {
        return Vec::new();
    }
    let row = |n: &ResourceNeed| -> Vec<Cell> {
        let times = format!("{} times", number(n.factor));
        vec![Cell::new(n.device.clone()), Cell::new(times), Cell::new(quantity(n.reaches, Unit::PerSecond))]
    };
    let columns = vec![Col::words("resource", 0), Col::figures("as much of it", 0), Col::figures("reaches", 0)];
    let table = Table {
        caption:
            "By what a request needs of each, in the order in which they would stop the server; `loadline what-if` \
                  answers for any change, with an interval."
                .into(),
        columns,
        rows: run.findings.what_if.iter().map(row).collect(),
        ..Table::default()
    };
    vec![Section::new("double", "To double this", Weight::Full, vec![Block::Table(table)])]
}
