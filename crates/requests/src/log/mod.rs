//! Access logs: which requests users made, how often, and when.

mod collected;
mod escapes;
mod fields;
mod json;
mod line;
mod parse;
mod replay;
mod selection;
mod summary;
#[cfg(test)]
mod tests;
mod time;

use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::ReadError;
use crate::row::MAX_LINES_LOOKED_AT;
use crate::vegeta_target::is_target;
use collected::{CollectedLog, MAX_LINE_BYTES};
use fields::Fields;
pub use replay::Replay;
pub use selection::ReplayOptions;
pub use summary::Summary;

/// First bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Returns the beginning of a file, at most 256 KiB. If the file is compressed with gzip, unpacks it. If a compressed
/// file is cut off, returns the part that can be unpacked.
pub(crate) fn beginning(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    let read = unpacked(path)?.take(MAX_LINE_BYTES * 4).read_to_end(&mut bytes);
    if bytes.is_empty() {
        read?;
    }
    Ok(escapes::line_text(&bytes).into_owned())
}

/// Opens a file. If the file is compressed with gzip, reading it yields the unpacked text.
fn unpacked(path: &Path) -> std::io::Result<Box<dyn Read>> {
    let mut file = BufReader::new(std::fs::File::open(path)?);
    let packed = file.fill_buf()?.starts_with(GZIP);
    Ok(if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

/// Returns true if a file is compressed with gzip, and nothing of it can be unpacked.
pub fn is_damaged_gzip(path: &Path) -> bool {
    let is_packed = std::fs::File::open(path).and_then(|file| Ok(BufReader::new(file).fill_buf()?.starts_with(GZIP)));
    is_packed.unwrap_or(false) && beginning(path).is_err()
}

/// Returns true if a file is an access log, judged by its first lines.
pub fn looks_like_log(path: &Path) -> bool {
    beginning(path).is_ok_and(|text| text_looks_like_log(&text))
}

/// Returns true if one of the first lines of a text is a line of an access log.
pub(crate) fn text_looks_like_log(text: &str) -> bool {
    let Ok(usual) = Fields::new("") else { return false };
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(MAX_LINES_LOOKED_AT);
    lines.any(|line| !is_target(line) && parse::parse(line, &usual).is_ok_and(|logged| logged.is_of_a_log()))
}

/// Reads an access log. If the log is compressed with gzip, unpacks it.
pub(crate) fn replay(path: &Path, options: &ReplayOptions) -> Result<Replay, ReadError> {
    let name = path.display().to_string();
    let fail = |message: String| ReadError { file: name.clone(), place: None, message };
    let fields = Fields::new(&options.fields).map_err(|why| fail(format!("--replay-fields: {why}")))?;
    let unreadable = |e: std::io::Error| fail(format!("cannot be read ({e}); name a readable access log"));
    let mut log = CollectedLog::default();
    let text = unpacked(path).map_err(unreadable)?;
    log.read(BufReader::new(text), &fields, options).map_err(unreadable)?;
    log.summary.unused_allowed = options.allowed_but_absent(&log.summary.methods);
    Replay::new(log, &name)
}
