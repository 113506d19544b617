//! JSON form: the content of `run.json`, as in the run's directory.

use run::Run;

use crate::{Doc, ReportError, Style};

pub(super) fn make(_: &Doc, run: &Run, _: &Style) -> Result<String, ReportError> {
    let broken = |e: serde_json::Error| ReportError::Broken { form: "json", message: e.to_string() };
    Ok(escaped(&serde_json::to_string_pretty(run).map_err(broken)?) + "\n")
}

/// Replaces invisible characters in a JSON text by escapes such as `\u202e`. Invisible characters occur only inside
/// JSON strings, where JSON readers turn the escapes back into the characters.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if run::is_invisible(c) || c == '\u{7f}' || ('\u{80}'..='\u{9f}').contains(&c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}
