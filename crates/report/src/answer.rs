//! Renders results other than runs, such as comparisons and predictions, as text, Markdown, HTML or JSON.

use run::Run;
use serde::Serialize;

use crate::{Doc, FORMS, ReportError, Style};

/// Output forms of results other than runs. Forms that are not listed, such as CSV, need the run from which the
/// document was made.
pub const ANSWER_FORMS: [&str; 4] = ["text", "markdown", "html", "json"];

/// Renders a result, such as a comparison, in an output form. Text, Markdown and HTML show the document `doc`, and JSON
/// shows `answer` itself.
pub(crate) fn render<T: Serialize>(form: &str, answer: &T, doc: &Doc, style: &Style) -> Result<String, ReportError> {
    if form == "json" {
        return Ok(serde_json::to_string_pretty(answer)
            .map_err(|e| ReportError::Broken { form: "json", message: e.to_string() })?
            + "\n");
    }
    let row = FORMS.iter().find(|f| f.name == form && ANSWER_FORMS.contains(&form));
    let row = row.ok_or_else(|| ReportError::UnknownForm { asked: form.into(), known: ANSWER_FORMS.join(", ") })?;
    (row.make)(doc, &Run::default(), style)
}
