//! A file of the kernel that stays open and is read again from its start at each sample: pread(2) makes procfs and
//! sysfs produce the text anew, and spares walking the path. An open file of a process that has ended says so (ESRCH),
//! so a new process with the same number is never taken for the old one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Larger files are a mistake of somebody's.
const TOO_LARGE: usize = 16 << 20;

/// Reads all of an open file from its start into a buffer that is reused, and gives what was read.
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
            if filled >= TOO_LARGE {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 16 MiB"));
            }
            buffer.resize(filled * 2, 0);
        }
    }
}

/// A path with its file, opened at the first read, and its own buffer.
#[derive(Debug)]
pub(crate) struct Kept {
    path: PathBuf,
    file: Option<File>,
    buffer: Vec<u8>,
}

impl Kept {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, file: None, buffer: Vec::new() }
    }

    /// A file that is open already, for example in another namespace; the path is for messages.
    pub(crate) fn of(path: PathBuf, file: File) -> Self {
        Self { path, file: Some(file), buffer: Vec::new() }
    }

    /// The text of the file now. The error is one clause that names the file and what happened.
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

/// One clause for a reading's reason.
pub(crate) fn why(path: &std::path::Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!("{path} does not exist on this kernel or for this process"),
        io::ErrorKind::PermissionDenied => format!("no permission to read {path}: run as root or as its owner"),
        _ if error.raw_os_error() == Some(95) => format!("{path} is switched off in this kernel"),
        _ => format!("cannot read {path}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole_again_and_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let mut kept = Kept::new(path.clone());
        assert!(kept.read().unwrap_err().contains("does not exist"));
        std::fs::write(&path, vec![b'x'; 10_000]).unwrap();
        assert_eq!(kept.read().unwrap().len(), 10_000);
        std::fs::write(&path, b"short").unwrap();
        assert_eq!(kept.read().unwrap(), b"short");
        let mut stat = Kept::new("/proc/self/stat".into());
        assert_eq!(stat.read().unwrap().last(), Some(&b'\n'));
    }
}
