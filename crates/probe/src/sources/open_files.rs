//! Open descriptors of a process, and their limit.

use std::io;
use std::path::Path;

use crate::text::{lines, number, value, words};

/// Returns the number of open descriptors. Since Linux 6.2, the size of the folder `/proc/PID/fd` is the number of open
/// descriptors. Older kernels report the size 0 for this folder. If the size is 0, the function counts the entries at
/// phase starts and ends, and returns `None` in other samples.
pub(super) fn descriptors(folder: &Path, live: bool, full: bool) -> io::Result<Option<u64>> {
    let size = std::fs::metadata(folder)?.len();
    if live && size > 0 {
        return Ok(Some(size));
    }
    Ok(if full { Some(std::fs::read_dir(folder)?.count() as u64) } else { None })
}

/// Parses `Max open files            1024                 20000                files` and returns the soft limit.
pub(super) fn open_files_limit(text: &[u8]) -> Option<f64> {
    open_files_limits(text).next().and_then(value)
}

/// Returns the soft and the hard limit on open files.
fn open_files_limits(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let line = lines(text).find_map(|line| line.strip_prefix(b"Max open files"));
    line.into_iter().flat_map(words)
}

/// Returns the soft and the hard limit on open descriptors of a process of this machine. Returns `None` if the process
/// does not exist or has no limit. Source: proc_pid_limits(5).
pub fn descriptor_limits(pid: u32) -> Option<(u64, u64)> {
    let text = std::fs::read(format!("/proc/{pid}/limits")).ok()?;
    let mut limits = open_files_limits(&text).map(number);
    Some((limits.next()??, limits.next()??))
}
