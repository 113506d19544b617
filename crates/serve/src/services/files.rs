//! Files of a directory, kept in memory. A requested file is checked at most once a second for changes (by modification
//! time and length), and is read again after a change. Neither symbolic links nor dots in a path can lead out of the
//! directory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use proto::http1::{Page, content_type};

use crate::ServeError;
use crate::control::lock;

/// Maximum total size of all files kept in memory, bytes. If adding a file would exceed this size, the server first
/// drops all files from its memory.
const MAX_KEPT_BYTES: u64 = 1 << 30;
/// Memory that a file kept in memory takes in addition to its content and path, bytes. Clients can write the same path
/// in several ways (`/a`, `//a`), and a copy of the file is stored under each of these paths.
const ENTRY_BYTES: u64 = 1024;

pub(super) struct Files {
    root: PathBuf,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    files: HashMap<String, File>,
    bytes: u64,
}

struct File {
    page: Arc<Page>,
    changed: Option<SystemTime>,
    bytes: u64,
    looked_s: u64,
}

impl Files {
    pub(super) fn new(root: &str) -> Result<Self, ServeError> {
        let bad = |error| ServeError::Root { path: root.into(), error };
        let path = std::fs::canonicalize(root).map_err(bad)?;
        std::fs::read_dir(&path).map_err(bad)?;
        Ok(Self { root: path, kept: Mutex::default() })
    }

    /// Returns the file at a decoded path as a page, or `None` if there is no such file. For a directory, returns its
    /// index.html.
    pub(super) fn find(&self, path: &str, status: u16, now_s: u64) -> Option<Arc<Page>> {
        let mut kept = lock(&self.kept);
        if let Some(file) = kept.files.get(path).filter(|f| f.looked_s == now_s) {
            return Some(file.page.clone());
        }
        let Some((real, meta)) = self.locate(path) else {
            kept.forget(path);
            return None;
        };
        let changed = meta.modified().ok();
        if let Some(file) = kept.files.get_mut(path)
            && file.changed == changed
            && file.bytes == meta.len()
        {
            file.looked_s = now_s;
            return Some(file.page.clone());
        }
        let body = std::fs::read(&real).ok()?;
        let bytes = body.len() as u64;
        let page = Page::new(status, content_type(&real.to_string_lossy()), "", body);
        kept.keep(path, File { page: page.clone(), changed, bytes, looked_s: now_s });
        Some(page)
    }

    /// Returns the real path of a file and its metadata, if the file lies in the root directory.
    fn locate(&self, path: &str) -> Option<(PathBuf, std::fs::Metadata)> {
        let relative = path.trim_start_matches('/');
        if Path::new(relative).components().any(|c| !matches!(c, std::path::Component::Normal(_)))
            && !relative.is_empty()
        {
            return None;
        }
        let mut real = std::fs::canonicalize(self.root.join(relative)).ok()?;
        if real.is_dir() {
            real = std::fs::canonicalize(real.join("index.html")).ok()?;
        }
        let meta = std::fs::metadata(&real).ok()?;
        (real.starts_with(&self.root) && meta.is_file()).then_some((real, meta))
    }
}

impl Kept {
    fn forget(&mut self, path: &str) {
        if let Some(old) = self.files.remove(path) {
            self.bytes -= memory_bytes(path, &old);
        }
    }

    fn keep(&mut self, path: &str, file: File) {
        self.forget(path);
        if self.bytes + memory_bytes(path, &file) > MAX_KEPT_BYTES {
            *self = Self::default();
        }
        self.bytes += memory_bytes(path, &file);
        self.files.insert(path.into(), file);
    }
}

/// Returns the memory that one kept file takes, bytes.
const fn memory_bytes(path: &str, file: &File) -> u64 {
    file.bytes + path.len() as u64 + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serves_only_files_in_the_root_directory() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("index.html"), "<p>").unwrap();
        std::fs::write(dir.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
        let files = Files::new(root.to_str().unwrap()).unwrap();
        assert_eq!(files.find("/", 200, 1).unwrap().body(), b"<p>");
        assert_eq!(files.find("/index.html", 200, 1).unwrap().body(), b"<p>");
        for path in ["/../secret", "/link", "//../secret", "/none", "/..", "/index.html/.."] {
            assert!(files.find(path, 200, 1).is_none(), "{path}");
        }
    }

    #[test]
    fn every_spelling_of_a_path_counts_towards_the_memory_limit() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("empty"), "").unwrap();
        let files = Files::new(dir.path().to_str().unwrap()).unwrap();
        for n in 0..100 {
            assert!(files.find(&format!("/{}empty", "/".repeat(n)), 200, n as u64).is_some());
        }
        let bytes = files.kept.lock().unwrap().bytes;
        assert!(bytes >= 100 * ENTRY_BYTES, "{bytes}");
        // The memory of deleted files must also be subtracted from the total: all paths under which a deleted file was
        // stored are dropped.
        std::fs::remove_file(dir.path().join("empty")).unwrap();
        (0..100).for_each(|n| assert!(files.find(&format!("/{}empty", "/".repeat(n)), 200, 1000).is_none()));
        assert_eq!(files.kept.lock().unwrap().bytes, 0);
    }

    #[test]
    fn a_changed_file_is_read_again_after_a_second() {
        let dir = tempfile::tempdir().unwrap();
        let (file, root) = (dir.path().join("a.txt"), dir.path().to_str().unwrap());
        std::fs::write(&file, "one").unwrap();
        let files = Files::new(root).unwrap();
        assert_eq!(files.find("/a.txt", 200, 1).unwrap().body(), b"one");
        std::fs::write(&file, "three").unwrap();
        assert_eq!(files.find("/a.txt", 200, 1).unwrap().body(), b"one");
        assert_eq!(files.find("/a.txt", 200, 2).unwrap().body(), b"three");
    }
}
