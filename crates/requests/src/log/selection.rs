//! Choice of the requests in a log that are replayed.

use std::collections::BTreeMap;

/// Methods that change nothing on the server (RFC 9110, section 9.2.1).
const SAFE: &[&str] = &["GET", "HEAD", "OPTIONS"];

/// Options of the user: the fields of a log, and the methods of the requests to replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// Allowed methods in addition to the safe methods, such as POST.
    pub allow: Vec<String>,
    /// Field names of JSON lines that the user gave, such as `path=uri,time=at`; empty for none.
    pub fields: String,
}

impl ReplayOptions {
    /// Returns the methods that the user allowed, but that no request of the log has. `methods` has the number of requests
    /// by method.
    pub(super) fn allowed_but_absent(&self, methods: &BTreeMap<String, u64>) -> Vec<String> {
        let is_absent = |allowed: &&String| !methods.keys().any(|method| method.eq_ignore_ascii_case(allowed));
        self.allow.iter().filter(is_absent).cloned().collect()
    }

    /// Returns true if requests of this method are replayed.
    pub(super) fn allows(&self, method: &str) -> bool {
        SAFE.contains(&method) || self.allow.iter().any(|allowed| allowed.eq_ignore_ascii_case(method))
    }
}
