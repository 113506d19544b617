//! Documents made from runs. A [`run::Run`] goes in, text comes out; nothing here reads a clock, a file or the network,
//! so any old run can be drawn again.
//!
//! Pages ([`PAGES`]) turn a run into a [`Doc`]: sections of blocks without any form. Forms ([`FORMS`]) print it.

mod doc;
mod forms;
mod number;
mod pages;
mod plot;
mod style;

pub use doc::{Block, Cell, Col, Doc, EvidenceLine, Item, KeyFigure, List, Note, Section, Table, Tone, Weight};
pub use forms::{FORMS, Form, markdown_table};
pub use number::{Unit, count, number, quantity, quantity_in, significant};
pub use pages::{PAGES, Page, busiest_device};
pub use plot::{
    Axis, Band, BarRow, Bars, Frame, Hue, Look, Mark, Plot, Scale, Segment, Series, Spot, bars_svg, plot_svg,
};
pub use style::{ReportError, Style};

/// Everything that the pages have to say about a run.
pub fn document(run: &run::Run) -> Doc {
    pages::document(run)
}

/// A run in one of the [`FORMS`].
pub fn render(form: &str, run: &run::Run, style: &Style) -> Result<String, ReportError> {
    let row = FORMS.iter().find(|f| f.name == form).ok_or_else(|| ReportError::UnknownForm {
        asked: form.into(),
        known: FORMS.iter().map(|f| f.name).collect::<Vec<_>>().join(", "),
    })?;
    (row.make)(&document(run), run, style)
}
