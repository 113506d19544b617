//! What a server says: the server half of each connection.

use crate::Stats;
use crate::connection::BoxedSession;

/// Makes the server half of each connection. Shared by all threads.
pub trait Service: Send + Sync {
    /// A session for one connection. Models use it again for another one after [`proto::Session::reset`].
    fn session(&self) -> BoxedSession;

    /// Told by every thread at every wake what time it is, seconds since the epoch.
    fn tick(&self, _now_s: u64) {}

    /// What a peer is told that is refused because the server is busy; empty for nothing.
    fn busy_reply(&self) -> &[u8] {
        b""
    }

    /// Adds what it counts itself to the counts of the server.
    fn add_to(&self, _stats: &mut Stats) {}

    /// Whether small pieces may be held back by Nagle's algorithm (off by default).
    fn nagle(&self) -> bool {
        false
    }
}
