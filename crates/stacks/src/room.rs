//! Checks whether enough address space is left for reading a program file. If an allocation exceeds a limit of the
//! process (`ulimit -v`), the process ends, so loadline does not read files that are too large.

use std::fs::File;

/// Maximum address space for reading a file, in bytes per byte of the file. The space is for the file's sections, their
/// parsed form, and the growth of both during the reading.
const SPACE_PER_BYTE: u64 = 6;

/// Returns true if enough address space is left for reading a file.
pub(crate) fn is_room_for(file: &File) -> bool {
    let Some(limit) = sys::limits::address_space() else { return true };
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    sys::limits::used_address_space().is_some_and(|used| fits(size, used, limit))
}

fn fits(size: u64, used: u64, limit: u64) -> bool {
    size.saturating_mul(SPACE_PER_BYTE).saturating_add(used) <= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_needs_a_multiple_of_its_size() {
        let mib = 1 << 20;
        assert!(fits(10 * mib, 100 * mib, 160 * mib) && !fits(10 * mib, 101 * mib, 160 * mib));
        assert!(!fits(u64::MAX, 1, u64::MAX - 1) && fits(0, 0, 0));
    }

    #[test]
    fn without_a_limit_every_file_has_room() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 40).unwrap();
        assert_eq!(is_room_for(&file), sys::limits::address_space().is_none());
    }
}
