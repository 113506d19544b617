//! Services: makers of the server half of each connection.

use crate::Stats;
use crate::connection::BoxedSession;

/// Makes the server half of each connection. Shared by all threads.
pub trait Service: Send + Sync {
    /// Makes a session for one connection. After [`proto::Session::reset`], models use it for another connection.
    fn session(&self) -> BoxedSession;

    /// Tells the service the time, seconds since the epoch. Every thread calls this at every wake.
    fn tick(&self, _now_s: u64) {}

    /// Returns the reply to a peer that a busy server refuses; empty for none.
    fn busy_reply(&self) -> &[u8] {
        b""
    }

    /// Adds the service's own counters to those of the server.
    fn add_to(&self, _stats: &mut Stats) {}

    /// Returns whether Nagle's algorithm may delay small writes (off by default).
    fn nagle(&self) -> bool {
        false
    }
}
