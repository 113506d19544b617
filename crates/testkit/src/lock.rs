//! Locks for files that tests download or build once. Tests that run at the same time share these files.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// Waits until no other test holds the lock `path`, and takes it. Other tests wait until the returned file is dropped.
/// Creates the file `path` if it is missing.
///
/// # Panics
/// Panics if the file cannot be created.
pub fn lock_file(path: &Path) -> File {
    let lock = File::create(path).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    lock
}
