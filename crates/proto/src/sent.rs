//! Files that came with a plan: its reader is on another host, which has others under those names, or none.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

static SENT: RwLock<BTreeMap<String, Arc<[u8]>>> = RwLock::new(BTreeMap::new());

/// From now on these bytes are what a plan means by that path, in this process.
pub fn bring(path: String, bytes: Vec<u8>) {
    SENT.write().unwrap_or_else(PoisonError::into_inner).insert(path, bytes.into());
}

/// What came under this path.
pub(crate) fn of(path: &str) -> Option<Arc<[u8]>> {
    SENT.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_brought_is_read_instead_of_a_file_of_this_host() {
        let path = "/no/such/file/but/sent";
        assert!(crate::client::read("the body", path).is_err());
        bring(path.into(), b"sent".to_vec());
        assert_eq!(&*crate::client::read("the body", path).unwrap(), b"sent");
    }
}
