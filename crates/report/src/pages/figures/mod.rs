//! The figures of the experiments: one row of [`FIGURES`] a chart, drawn from the trials by what the row says, with the
//! published points of the source as hollow marks and in a table beside ours.
//!
//! To add a figure, add a row to `table.rs` and, where the source printed numbers, a small file in `data/`.

mod columns;
mod draw;
mod plateau;
mod published;
mod ranked;
mod table;
mod tabulated;
mod value;

use run::Run;

use crate::plot::Scale;
use crate::{Block, Section, Unit, Weight};

/// One chart of an experiment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    /// The experiment, as in `loadline lab NAME`.
    pub(super) experiment: &'static str,
    /// What is to be seen, in a sentence.
    pub(super) title: &'static str,
    /// How it was measured, and what the published points are.
    pub(super) caption: &'static str,
    /// Horizontal axis.
    pub(super) x: Quantity,
    /// Vertical axis.
    pub(super) y: Quantity,
    /// What the lines are.
    pub(super) lines: Lines,
    /// Only trials whose label contains this; empty takes all.
    pub(super) only: &'static str,
    /// Published points: a CSV of `series,x,y`; empty where the source printed none.
    pub(super) published: &'static str,
    /// Published levels that are no points: height and name.
    pub(super) levels: &'static [(f64, &'static str)],
}

/// A quantity on an axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantity {
    /// Path of the value in a trial, see `value.rs`.
    pub(super) of: &'static str,
    /// Name of the axis.
    pub(super) label: &'static str,
    /// How ticks are written.
    pub(super) unit: Unit,
    /// How values become distances.
    pub(super) scale: Scale,
}

/// What the lines of a figure are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lines {
    /// One line of this name over all trials.
    One(&'static str),
    /// One line for each first part of the labels, up to `, `: `epoll, 750 cold` belongs to `epoll`.
    ByLabel,
    /// One line a value: name and path; the path of `y` is not used.
    Values(&'static [(&'static str, &'static str)]),
}

/// A table of more trials stands behind the figures.
const LONG: usize = 60;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(name) = experiment(run) else { return Vec::new() };
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
    experiment(run).is_some_and(|name| !columns::tables(name, run).is_empty())
}

/// Whether the trials are of several servers, each with its own verdict in its row.
pub(super) fn judged_by_row(run: &Run) -> bool {
    run.trials.len() > 1 && experiment(run).is_some_and(ranked::ranks)
}

/// The name of the experiment, from `lab NAME`.
pub(super) fn experiment(run: &Run) -> Option<&str> {
    run.plan.command.strip_prefix("lab ").map(str::trim)
}
