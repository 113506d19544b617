//! What a process holds at one moment, for whoever looks at one without a recording.

use std::path::Path;

use super::{process, thread};
use crate::units;

/// What a process holds. What cannot be read is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessLevels {
    /// Resident memory, bytes.
    pub rss_bytes: f64,
    /// Its threads.
    pub threads: f64,
    /// Its open descriptors.
    pub descriptors: f64,
}

/// Looks at a process of this machine once. Source: proc_pid_status(5), proc_pid_fd(5).
pub fn process_levels(pid: u32) -> ProcessLevels {
    let folder = Path::new("/proc").join(pid.to_string());
    let [rss_kib, .., threads] = thread::status(&std::fs::read(folder.join("status")).unwrap_or_default()).levels;
    let descriptors = process::descriptors(&folder.join("fd"), true, true).ok().flatten();
    ProcessLevels {
        rss_bytes: rss_kib.map_or(0.0, units::kib_bytes),
        threads: threads.unwrap_or(0.0),
        descriptors: descriptors.map_or(0.0, |n| n as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_hold_something_and_nobody_holds_nothing() {
        let ours = process_levels(std::process::id());
        assert!(ours.rss_bytes > 65536.0 && ours.threads >= 1.0 && ours.descriptors >= 1.0, "{ours:?}");
        assert_eq!(process_levels(u32::MAX), ProcessLevels::default());
    }
}
