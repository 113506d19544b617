//! Own forwarder: frames of the hosts' interfaces pass through a [`Relay`], which decides when each one arrives.
//!
//! The relays are pure (the caller passes the time), so tests of their arithmetic need no network.

mod engine;
mod hub;
mod line;
mod queue;
mod usage;

pub(crate) use engine::{Engine, Port};
pub(crate) use hub::Hub;
pub(crate) use line::{Line, LinePlan};
pub(crate) use usage::{Counts, FRAMING_BYTES};

/// Fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Arrives at this time in nanoseconds.
    Arrives(u64),
    /// Waits for its turn; [`Relay::settle`] later returns its arrival.
    Waits,
    /// Dropped or lost.
    Lost,
}

/// Decides whether and when a frame arrives.
pub(crate) trait Relay: Send {
    /// Takes a frame of `bytes` (with the Ethernet header, without the check sequence) that leaves port `from` at
    /// `now_ns`. `ticket` identifies it if it has to wait.
    fn offer(&mut self, now_ns: u64, from: usize, bytes: usize, ticket: usize) -> Fate;

    /// Returns the next waiting frame whose turn has come, and its arrival time.
    fn settle(&mut self, _now_ns: u64) -> Option<(usize, u64)> {
        None
    }

    /// Returns the time of the next turn of a waiting frame.
    fn wakes_ns(&self) -> Option<u64> {
        None
    }

    /// Changes the rate for every frame whose turn is still to come.
    fn set_rate(&mut self, bits_per_s: u64);

    /// Returns the counts so far; `queue` is as of `now_ns`.
    fn counts(&mut self, now_ns: u64) -> Counts;
}
