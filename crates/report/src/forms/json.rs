//! run.json, as it stands in the run's directory.

use run::Run;

use crate::{Doc, ReportError, Style};

pub(super) fn make(_: &Doc, run: &Run, _: &Style) -> Result<String, ReportError> {
    let broken = |e: serde_json::Error| ReportError::Broken { form: "json", message: e.to_string() };
    Ok(serde_json::to_string_pretty(run).map_err(broken)? + "\n")
}
