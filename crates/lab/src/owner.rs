//! Names of what a killed process leaves behind, such as control groups. A name begins with the process that owns the
//! group or folder, so a later command can check whether the owner still exists.

/// Returns the name of this process: its PID namespace, process ID and start time. The start time, in ticks since boot,
/// is included because the kernel reuses process IDs.
pub(crate) fn own_name() -> String {
    let pid = std::process::id();
    format!("{}-{pid}-{}", namespace().unwrap_or_default(), probe::started_ticks(pid).unwrap_or_default())
}

/// Returns true if `name` begins with the [`own_name`] of a process that no longer exists. Returns false for a process
/// of another PID namespace, because this process cannot see it.
pub(crate) fn is_gone(name: &str) -> bool {
    let mut numbers = name.split('-');
    let mut next = || numbers.next().and_then(|number| number.parse::<u64>().ok());
    let (space, Some(pid), Some(started)) = (next(), next(), next()) else { return false };
    space.is_some()
        && space == namespace()
        && u32::try_from(pid).is_ok_and(|pid| probe::started_ticks(pid) != Some(started))
}

/// Returns the inode number of this PID namespace. In another namespace, the same process ID may belong to another
/// process.
fn namespace() -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    Some(std::fs::metadata("/proc/self/ns/pid").ok()?.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_gone_only_if_it_is_known_to_have_ended() {
        let (own, here, pid) = (own_name(), namespace().unwrap(), std::process::id());
        assert!(!is_gone(&own) && !is_gone(&format!("{own}-a")), "it runs");
        assert!(is_gone(&format!("{here}-{pid}-7-a")), "another process had this number");
        assert!(is_gone(&format!("{here}-{}-7", u32::MAX)));
        for unknown in [format!("{}-{pid}-7", here + 1), format!("{here}-{pid}"), "a-b-c".into(), String::new()] {
            assert!(!is_gone(&unknown), "{unknown}");
        }
    }
}
