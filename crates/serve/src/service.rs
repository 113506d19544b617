//! Services, which create the server sessions of connections.

use crate::Stats;
use crate::connection::BoxedSession;

/// Creates the server session of each connection. All threads share the service.
pub trait Service: Send + Sync {
    /// Creates a session for one connection. The session may serve another connection after [`proto::Session::reset`].
    fn session(&self) -> BoxedSession;

    /// Sets the service's clock, in seconds since 1970. Every serving thread calls this method whenever it wakes up.
    fn tick(&self, _now_s: u64) {}

    /// Returns the reply with which a busy server refuses a connection; empty for none.
    fn busy_reply(&self) -> &[u8] {
        b""
    }

    /// Adds the service's own counters to the server's counters.
    fn add_to(&self, _stats: &mut Stats) {}

    /// Returns true if sessions also send at planned times, and not only in response to input
    /// ([`proto::Session::due_ns`]).
    fn is_timed(&self) -> bool {
        false
    }

    /// Returns true if a planted weakness (a behaviour) slows each request. If the result is true, an event loop sends
    /// each answer before it handles the next request. If the result is false, an event loop may collect answers for a
    /// short time.
    fn is_slowed(&self) -> bool {
        false
    }

    /// Returns true if Nagle's algorithm may delay small writes. By default, Nagle's algorithm is off.
    fn nagle(&self) -> bool {
        false
    }
}
