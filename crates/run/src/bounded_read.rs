//! Files that the user names, read up to a maximum size.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::Path;

/// Maximum size of a file that becomes a request, such as a body, bytes: 1 GiB. The limit exists because the whole
/// content stays in memory.
pub const MAX_REQUEST_FILE_BYTES: u64 = 1 << 30;

/// Reads a file of at most `max_bytes` bytes. The length of a pipe or of a device such as `/dev/zero` is not known in
/// advance, so the number of bytes read is limited.
///
/// # Errors Returns the error of the system, or [`ErrorKind::FileTooLarge`] if the file has more than `max_bytes`
/// bytes.
pub fn read_bounded(path: &Path, max_bytes: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(Error::new(
            ErrorKind::FileTooLarge,
            format!("it has more than {max_bytes} bytes; give a shorter file"),
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_an_end_is_refused() {
        let error = read_bounded(Path::new("/dev/zero"), 5000).unwrap_err();
        assert!(
            error.kind() == ErrorKind::FileTooLarge && error.to_string().contains("more than 5000 bytes"),
            "{error}"
        );
        assert!(read_bounded(Path::new("/dev/null"), 0).unwrap().is_empty());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, b"four").unwrap();
        assert_eq!(read_bounded(file.path(), 4).unwrap(), b"four");
        assert!(read_bounded(file.path(), 3).is_err());
    }
}
