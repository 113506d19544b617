//! Our own forwarder: frames of TAP interfaces pass through a [`Relay`] that decides when each one arrives.
//!
//! The relays are pure (they are given the time), so their arithmetic is tested without any network.

mod engine;
mod hub;
mod line;
mod queue;
mod usage;

pub(crate) use engine::{Engine, Port};
pub(crate) use hub::Hub;
pub(crate) use line::{Line, LinePlan};
pub(crate) use usage::{Counts, FRAMING_BYTES};

/// Decides when a frame arrives, and whether it does.
pub(crate) trait Relay: Send {
    /// A frame of `bytes` (Ethernet header included, check sequence not) leaves port `from` at `now_ns` for `to`.
    /// Returns when it arrives, or `None` when it is dropped.
    fn offer(&mut self, now_ns: u64, from: usize, to: usize, bytes: usize) -> Option<u64>;

    /// What it did so far; `queue` is as of `now_ns`.
    fn counts(&mut self, now_ns: u64) -> Counts;
}
