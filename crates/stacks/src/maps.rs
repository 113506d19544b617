//! Mappings of a process, from `/proc/PID/maps`.

use std::fs::File;
use std::io::{self, Read};

/// Largest part of `/proc/PID/maps` that is read. The kernel allows 65,530 mappings, about 100 bytes each.
const MAX_MAPS_BYTES: u64 = 16 << 20;

/// Path of the vDSO, the library that the kernel provides without a file.
pub(crate) const VDSO: &str = "[vdso]";

/// A mapping of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) executable: bool,
    pub(crate) offset: u64,
    pub(crate) inode: u64,
    /// Path of the mapped file, or a name in brackets. Empty for anonymous memory.
    pub(crate) path: String,
}

/// Returns true if this process may read the memory of process `pid`.
pub fn is_readable(pid: u32) -> bool {
    read_maps(pid).is_ok_and(|maps| {
        let readable = |m: &Mapping| sys::remote_memory::read(pid, m.start, &mut [0; 8]).is_ok();
        maps.iter().any(readable)
    })
}

/// Reads the mappings of process `pid`, ordered by address.
pub(crate) fn read_maps(pid: u32) -> io::Result<Vec<Mapping>> {
    let mut text = Vec::new();
    File::open(format!("/proc/{pid}/maps"))?.take(MAX_MAPS_BYTES).read_to_end(&mut text)?;
    Ok(parse_maps(&String::from_utf8_lossy(&text)))
}

fn parse_maps(text: &str) -> Vec<Mapping> {
    let mut maps: Vec<Mapping> = text.lines().filter_map(parse_line).collect();
    maps.sort_by_key(|m| m.start);
    maps
}

fn parse_line(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut word = || {
        rest = rest.trim_start();
        let (word, after) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        rest = after;
        (!word.is_empty()).then_some(word)
    };
    let (start, end) = word()?.split_once('-')?;
    let (flags, offset, _device, inode) = (word()?, word()?, word()?, word()?);
    Some(Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        executable: flags.as_bytes().get(2) == Some(&b'x'),
        offset: u64::from_str_radix(offset, 16).ok()?,
        inode: inode.parse().ok()?,
        path: rest.trim_start().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_read_with_spaces_in_paths() {
        let text = "7f00-7f10 r-xp 00001000 fe:01 42   /opt/a b/lib.so\nbad\n5500-5600 rw-p 00000000 00:00 0 \n";
        let maps = parse_maps(text);
        assert_eq!(maps.len(), 2);
        assert_eq!((maps[0].start, maps[0].executable, maps[0].path.as_str()), (0x5500, false, ""));
        assert_eq!((maps[1].offset, maps[1].inode, maps[1].path.as_str()), (0x1000, 42, "/opt/a b/lib.so"));
        assert!(maps[1].executable);
    }

    #[test]
    fn this_process_reads_its_own_memory() {
        assert!(is_readable(std::process::id()));
        assert!(!is_readable(u32::MAX));
    }
}
