//! Block devices by number, from `/sys/dev/block`. Source: the kernel's Documentation/ABI/stable/sysfs-block.

use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

/// Returns the folder of the block device with the number `device`, which has the format of `st_dev`. The folder does
/// not exist if `device` comes from a file that is not on a block device, such as a file on tmpfs.
pub fn folder(sys: &Path, device: u64) -> PathBuf {
    sys.join(format!("dev/block/{}:{}", major(device), minor(device)))
}

/// Returns the name of the disk with the device number `device`. If `device` is the number of a partition, returns the
/// name of the disk that contains the partition.
pub fn disk_name(sys: &Path, device: u64) -> Option<String> {
    let folder = folder(sys, device).canonicalize().ok()?;
    let disk = if folder.join("partition").exists() { folder.parent()? } else { &folder };
    // sysfs replaces a slash in a device's name by an exclamation mark.
    Some(disk.file_name()?.to_string_lossy().replace('!', "/"))
}

/// Returns the name of the disk with the device number `device`, and the names of the disks that it consists of. A
/// volume of LVM or a RAID consists of other disks. The result is empty if no disk has the device number `device`.
pub fn disks_below(sys: &Path, device: u64) -> Vec<String> {
    let Some(disk) = disk_name(sys, device) else { return Vec::new() };
    let parts = std::fs::read_dir(folder(sys, device).join("slaves")).into_iter().flatten().flatten();
    let of_part = |part: std::fs::DirEntry| {
        let number = std::fs::read_to_string(part.path().join("dev")).ok()?;
        let (major, minor) = number.trim().split_once(':')?;
        Some(disks_below(sys, rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?)))
    };
    std::iter::once(disk).chain(parts.filter_map(of_part).flatten()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_device_number_leads_to_the_whole_disk() {
        let sys = tempfile::tempdir().unwrap();
        let make = |below: &str| std::fs::create_dir_all(sys.path().join(below)).unwrap();
        make("devices/pci/block/sda/sda1/partition");
        make("devices/pci/block/cciss!c0d0");
        make("dev/block");
        for (number, target) in [("8:0", "sda"), ("8:1", "sda/sda1"), ("104:300", "cciss!c0d0")] {
            let target = Path::new("../../devices/pci/block").join(target);
            symlink(target, sys.path().join("dev/block").join(number)).unwrap();
        }
        let name = |major, minor| disk_name(sys.path(), rustix::fs::makedev(major, minor));
        assert_eq!([name(8, 0), name(8, 1)], [Some("sda".into()), Some("sda".into())]);
        assert_eq!(name(104, 300).as_deref(), Some("cciss/c0d0"));
        assert_eq!(name(0, 29), None, "tmpfs");
    }
}
