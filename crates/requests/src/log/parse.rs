//! Parses lines of any access log.

use super::fields::Fields;
use super::{json, line};

/// Parses a line of a log: JSON, or a line with a request in quotation marks. The error has a column, counted from 1,
/// and a message.
pub(super) fn parse(line: &str, fields: &Fields) -> Result<line::Logged, (usize, String)> {
    if line.trim_start().starts_with('{') { json::parse(line, fields) } else { line::plain(line) }
}
