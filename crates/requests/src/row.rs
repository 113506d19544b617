//! One row of the table of forms.

use crate::error::ReadError;
use crate::found::{Imported, Source};

/// A form that requests are written in.
#[derive(Clone, Copy, Debug)]
pub struct FormatSpec {
    /// Its name: `toml`, `urls`, …
    pub name: &'static str,
    /// What it is, in one line.
    pub help: &'static str,
    /// Whether the beginning of a text is of this form.
    pub(crate) looks: fn(&str) -> bool,
    /// Reads it.
    pub(crate) read: fn(&Source<'_>) -> Result<Imported, ReadError>,
}
