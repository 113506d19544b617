//! Copy of loadline's program for hosts on which it is not installed.

use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::LabError;

/// Returns the kernel and architecture for which this program is built, in the form of `uname -sm`.
pub(crate) fn system() -> String {
    format!("Linux {}", std::env::consts::ARCH)
}

/// A program file with the hash of its content.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Content of the program file.
    pub(crate) bytes: Arc<[u8]>,
    /// SHA-256 of the content, in hexadecimal.
    pub(crate) hash: String,
}

impl Program {
    /// Reads the program from a file.
    pub(crate) fn read(path: &Path) -> Result<Self, LabError> {
        let bytes = std::fs::read(path)
            .map_err(|e| LabError::set_up(format!("reading {} for other hosts", path.display()), e))?;
        let hash = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { bytes: bytes.into(), hash })
    }
}
