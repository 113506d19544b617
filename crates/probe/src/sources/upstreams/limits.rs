//! Limits of the numbers of upstreams and of their connections that are read.

/// Maximum number of upstream addresses.
pub(super) const MAX_UPSTREAMS: usize = 64;
/// Maximum number of connections that are read, not counting connections to the server's own port. A limit is needed
/// because a host may have any number of connections.
pub(super) const MAX_ENDS: usize = 16_384;
