//! Forwarder in user space. The frames of the hosts' interfaces pass through a [`Relay`], which decides when each frame
//! arrives.
//!
//! The relays are pure functions of the times that the caller passes, so their tests need no network.

mod engine;
mod hub;
mod line;
mod queue;
mod usage;

pub(crate) use engine::{Engine, Port};
pub(crate) use hub::Hub;
pub(crate) use line::{Line, LinePlan};
pub(crate) use usage::{Counts, FRAMING_BYTES};

/// What happens to a frame in the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The frame arrives at this time, nanoseconds.
    Arrives(u64),
    /// The frame must wait for its turn. [`Relay::settle`] later returns its arrival time.
    Waits,
    /// The frame is dropped or lost.
    Lost,
}

/// Decides whether and when a frame arrives.
pub(crate) trait Relay: Send {
    /// Takes a frame that leaves port `from` at `now_ns`. `bytes` is its size with the Ethernet header and without the
    /// check sequence. If the frame must wait, [`Relay::settle`] later returns `ticket`.
    fn offer(&mut self, now_ns: u64, from: usize, bytes: usize, ticket: usize) -> Fate;

    /// Returns the ticket of the next waiting frame whose turn has come, and its arrival time.
    fn settle(&mut self, _now_ns: u64) -> Option<(usize, u64)> {
        None
    }

    /// Returns the time at which the turn of the next waiting frame comes.
    fn wakes_ns(&self) -> Option<u64> {
        None
    }

    /// Changes the rate for every frame whose turn has not come yet.
    fn set_rate(&mut self, bits_per_s: u64);

    /// Returns the counts so far. The count `queue_bytes` is that at `now_ns`.
    fn counts(&mut self, now_ns: u64) -> Counts;
}
