//! Opens files inside the root folder of a process. The root folder of a process in a container differs from loadline's
//! root folder.

use std::fs::File;
use std::path::{Path, PathBuf};

/// Opens the regular file at `path` inside the folder `root`. Symbolic links are followed inside `root`, so links in a
/// container lead to the container's files.
pub(crate) fn open_inside(root: &Path, path: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let folder = open(root, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let inside: PathBuf = path.strip_prefix("/").unwrap_or(path).into();
    let file = File::from(openat2(folder, inside, flags, Mode::empty(), ResolveFlags::IN_ROOT).ok()?);
    file.metadata().ok()?.is_file().then_some(file)
}
