//! Table of the resources that are needed to double the capacity.

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
    let columns = vec![Col::words("resource", 0), Col::figures("needed", 0), Col::figures("then reaches", 0)];
    let table = Table {
        caption:
            "Resources in the order in which they would be full, by what a request needs of each. `loadline what-if` \
                  predicts any other change, with an interval."
                .into(),
        columns,
        rows: run.findings.what_if.iter().map(row).collect(),
        ..Table::default()
    };
    vec![Section::new("double", "To double this", Weight::Full, vec![Block::Table(table)])]
}
