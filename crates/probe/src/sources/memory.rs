//! Counters of the host's memory from /proc/meminfo, and of swapping and refaults from /proc/vmstat. Source:
//! proc_meminfo(5), proc_vmstat(5), and Linux's mm/workingset.c for refaults.

use crate::Scope;
use crate::family::Family;
use crate::reread_file::RereadFile;
use crate::source::{Round, Source, none};
use crate::text::keyed;
use crate::tree::Tree;
use crate::units;

const LEVELS: &[&str] =
    &["memory.total", "memory.available", "memory.kernel_stacks", "memory.page_tables", "memory.slab"];
const LEVEL_KEYS: [&str; 5] = ["MemTotal:", "MemAvailable:", "KernelStack:", "PageTables:", "Slab:"];
const SWAPS: &[&str] = &["memory.swap_in", "memory.swap_out", "memory.refaults"];
const SWAP_KEYS: [&str; 3] = ["pswpin", "pswpout", "workingset_refault_file"];

struct Memory {
    files: [(RereadFile, Family, &'static [&'static str]); 2],
}

pub(super) fn open(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    Box::new(Memory {
        files: [
            (tree.keep("proc/meminfo"), Family::new(LEVELS), &LEVEL_KEYS),
            (tree.keep("proc/vmstat"), Family::new(SWAPS), &SWAP_KEYS),
        ],
    })
}

impl Source for Memory {
    fn sample(&mut self, round: &mut Round<'_>) {
        for (file, family, keys) in &mut self.files {
            let text = match file.read() {
                Ok(text) => text,
                Err(reason) => {
                    none(round, family, &reason);
                    continue;
                }
            };
            let Some(slots) = family.slots(round.writer, b"") else { continue };
            for (at, key) in keys.iter().enumerate() {
                // meminfo has values in kB, and vmstat in pages.
                let scale = if key.ends_with(':') { units::kib_bytes(1.0) } else { 1.0 };
                match keyed(text, key) {
                    Some(n) => round.writer.put(slots, at, n * scale),
                    None => round.writer.absent(family.ids()[at], "", format_args!("this kernel does not say {key}")),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Tree;

    #[test]
    fn kilobytes_become_bytes_and_pages_stay() {
        let tree = Tree::new(&[
            ("proc/meminfo", "MemTotal:  100 kB\nMemAvailable:  60 kB\nSlab: 7 kB\nKernelStack: odd kB\n"),
            ("proc/vmstat", "pgpgin 1\npswpin 3\npswpout 4\nworkingset_refault_file 5\n"),
        ]);
        let r = tree.sample("memory");
        assert_eq!((r.last("memory.total", ""), r.last("memory.slab", "")), (Some(102_400.0), Some(7168.0)));
        assert_eq!((r.last("memory.swap_in", ""), r.last("memory.swap_out", "")), (Some(3.0), Some(4.0)));
        assert_eq!(r.last("memory.refaults", ""), Some(5.0));
        assert_eq!(r.reason("memory.kernel_stacks"), "this kernel does not say KernelStack:");
        assert_eq!(r.reason("memory.page_tables"), "this kernel does not say PageTables:");
    }
}
