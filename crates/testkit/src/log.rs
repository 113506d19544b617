//! Reads the logs of servers that are not part of loadline.

use std::path::Path;

use crate::{Running, eventually};

/// Waits until a log has at least `lines` lines, and returns its text. A missing file counts as empty.
#[track_caller]
pub fn logged(log: &Path, lines: usize) -> String {
    eventually(|| Some(std::fs::read_to_string(log).unwrap_or_default()).filter(|text| text.lines().count() >= lines))
}

/// Waits until nginx's log has at least `lines` lines. Empties the log, and returns the fields of each line.
#[track_caller]
pub fn logged_by_nginx(nginx: &Running, log: &Path, lines: u64) -> Vec<Vec<String>> {
    let text = logged(log, lines as usize);
    std::fs::write(log, "").unwrap();
    nginx.signal("USR1");
    text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}
