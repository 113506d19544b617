//! File to which the disk lever writes, and the disk that contains this file. A lever is a temporary change that an
//! experiment makes, such as slowing a CPU.

use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use run::LeverPlan;

/// Value of Linux's `O_DIRECT` for this architecture.
const O_DIRECT: i32 = sys::param::O_DIRECT;
/// Opens a file for the writes of the experiment. Also returns the path of the disk's counters.
pub(super) fn open_target(plan: &LeverPlan) -> Result<(std::fs::File, PathBuf), String> {
    let dir = plan.path.as_deref().ok_or("no directory")?;
    Ok((open(dir)?, queue_file(dir)?))
}

/// Opens a file without a name, which vanishes if the process is killed.
fn open(dir: &Path) -> Result<std::fs::File, String> {
    let flags = O_DIRECT | sys::param::O_TMPFILE;
    let made = std::fs::OpenOptions::new().write(true).custom_flags(flags).open(dir);
    made.map_err(|e| format!("writing an unnamed file past the page cache in {}: {e}", dir.display()))
}

/// Returns the path of the counters of the disk that contains a directory. Source: the kernel's
/// Documentation/block/stat.rst.
fn queue_file(dir: &Path) -> Result<PathBuf, String> {
    let dev = std::fs::metadata(dir).map_err(|e| format!("{}: {e}", dir.display()))?.dev();
    let file = sys::block_device::folder(Path::new("/sys"), dev).join("stat");
    match file.exists() {
        true => Ok(file),
        false => Err(format!("{} is on no disk", dir.display())),
    }
}

/// Fails if the directory of a plan is not on the plan's disk. The directory may be on a volume that is spread over
/// several disks, so a disk of the volume counts, too.
pub(super) fn is_on_tested_disk(sys: &Path, plan: &LeverPlan) -> Result<(), String> {
    let (Some(dir), Some(tested)) = (&plan.path, &plan.disk) else { return Ok(()) };
    let device = std::fs::metadata(dir).map_err(|e| format!("{}: {e}", dir.display()))?.dev();
    let disks = sys::block_device::disks_below(sys, device);
    match disks.contains(tested) {
        true => Ok(()),
        false => Err(format!(
            "{} is on {}, and the full disk is {tested}: name a directory on {tested} with --prove-dir",
            dir.display(),
            disks.first().map_or("no disk", String::as_str)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_on_another_disk_than_the_full_one_is_refused() {
        let (dir, sys) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let link = sys::block_device::folder(sys.path(), std::fs::metadata(dir.path()).unwrap().dev());
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        for folder in ["nvme0n1", "dm-0/slaves/nvme0n1"] {
            std::fs::create_dir_all(sys.path().join(folder)).unwrap();
        }
        let link_to = |disk: &str, link| std::os::unix::fs::symlink(sys.path().join(disk), link).unwrap();
        link_to("dm-0", link);
        link_to("nvme0n1", sys.path().join("dev/block/259:0"));
        std::fs::write(sys.path().join("dm-0/slaves/nvme0n1/dev"), "259:0\n").unwrap();
        let with = |disk: Option<&str>| {
            let path = Some(dir.path().to_path_buf());
            is_on_tested_disk(sys.path(), &LeverPlan { path, disk: disk.map(str::to_owned), ..LeverPlan::default() })
        };
        assert_eq!([None, Some("dm-0"), Some("nvme0n1")].map(with), [Ok(()), Ok(()), Ok(())]);
        assert!(with(Some("nvme1n1")).unwrap_err().contains("the full disk is nvme1n1"));
    }
}
