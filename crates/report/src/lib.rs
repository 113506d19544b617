//! Renders a [`run::Run`] as a report, which is a text in one of several forms. The code reads no clock, file or
//! network, so loadline can render an old run again at any time.
//!
//! Pages ([`PAGES`]) turn a run into a [`Doc`]: sections of blocks, independent of any output form. Forms ([`FORMS`])
//! print a [`Doc`].

mod answer;
mod answer_line;
mod arena;
mod comparison;
mod doc;
mod estimate_cell;
mod forms;
mod history;
mod pages;
mod plot;
mod size;
mod style;
mod tone;
mod what_if;
mod words;

pub use answer::ANSWER_FORMS;
pub use answer_line::{AnswerLine, Warnings};
pub use arena::render_arena;
pub use comparison::{ComparedRun, brief_comparison, comparison_page, render_comparison};
pub use doc::{Block, Cell, Col, Doc, EvidenceLine, Item, KeyFigure, List, Note, Section, Table, Weight};
pub use forms::{FORMS, Form, SideNow, fitted, markdown_table, openmetrics_now, wrap};
pub use history::render_history;
pub use pages::{PAGES, Page, busiest_device, short_time};
pub use plot::{
    Axis, Band, BarRow, Bars, Chain, Flame, Frame, Hue, IntervalRow, Intervals, Link, Look, Mark, Plot, Scale, Segment,
    Series, Spot, bars_svg, chain_svg, flame_svg, intervals_svg, plot_svg,
};
pub use run::number::{Unit, count, number, quantity, significant};
pub use size::{capacity_words, render_size, setting_words};
pub use style::{ReportError, Style};
pub use tone::Tone;
pub use what_if::render_what_if;

/// Returns the document of a run with all pages.
pub fn document(run: &run::Run) -> Doc {
    pages::document(run)
}

/// Returns a summary of a run's result in a few lines. For a run without a summary, returns the essential parts
/// instead: verdict, reasons, advice and trials. If the essential parts need more than `most` lines, leaves out table
/// rows.
pub fn brief(run: &run::Run, style: &Style, most: usize) -> String {
    forms::brief(&document(run), style, most)
}

/// Returns summary lines with the capacity and the bottleneck that a running search has found so far; empty for other
/// runs.
pub fn so_far(run: &run::Run) -> Vec<AnswerLine> {
    pages::so_far(run)
}

/// Renders the activities of the server's sampled threads, for a terminal. The text also contains the activities of the
/// server's databases, and the sampled stacks. The first line of the text is `headline`. `rest` says where readers find
/// the rows that the text leaves out, such as `with --json`.
pub fn render_waits(run: &run::Run, headline: &str, rest: &'static str, style: &Style) -> String {
    let blocks = run.sampled_waits().map(pages::wait_blocks).unwrap_or_default();
    let further = run.findings.waits.iter().skip(1).map(|f| Note::block(Tone::Plain, format!("{}.", f.sentence)));
    let stacks = run.sampled_stacks().map(|stacks| pages::stack_blocks(&stacks, &run.findings)).unwrap_or_default();
    let databases = run.sampled_databases().iter().flat_map(pages::database_blocks);
    let mut blocks: Vec<Block> = further.chain(blocks).chain(databases).chain(stacks).collect();
    for block in &mut blocks {
        if let Block::Table(table) = block {
            table.rest = Some(rest);
        }
    }
    let sections = vec![Section::new("waits", "", Weight::First, blocks)];
    forms::brief(&Doc { title: headline.into(), sections, ..Doc::default() }, style, usize::MAX)
}

/// Renders a run in the output form `form`, one of [`FORMS`].
pub fn render(form: &str, run: &run::Run, style: &Style) -> Result<String, ReportError> {
    let row = FORMS.iter().find(|f| f.name == form).ok_or_else(|| ReportError::UnknownForm {
        asked: form.into(),
        known: FORMS.iter().map(|f| f.name).collect::<Vec<_>>().join(", "),
    })?;
    (row.make)(&document(run), run, style)
}
