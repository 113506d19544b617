//! Tests of the reports of `compare`, `what-if`, `arena`, `size` and `history`, in the forms that people read. Every
//! report must show its conclusion and the intervals of its figures. Names with markup or control characters must
//! appear as plain text.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod arena;
mod comparisons;
mod histories;
mod sizes;
mod what_if;

use loadline_report::Style;
use run::Estimate;

/// Name that tries to run as a script, to change the terminal's colour, and to reverse the text after it.
pub(crate) const HOSTILE: &str = "old<script>alert('x')</script>|\u{1b}[31m\u{202e}";
/// Style of a terminal that is wide enough for whole tables, so no cell needs a line break.
pub(crate) const WIDE: Style = Style { width: 300, color: false, ascii: false };

pub(crate) fn estimate(value: f64, low: f64, high: f64) -> Estimate {
    Estimate { value, low, high }
}

/// Returns the text of a page without its tags.
pub(crate) fn shown(html: &str) -> String {
    let body = html.split_once("<body").unwrap().1.replace("<span class=\"flag\">", "").replace("</span>", "");
    let text: Vec<&str> = body.split('<').filter_map(|part| Some(part.split_once('>')?.1)).collect();
    text.join(" ").replace('\u{a0}', " ")
}

pub(crate) fn charts(html: &str) -> usize {
    html.matches("<figure class=\"chart").count()
}

pub(crate) fn all_in(text: &str, wanted: &[&str], form: &str) {
    for one in wanted {
        assert!(text.contains(one), "{one:?} is not in the {form}:\n{text}");
    }
}

/// Checks that the text contains no escape sequence and no character that changes the text direction. In HTML, names
/// must not become tags.
pub(crate) fn harmless(form: &str, text: &str) {
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{form} lets an escape through");
    if form == "html" {
        assert!(text.matches("<script").count() <= 1 && text.contains("old&lt;script&gt;"), "{form}: a name is a tag");
        assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
    }
}
