//! Cache of program files that were read, shared by all processes that run these files.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::image::Image;
use crate::maps::{Mapping, VDSO};
use crate::reading_cost::ReadingCost;
use crate::root::open_inside;

/// Maximum number of files in the cache. Each file keeps up to two descriptors open.
const MAX_IMAGES: usize = 512;

/// Maximum size of the vDSO, the library that the kernel provides. The usual size of the vDSO is two to four pages.
const MAX_KERNEL_LIBRARY_BYTES: usize = 1 << 16;

/// Number of bytes at the start of a file's first mapping that must be equal in the file and in the process's memory.
const COMPARED_BYTES: usize = 512;

/// Files by device, inode and time of the last change. `None` marks a file that is not a program, or cannot be read.
type Cache = HashMap<(u64, u64, u64), Option<Arc<Image>>>;

/// Cache of program files that were read, shared by all processes that run these files.
#[derive(Clone, Default)]
pub struct Images {
    cache: Arc<Mutex<Cache>>,
    pub(crate) cost: ReadingCost,
}

impl Images {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the CPU time spent so far on reading program files and on looking up names of functions in them,
    /// nanoseconds. The CPU time of all clones of this collection is included.
    pub fn reading_cpu_ns(&self) -> u64 {
        self.cost.ns()
    }

    /// Returns the file that `mapping` maps. `mapping` must be the first mapping of that file in process `pid`. Returns
    /// `None` if the file was replaced after the process mapped it, or if it is not a program.
    pub(crate) fn get(&self, pid: u32, mapping: &Mapping) -> Option<Arc<Image>> {
        if mapping.path == VDSO {
            let read = || Image::read(kernel_library(pid, mapping)?, Path::new(VDSO), Path::new("/"), &self.cost);
            return self.keep((0, 0, 0), read);
        }
        let root = format!("/proc/{pid}/root");
        let path = Path::new(mapping.path.trim_end_matches(" (deleted)"));
        // Even for a process with another root folder (chroot), the kernel shows the path relative to loadline's root
        // folder. This function therefore tries both root folders.
        let roots = [Path::new(&root), Path::new("/")];
        let inside = |root: &Path| Some(open_inside(root, path)?).filter(|file| is_mapped(pid, mapping, file));
        let file = roots.into_iter().find_map(inside).or_else(|| mapped_file(pid, mapping))?;
        let metadata = file.metadata().ok()?;
        let key = (metadata.dev(), metadata.ino(), metadata.mtime_nsec() as u64 ^ metadata.mtime() as u64);
        self.keep(key, || Image::read(file, path, Path::new(&root), &self.cost))
    }

    /// Returns the kept image of a file. If no image is kept, calls `read`, keeps the result and returns it. Returns
    /// `None` for a new file if the cache is full.
    fn keep(&self, key: (u64, u64, u64), read: impl FnOnce() -> Option<Image>) -> Option<Arc<Image>> {
        let mut images = self.cache.lock().ok()?;
        if let Some(image) = images.get(&key) {
            return image.clone();
        }
        if images.len() >= MAX_IMAGES {
            return None;
        }
        let image = self.cost.count(read).map(Arc::new);
        images.insert(key, image.clone());
        image
    }
}

/// Copies the vDSO out of the memory of a process, because the vDSO has no file.
fn kernel_library(pid: u32, mapping: &Mapping) -> Option<File> {
    let size = usize::try_from(mapping.end - mapping.start).ok().filter(|size| *size <= MAX_KERNEL_LIBRARY_BYTES)?;
    let mut bytes = vec![0; size];
    let read = sys::remote_memory::read(pid, mapping.start, &mut bytes).ok()?;
    let mut file = File::from(rustix::fs::memfd_create("vdso", rustix::fs::MemfdFlags::CLOEXEC).ok()?);
    file.write_all(bytes.get(..read)?).ok()?;
    Some(file)
}

/// Returns true if `file` is the mapped file: the mapping's first bytes in memory must equal the file's bytes at the
/// mapping's offset.
fn is_mapped(pid: u32, mapping: &Mapping, file: &File) -> bool {
    use std::os::unix::fs::FileExt;
    let (mut memory, mut bytes) = ([0; COMPARED_BYTES], [0; COMPARED_BYTES]);
    let read = sys::remote_memory::read(pid, mapping.start, &mut memory).unwrap_or(0);
    read == COMPARED_BYTES && file.read_exact_at(&mut bytes, mapping.offset).is_ok() && memory == bytes
}

/// Opens the mapped file itself, even if it was deleted. The kernel allows only root to open mapped files in this way.
fn mapped_file(pid: u32, mapping: &Mapping) -> Option<File> {
    let path = format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.start, mapping.end);
    let file = File::open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}
