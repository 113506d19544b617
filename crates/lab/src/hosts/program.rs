//! The program that agents run, for hosts that do not have it.

use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::LabError;

/// Kernel and processor that this program is made for, as `uname -sm` says it.
pub(crate) fn system() -> String {
    format!("Linux {}", std::env::consts::ARCH)
}

/// A program with the hash of its content.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Its bytes.
    pub(crate) bytes: Arc<[u8]>,
    /// SHA-256 of them, in hexadecimal.
    pub(crate) hash: String,
}

impl Program {
    /// Reads it.
    pub(crate) fn read(path: &Path) -> Result<Self, LabError> {
        let bytes = std::fs::read(path)
            .map_err(|e| LabError::set_up(format!("reading {} for other hosts", path.display()), e))?;
        let hash = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { bytes: bytes.into(), hash })
    }
}
