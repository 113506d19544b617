//! The address space of a process: which file is mapped where.

use std::io;
use std::sync::Arc;

use crate::image::Image;
use crate::images::Images;
use crate::maps::{Mapping, VDSO, read_maps};
use crate::names::printable;

const PAGE_BYTES: u64 = 4096;

/// Name of memory without a file, such as that of compiled code of a JVM.
pub(crate) const ANONYMOUS: &str = "anonymous";

/// Maximum distance between the first and the last mapping of one file, bytes.
const MAX_MODULE_BYTES: u64 = 1 << 32;

/// A file and its mappings.
struct Module {
    first: usize,
    /// The file, and the difference between memory address and file address. The outer `None` means that loadline has
    /// not looked for the file yet.
    image: Option<Option<(Arc<Image>, u64)>>,
}

/// The address space of a process.
pub(crate) struct Space {
    pid: u32,
    images: Images,
    maps: Vec<Mapping>,
    modules: Vec<Module>,
    /// Index in `modules` of each mapping's file; `None` for other memory.
    owners: Vec<Option<usize>>,
}

impl Space {
    pub(crate) fn new(pid: u32, images: Images) -> io::Result<Self> {
        let mut space = Self { pid, images, maps: Vec::new(), modules: Vec::new(), owners: Vec::new() };
        space.set(read_maps(pid)?);
        Ok(space)
    }

    /// Reads the process's mappings again. Returns true if the mappings changed. If the process has ended, the earlier
    /// mappings stay.
    pub(crate) fn refresh(&mut self) -> bool {
        let Ok(maps) = read_maps(self.pid) else { return false };
        let changed = !maps.is_empty() && maps != self.maps;
        if changed {
            self.set(maps);
        }
        changed
    }

    fn set(&mut self, maps: Vec<Mapping>) {
        (self.modules, self.owners) = (Vec::new(), Vec::with_capacity(maps.len()));
        for (i, map) in maps.iter().enumerate() {
            let of_last = self.modules.last().is_some_and(|m| belongs(&maps[m.first], map));
            if is_file(map) && !of_last {
                self.modules.push(Module { first: i, image: None });
            }
            let after_last =
                map.path.is_empty() && i > 0 && maps[i - 1].end == map.start && self.owners[i - 1].is_some();
            let owned = is_file(map) || after_last;
            self.owners.push(owned.then(|| self.modules.len() - 1));
        }
        self.maps = maps;
    }

    fn mapping(&self, address: u64) -> Option<usize> {
        let i = self.maps.partition_point(|m| m.start <= address).checked_sub(1)?;
        (address < self.maps[i].end).then_some(i)
    }

    /// Returns true if `address` lies in executable memory.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.mapping(address).is_some_and(|i| self.maps[i].executable)
    }

    /// Returns true if `address` lies in a mapping of a file, or in the anonymous memory right after one (`.bss`).
    pub(crate) fn is_from_file(&self, address: u64) -> bool {
        self.mapping(address).is_some_and(|i| self.owners[i].is_some())
    }

    /// Returns the file that covers `address`, and the address in that file.
    pub(crate) fn image(&mut self, address: u64) -> Option<(Arc<Image>, u64)> {
        let module = self.owners[self.mapping(address)?]?;
        let (image, bias) = self.loaded(module)?;
        let at = address.wrapping_sub(bias);
        let covers = image.segments.iter().any(|s| at.checked_sub(s.address).is_some_and(|n| n < s.memory_bytes));
        covers.then_some((image, at))
    }

    fn loaded(&mut self, module: usize) -> Option<(Arc<Image>, u64)> {
        if self.modules[module].image.is_none() {
            let first = &self.maps[self.modules[module].first];
            let image = self.images.get(self.pid, first);
            let placed = image.and_then(|image| bias(first, &image).map(|bias| (image, bias)));
            self.modules[module].image = Some(placed);
        }
        self.modules[module].image.clone()?
    }

    /// Finds a global variable in the files whose names pass `wanted`. Returns the variable's address in memory and the
    /// name of the first file that has it.
    pub(crate) fn find_global(&mut self, name: &str, wanted: impl Fn(&str) -> bool) -> Option<(u64, String)> {
        (0..self.modules.len()).find_map(|module| {
            let path = self.maps[self.modules[module].first].path.clone();
            let file = path.rsplit('/').next().filter(|file| wanted(file))?.to_owned();
            let (image, bias) = self.loaded(module)?;
            Some((image.object(name)?.wrapping_add(bias), file))
        })
    }

    /// Returns the address of a global variable of the program itself, if the program was written in Go. The program is
    /// the first file in the process's list of mappings.
    pub(crate) fn find_go_global(&mut self, name: &str) -> Option<u64> {
        if self.modules.is_empty() {
            return None;
        }
        let (image, bias) = self.loaded(0)?;
        image.go.as_ref()?;
        Some(image.object(name)?.wrapping_add(bias))
    }

    /// Returns the file name of the mapping at `address`.
    pub(crate) fn module_name(&self, address: u64) -> Arc<str> {
        let path = self.mapping(address).map(|i| self.maps[i].path.as_str());
        match path.and_then(|path| path.rsplit('/').next()) {
            Some("") => ANONYMOUS.into(),
            Some(name) => printable(name.trim_matches(['[', ']'])),
            None => "unknown".into(),
        }
    }
}

fn is_file(map: &Mapping) -> bool {
    map.path == VDSO || (map.path.starts_with('/') && !map.path.starts_with("/dev/") && map.inode != 0)
}

fn belongs(first: &Mapping, map: &Mapping) -> bool {
    first.path == map.path && first.inode == map.inode && map.start - first.start < MAX_MODULE_BYTES
}

/// Returns the difference between an address in memory and the same address in the file.
fn bias(first: &Mapping, image: &Image) -> Option<u64> {
    let floor = |address: u64| address - address % PAGE_BYTES;
    let starts = image.segments.iter().filter(|s| s.file_bytes > 0 && floor(s.offset) == first.offset);
    starts.map(|s| first.start.wrapping_sub(floor(s.address))).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_and_a_global_of_this_program_are_found_at_their_addresses() {
        static GLOBAL_FOR_TEST: std::sync::Mutex<[u64; 32]> = std::sync::Mutex::new([7; 32]);
        let mut space = Space::new(std::process::id(), Images::new()).unwrap();
        let code = a_function_and_a_global_of_this_program_are_found_at_their_addresses as fn() as usize as u64;
        let (image, at) = space.image(code).unwrap();
        let frames = image.frames(at);
        let frame = &frames[0];
        assert!(frame.label().contains("a_function_and_a_global"), "{frame:?}");
        let (image, at) = space.image((&raw const GLOBAL_FOR_TEST) as u64).unwrap();
        assert!(image.global(at).unwrap().0.contains("GLOBAL_FOR_TEST"));
        assert!(space.is_code(code) && !space.is_code(8));
    }
}
