//! Forms of answers other than runs: comparisons and predictions.

use run::Run;
use serde::Serialize;

use crate::{Doc, FORMS, ReportError, Style};

/// Forms that need only a document.
const KNOWN: [&str; 3] = ["text", "markdown", "html"];

/// Renders an answer. Text, Markdown and HTML show the document, and JSON shows the answer itself.
pub(crate) fn render<T: Serialize>(form: &str, answer: &T, doc: &Doc, style: &Style) -> Result<String, ReportError> {
    if form == "json" {
        return Ok(serde_json::to_string_pretty(answer)
            .map_err(|e| ReportError::Broken { form: "json", message: e.to_string() })?
            + "\n");
    }
    let row = FORMS.iter().find(|f| f.name == form && KNOWN.contains(&form));
    let row = row
        .ok_or_else(|| ReportError::UnknownForm { asked: form.into(), known: format!("{}, json", KNOWN.join(", ")) })?;
    (row.make)(doc, &Run::default(), style)
}
