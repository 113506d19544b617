//! Locks of SQLite's writers in the kernel's list of all locks on files. SQLite locks fixed bytes. Sources:
//! proc_locks(5), SQLite's files os.h (`PENDING_BYTE`), os_unix.c (`UNIX_SHM_BASE`) and wal.c.

use std::ops::RangeInclusive;

use crate::text::{lines, number, words};

/// Byte of the database file that a writer locks, unless the database has a write-ahead log.
const RESERVED_BYTE: u64 = 0x4000_0001;
/// Bytes of the database file that SQLite locks.
const FILE_BYTES: RangeInclusive<u64> = 0x4000_0000..=0x4000_01ff;
/// Byte of the shared-memory file that a writer locks, if the database has a write-ahead log.
const WAL_WRITE_BYTE: u64 = 120;
/// Bytes of the shared-memory file that SQLite locks.
const SHARED_MEMORY_BYTES: RangeInclusive<u64> = 120..=127;

/// Lock of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WriteLock {
    pub(super) holder: u32,
    pub(super) inode: u64,
    /// True if the locked file is the shared memory of a write-ahead log.
    pub(super) is_shared_memory: bool,
}

/// Returns the inode in `fd:01:4711`, the device and inode of a locked file.
pub(super) fn inode_of(word: &[u8]) -> Option<u64> {
    let mut parts = word.split(|byte| *byte == b':');
    let (Some(_), Some(_), Some(inode), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return None;
    };
    number(inode)
}

/// Returns the locks of SQLite's writers in the text of `/proc/locks`.
pub(super) fn write_locks(text: &[u8]) -> Vec<WriteLock> {
    lines(text).filter_map(write_lock).collect()
}

/// Parses `1: POSIX  ADVISORY  WRITE 812 fd:01:4711 1073741825 1073741825`. A line with an arrow is a lock that a
/// process waits for.
fn write_lock(line: &[u8]) -> Option<WriteLock> {
    let mut words = words(line).skip(1);
    let (kind, _, access) = (words.next()?, words.next()?, words.next()?);
    let holder = u32::try_from(number(words.next()?)?).ok()?;
    let inode = inode_of(words.next()?)?;
    let bytes = number(words.next()?)?..=number(words.next()?)?;
    let locks = |byte: u64, all: RangeInclusive<u64>| {
        bytes.contains(&byte) && all.contains(bytes.start()) && all.contains(bytes.end())
    };
    let is_shared_memory = locks(WAL_WRITE_BYTE, SHARED_MEMORY_BYTES);
    let is_write = kind == b"POSIX" && access == b"WRITE";
    (is_write && (is_shared_memory || locks(RESERVED_BYTE, FILE_BYTES))).then_some(WriteLock {
        holder,
        inode,
        is_shared_memory,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_of_writers_are_told_from_other_locks() {
        let found = |line: &str| write_lock(line.as_bytes());
        let lock = |inode, is_shared_memory| Some(WriteLock { holder: 812, inode, is_shared_memory });
        assert_eq!(found("1: POSIX  ADVISORY  WRITE 812 fd:01:4711 1073741825 1073741825"), lock(4711, false));
        assert_eq!(found("2: POSIX  ADVISORY  WRITE 812 00:2a:7 1073741824 1073742335"), lock(7, false));
        assert_eq!(found("3: POSIX  ADVISORY  WRITE 812 fd:01:8 120 120"), lock(8, true));
        for other in [
            "1: POSIX  ADVISORY  READ 812 fd:01:4711 1073741826 1073742335",
            "1: -> POSIX  ADVISORY  WRITE 812 fd:01:4711 1073741825 1073741825",
            "1: POSIX  ADVISORY  WRITE 812 fd:01:4711 0 EOF",
            "1: POSIX  ADVISORY  WRITE 812 fd:01:4711 123 123",
            "1: FLOCK  ADVISORY  WRITE 812 fd:01:4711 0 EOF",
            "1: POSIX  ADVISORY  WRITE 812 fd:01 120 120",
            "",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
