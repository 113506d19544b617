//! Logs that servers of other projects write.

use std::path::Path;

use crate::{Running, eventually};

/// The text of a log, once it has so many lines. A file that is not there yet has none.
#[track_caller]
pub fn logged(log: &Path, lines: usize) -> String {
    eventually(|| Some(std::fs::read_to_string(log).unwrap_or_default()).filter(|text| text.lines().count() >= lines))
}

/// The fields of each line of nginx's log since it was looked at last, once there are so many lines. The log begins anew.
#[track_caller]
pub fn logged_by_nginx(nginx: &Running, log: &Path, lines: u64) -> Vec<Vec<String>> {
    let text = logged(log, lines as usize);
    std::fs::write(log, "").unwrap();
    nginx.signal("USR1");
    text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}
