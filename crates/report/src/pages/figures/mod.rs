//! The figures of the experiments: one row of [`FIGURES`] a chart, drawn from the trials by what the row says, with the
//! published points of the source as hollow marks and in a table beside ours.
//!
//! To add a figure, add a row to `table.rs` and, where the source printed numbers, a small file in `data/`.

mod column;
mod columns;
mod draw;
mod figure;
mod plateau;
mod published;
mod ranked;
mod table;
mod tabulated;
mod value;

use run::Run;

use crate::{Block, Section, Weight};

/// A table of more trials stands behind the figures.
const LONG: usize = 60;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(name) = run.plan.experiment() else { return Vec::new() };
    let mut blocks = Vec::new();
    let mut compared = Vec::new();
    for figure in table::FIGURES.iter().filter(|f| f.experiment == name) {
        if let Some(plot) = draw::plot(figure, &run.trials) {
            compared.extend(draw::beside(figure, &plot));
            blocks.push(Block::Plot(Box::new(plot)));
        }
    }
    // A chart that would stand alone in its row takes the whole of it.
    let narrow = |b: &Block| matches!(b, Block::Plot(p) if !p.wide);
    let odd = blocks.iter().filter(|b| narrow(b)).count() % 2 == 1;
    if let Some(Block::Plot(last)) = blocks.iter_mut().rev().find(|b| narrow(b)) {
        last.wide = odd;
    }
    let mut sections = Vec::new();
    let tables = columns::tables(name, run);
    if !tables.is_empty() {
        sections.push(Section::new("results", "Results", Weight::Main, tables));
    }
    if !blocks.is_empty() {
        let figures = Section::new("figures", "Figures", Weight::Full, blocks);
        // Nobody scrolls through hundreds of rows to find the figures.
        let at = if run.trials.len() > LONG { 0 } else { sections.len() };
        sections.insert(at, figures);
    }
    if !compared.is_empty() {
        let table = Block::Table(draw::comparison(compared));
        sections.push(Section::new("published", "Beside the published numbers", Weight::Main, vec![table]));
    }
    sections
}

/// Whether the page has a table of the trials of its own.
pub(super) fn has_table(run: &Run) -> bool {
    run.plan.experiment().is_some_and(|name| !columns::tables(name, run).is_empty())
}

/// Whether the trials are of several servers, each with its own verdict in its row.
pub(super) fn judged_by_row(run: &Run) -> bool {
    run.trials.len() > 1 && run.plan.experiment().is_some_and(ranked::ranks)
}

#[cfg(test)]
mod tests {
    use super::figure::{Figure, Lines};
    use super::value::Of;
    use super::*;

    /// Every value that a figure, a table, a ranking or the plateau shows.
    fn shown() -> Vec<Of> {
        let of_figure = |figure: &Figure| {
            let lines = match figure.lines {
                Lines::Values(all) => all.iter().map(|(_, of)| *of).collect(),
                _ => Vec::new(),
            };
            [lines, vec![figure.x.of, figure.y.of]].concat()
        };
        let figures = table::FIGURES.iter().flat_map(of_figure);
        let tables = tabulated::TABLES.iter().flat_map(|t| t.columns).map(|c| c.of);
        figures.chain(tables).chain(ranked::shown()).chain(plateau::shown()).collect()
    }

    #[test]
    fn every_cost_and_counter_that_is_shown_is_a_row_of_its_table() {
        let (mut costs, mut counters) = (0, 0);
        for of in shown() {
            match of {
                Of::Cost(_, id) => {
                    assert!(judge::COSTS.iter().any(|cost| cost.id == id), "there is no cost {id}");
                    costs += 1;
                }
                Of::Counter(_, id) => {
                    assert!(run::counter(id).is_some(), "there is no counter {id}");
                    counters += 1;
                }
                _ => {}
            }
        }
        assert!(costs > 20 && counters > 2, "{costs} costs and {counters} counters");
    }
}
