//! Debug information in a separate file, as Linux distributions install it: `/usr/lib/debug/.build-id/AB/CDEF….debug`.

use std::fs::File;
use std::path::Path;

use crate::root::open_inside;

/// Opens the debug file of the program with this build ID. `root` is the root folder of the process.
pub(crate) fn open(root: &Path, build_id: &[u8]) -> Option<File> {
    let (first, rest) = build_id.split_first()?;
    let mut path = format!("/usr/lib/debug/.build-id/{first:02x}/");
    path.extend(rest.iter().map(|byte| format!("{byte:02x}")));
    path.push_str(".debug");
    open_inside(root, Path::new(&path))
}
