//! Files that another host sent together with the settings of a load. On this host, the files may not exist, or may
//! differ.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

static RECEIVED: RwLock<BTreeMap<String, Arc<[u8]>>> = RwLock::new(BTreeMap::new());

/// Stores `bytes` as the content of `path`, for all loads of this process.
pub fn add_received_file(path: String, bytes: Vec<u8>) {
    RECEIVED.write().unwrap_or_else(PoisonError::into_inner).insert(path, bytes.into());
}

/// Returns the content that another host sent for `path`; `None` if no host sent any.
pub(crate) fn received_file(path: &str) -> Option<Arc<[u8]>> {
    RECEIVED.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn received_files_are_read_instead_of_files_of_this_host() {
        let path = "/no/such/file/but/sent";
        assert!(crate::client::read("the body", path).is_err());
        add_received_file(path.into(), b"sent".to_vec());
        assert_eq!(&*crate::client::read("the body", path).unwrap(), b"sent");
    }
}
