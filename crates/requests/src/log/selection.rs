//! Choice of the requests in a log that are replayed.

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
    /// Returns true if requests of this method are replayed.
    pub(super) fn allows(&self, method: &str) -> bool {
        SAFE.contains(&method) || self.allow.iter().any(|allowed| allowed.eq_ignore_ascii_case(method))
    }
}
