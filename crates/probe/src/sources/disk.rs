//! Counters of disks, from /proc/diskstats. Source: Documentation/admin-guide/iostats.rst.
//!
//! The source reads only whole disks at the lowest level, so that each byte counts once. The source leaves out
//! partitions, and volumes (LVM, RAID, encryption: dm, md), which repeat the counts of the disks below them. Disks in
//! memory and in files (ram, zram, loop) are left out, too.

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
/// Number of fields that are read from each line, from the first counter on. Linux 5.5 added the last two fields of the
/// file.
const FIELDS: usize = 17;

struct Disk {
    file: RereadFile,
    disks: Family,
    /// Device names that were looked up so far, each with a flag that is true for a counted disk.
    known: Vec<(Vec<u8>, bool)>,
}

pub(super) fn open(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    Box::new(Disk { file: tree.keep("proc/diskstats"), disks: Family::new(IDS).at_most(256), known: Vec::new() })
}

impl Source for Disk {
    fn sample(&mut self, round: &mut Round<'_>) {
        let text = match self.file.read() {
            Ok(text) => text,
            Err(reason) => return none(round, &self.disks, &reason),
        };
        for line in lines(text) {
            let mut fields = words(line).skip(2);
            let Some(disk) = fields.next().filter(|disk| is_counted(&mut self.known, disk, round.tree)) else {
                continue;
            };
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

/// Returns true for a whole disk that is not made of other disks. The kernel lists the disks of a volume in the folder
/// `slaves` of the volume.
fn is_counted(known: &mut Vec<(Vec<u8>, bool)>, disk: &[u8], tree: &Tree) -> bool {
    if let Some((_, counted)) = known.iter().find(|(name, _)| name == disk) {
        return *counted;
    }
    let memory = [&b"ram"[..], b"zram", b"loop"].iter().any(|prefix| disk.starts_with(prefix));
    // sysfs replaces a slash in a device's name by an exclamation mark.
    let block = tree.path("sys/block");
    let folder = block.join(name(disk).replace('/', "!"));
    let is_volume = std::fs::read_dir(folder.join("slaves")).is_ok_and(|mut below| below.next().is_some());
    let counted = !memory && !is_volume && (!block.exists() || folder.exists());
    known.push((disk.to_vec(), counted));
    counted
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
    /// An encrypted volume on a RAID of two disks: dm-0 on md127 on partitions of sda and sdb. A byte that is written
    /// once to the volume is in four lines of the file. Two of these lines belong to disks, because the RAID is a
    /// mirror.
    #[test]
    fn bytes_of_a_volume_count_only_on_its_disks() {
        let line = |name: &str, sectors: u32| format!(" 8 0 {name} 1 0 {sectors} 5 1 0 {sectors} 5 0 7 9\n");
        let all = ["sda", "sda1", "sdb", "sdb1", "md127", "dm-0", "dm-1", "loop0"];
        let stats: String = all.iter().map(|name| line(name, 8)).collect();
        let tree = Tree::new(&[
            ("proc/diskstats", stats.as_str()),
            ("sys/block/sda/slaves/.keep", ""),
            ("sys/block/sda/sda1/stat", ""),
            ("sys/block/sdb/stat", ""),
            ("sys/block/md127/slaves/sda1", ""),
            ("sys/block/md127/slaves/sdb1", ""),
            ("sys/block/dm-0/slaves/md127", ""),
            ("sys/block/dm-1/stat", ""),
            ("sys/block/loop0/stat", ""),
        ]);
        tree.remove("sys/block/sda/slaves/.keep");
        let r = tree.sample("disk").0;
        let disks: Vec<&str> = r.columns_of("disk.write_bytes").map(|column| column.instance.as_str()).collect();
        assert_eq!(disks, ["sda", "sdb", "dm-1"], "dm-1 has no disk below it");
        let sum = |id: &str| disks.iter().filter_map(|disk| r.column(id, disk)?.values[0]).sum::<f64>();
        assert_eq!((sum("disk.write_bytes"), sum("disk.reads")), (3.0 * 8.0 * 512.0, 3.0));
    }
}
