//! Output forms of a report, with one file per form.
//!
//! To add a form, write a file with `fn make(&Doc, &Run, &Style) -> Result<String, ReportError>`, and add a row to
//! [`FORMS`].

mod brief;
mod clauses;
mod code_spans;
mod csv;
mod figures;
mod fitted;
mod folded;
mod hdr;
mod html;
mod html_table;
mod json;
mod markdown;
mod openmetrics;
mod paint;
mod svg;
mod text;
mod text_table;
mod wrap;

use run::Run;

use crate::{Doc, ReportError, Style};

pub use fitted::fitted;
pub use markdown::markdown_table;
pub use openmetrics::{SideNow, openmetrics_now};
pub use wrap::wrap;

/// An output form, as listed in [`FORMS`].
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Name of the form, as in `--form NAME`.
    pub name: &'static str,
    /// File name extension, without the dot.
    pub extension: &'static str,
    /// Purpose of the form, as a phrase.
    pub help: &'static str,
    /// Function that renders the form.
    pub make: fn(&Doc, &Run, &Style) -> Result<String, ReportError>,
}

/// Renders the brief text for the end of a command: the answer section. For a document without an answer section,
/// renders the sections with the weight `First` instead. If the rendered sections need more than `most` lines, leaves
/// out table rows.
pub(crate) fn brief(doc: &Doc, style: &Style, most: usize) -> String {
    brief::brief(doc, style, most)
}

/// All output forms of `loadline report`.
pub const FORMS: &[Form] = &[
    Form { name: "text", extension: "txt", help: "for a terminal of any width: the verdict first", make: text::make },
    Form {
        name: "html",
        extension: "html",
        help: "one page with all figures, no network and no script needed, light and dark",
        make: html::make,
    },
    Form {
        name: "json",
        extension: "json",
        help: "run.json itself: every raw fact and every finding",
        make: json::make,
    },
    Form {
        name: "csv",
        extension: "csv",
        help: "one row per trial, units in the names of the columns",
        make: csv::make,
    },
    Form { name: "markdown", extension: "md", help: "for an issue, a wiki or a README", make: markdown::make },
    Form {
        name: "openmetrics",
        extension: "om",
        help: "an OpenMetrics exposition for a metrics store",
        make: openmetrics::make,
    },
    Form {
        name: "folded",
        extension: "folded",
        help: "stacks of the server's threads, for flame graph tools",
        make: folded::make,
    },
    Form {
        name: "svg",
        extension: "svg",
        help: "flame graphs of the server's threads as one picture",
        make: svg::make,
    },
    Form {
        name: "hdr",
        extension: "hlog",
        help: "HdrHistogram V2 log: every histogram of every trial under its own tag",
        make: hdr::make,
    },
];
