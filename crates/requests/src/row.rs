//! One row of the table of formats.

use crate::error::ReadError;
use crate::found::{Imported, Source};

/// Maximum number of lines that are examined to recognize a format.
pub(crate) const MAX_LINES_LOOKED_AT: usize = 100;

/// A file format of requests.
#[derive(Clone, Copy, Debug)]
pub struct FormatSpec {
    /// Name of the format, such as `toml` or `urls`.
    pub name: &'static str,
    /// Description in one line.
    pub help: &'static str,
    /// Returns true if a text looks like a file of the format.
    pub(crate) matches: fn(&str) -> bool,
    /// Reads a text in the format of the row.
    pub(crate) read: fn(&Source<'_>) -> Result<Imported, ReadError>,
}
