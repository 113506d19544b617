//! A kernel file that stays open and is read from its start at each sample. If a file is read by pread(2), procfs and
//! sysfs produce its text again without looking up its path. Reading the file of an ended process fails with ESRCH. The
//! ended process is therefore never confused with a new process that has the same ID.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Maximum file size in bytes. A larger file is an error.
const MAX_FILE_BYTES: usize = 16 << 20;

/// Reads an open file from its start into a reused buffer and returns the content.
pub(crate) fn reread<'b>(file: &File, buffer: &'b mut Vec<u8>) -> io::Result<&'b [u8]> {
    if buffer.len() < 4096 {
        buffer.resize(4096, 0);
    }
    let mut filled = 0;
    loop {
        match file.read_at(&mut buffer[filled..], filled as u64) {
            Ok(0) => return Ok(&buffer[..filled]),
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        if filled == buffer.len() {
            if filled >= MAX_FILE_BYTES {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 16 MiB"));
            }
            buffer.resize(filled * 2, 0);
        }
    }
}

/// A file that is opened at the first read, with its path and its own buffer.
#[derive(Debug)]
pub(crate) struct RereadFile {
    path: PathBuf,
    file: Option<File>,
    buffer: Vec<u8>,
}

impl RereadFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, file: None, buffer: Vec::new() }
    }

    /// Wraps an open file, for example from another namespace. Error messages contain the path.
    pub(crate) fn from_file(path: PathBuf, file: File) -> Self {
        Self { path, file: Some(file), buffer: Vec::new() }
    }

    /// Reads the file's current text. The error is a clause that names the file and the cause.
    pub(crate) fn read(&mut self) -> Result<&[u8], String> {
        let text = match &self.file {
            Some(file) => reread(file, &mut self.buffer),
            None => match File::open(&self.path) {
                Ok(file) => reread(self.file.insert(file), &mut self.buffer),
                Err(e) => Err(e),
            },
        };
        text.map_err(|e| why(&self.path, &e))
    }
}

/// Returns a clause that explains why a file could not be read.
pub(crate) fn why(path: &std::path::Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!("{path} does not exist on this kernel or for this process"),
        io::ErrorKind::PermissionDenied => {
            format!("no permission to read {path}: {}", crate::rights::advice("its owner"))
        }
        _ if error.raw_os_error() == Some(95) => format!("{path} is switched off in this kernel"),
        _ => format!("cannot read {path}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_completely_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let mut kept = RereadFile::new(path.clone());
        assert!(kept.read().unwrap_err().contains("does not exist"));
        std::fs::write(&path, vec![b'x'; 10_000]).unwrap();
        assert_eq!(kept.read().unwrap().len(), 10_000);
        std::fs::write(&path, b"short").unwrap();
        assert_eq!(kept.read().unwrap(), b"short");
        let mut stat = RereadFile::new("/proc/self/stat".into());
        assert_eq!(stat.read().unwrap().last(), Some(&b'\n'));
    }
}
