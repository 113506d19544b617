//! Counters of disks, from /proc/diskstats. Source: Documentation/admin-guide/iostats.rst.
//!
//! The source reads only whole disks, because partitions would count everything twice. Disks in memory and in files
//! (ram, zram, loop) are excluded. Stacked disks (dm, md) are included, and repeat the counts of the disks below them.

use crate::Scope;
use crate::family::Family;
use crate::reread_file::RereadFile;
use crate::source::{Round, Source, none};
use crate::text::{lines, name, value, words};
use crate::tree::Tree;
use crate::units;

const IDS: &[&str] = &[
    "disk.reads",
    "disk.read_bytes",
    "disk.writes",
    "disk.write_bytes",
    "disk.busy",
    "disk.in_flight",
    "disk.flushes",
    "disk.flushing",
];
/// Number of fields read per line, from the first count on. Linux 5.5 added the last two fields of the file.
const FIELDS: usize = 17;

struct Disk {
    file: RereadFile,
    disks: Family,
    /// Device names that were looked up so far, each with a flag that is true for a whole disk.
    whole: Vec<(Vec<u8>, bool)>,
}

pub(super) fn open(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    Box::new(Disk { file: tree.keep("proc/diskstats"), disks: Family::new(IDS).at_most(256), whole: Vec::new() })
}

impl Source for Disk {
    fn sample(&mut self, round: &mut Round<'_>) {
        let text = match self.file.read() {
            Ok(text) => text,
            Err(reason) => return none(round, &self.disks, &reason),
        };
        for line in lines(text) {
            let mut fields = words(line).skip(2);
            let Some(disk) = fields.next().filter(|disk| is_whole(&mut self.whole, disk, round.tree)) else { continue };
            let Some(slots) = self.disks.slots(round.writer, disk) else { continue };
            let mut field = [None; FIELDS];
            for (number, word) in field.iter_mut().zip(fields) {
                *number = value(word);
            }
            let [reads, _, read_sectors, _, writes, _, written_sectors, _, in_flight, busy_ms, .., flushes, flush_ms] =
                field;
            round.writer.put_some(slots, 0, reads);
            round.writer.put_some(slots, 1, read_sectors.map(units::sector_bytes));
            round.writer.put_some(slots, 2, writes);
            round.writer.put_some(slots, 3, written_sectors.map(units::sector_bytes));
            round.writer.put_some(slots, 4, busy_ms.map(|ms| ms * 1e3));
            round.writer.put_some(slots, 5, in_flight);
            round.writer.put_some(slots, 6, flushes);
            round.writer.put_some(slots, 7, flush_ms.map(|ms| ms * 1e3));
        }
    }
}

fn is_whole(known: &mut Vec<(Vec<u8>, bool)>, disk: &[u8], tree: &Tree) -> bool {
    if let Some((_, whole)) = known.iter().find(|(name, _)| name == disk) {
        return *whole;
    }
    let memory = [&b"ram"[..], b"zram", b"loop"].iter().any(|prefix| disk.starts_with(prefix));
    // sysfs replaces a slash in a device's name by an exclamation mark.
    let block = tree.path("sys/block");
    let whole = !memory && (!block.exists() || block.join(name(disk).replace('/', "!")).exists());
    known.push((disk.to_vec(), whole));
    whole
}

#[cfg(test)]
mod tests {
    use crate::testing::Tree;

    #[test]
    fn whole_disks_are_read_and_partitions_are_not() {
        let tree = Tree::new(&[
            (
                "proc/diskstats",
                " 254 0 vda 112 4 852 97 36 80 314 15 2 23 255 10 47 8 870 3 170\n 254 1 vda1 1 1 1 1 1 1 1 1 1 1 1\n \
                 253 0 zram0 1 0 0 0 0 0 0 0 0 0 0\n 8 0 sda 5 0 7\n",
            ),
            ("sys/block/vda/stat", ""),
            ("sys/block/sda/stat", ""),
        ]);
        let r = tree.sample("disk");
        assert_eq!((r.last("disk.reads", "vda"), r.last("disk.read_bytes", "vda")), (Some(112.0), Some(852.0 * 512.0)));
        assert_eq!((r.last("disk.busy", "vda"), r.last("disk.in_flight", "vda")), (Some(23e3), Some(2.0)));
        assert_eq!((r.last("disk.flushes", "vda"), r.last("disk.flushing", "vda")), (Some(3.0), Some(170e3)));
        assert_eq!((r.last("disk.reads", "sda"), r.last("disk.busy", "sda")), (Some(5.0), None));
        assert!(r.0.columns.iter().all(|c| c.instance == "vda" || c.instance == "sda"));
    }
}
