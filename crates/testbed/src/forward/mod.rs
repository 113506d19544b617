//! Our own forwarder: frames of the hosts' interfaces pass through a [`Relay`] that decides when each one arrives.
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

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It arrives at this time, nanoseconds.
    Arrives(u64),
    /// It waits for its turn; [`Relay::settle`] says later when it arrives.
    Waits,
    /// It is dropped or lost.
    Lost,
}

/// Decides when a frame arrives, and whether it does.
pub(crate) trait Relay: Send {
    /// A frame of `bytes` (Ethernet header included, check sequence not) leaves port `from` at `now_ns`. `ticket` names
    /// it if it has to wait.
    fn offer(&mut self, now_ns: u64, from: usize, bytes: usize, ticket: usize) -> Fate;

    /// The next frame that waited and whose turn has come, and when it arrives.
    fn settle(&mut self, _now_ns: u64) -> Option<(usize, u64)> {
        None
    }

    /// When the next turn of a frame that waits comes.
    fn wakes_ns(&self) -> Option<u64> {
        None
    }

    /// Changes the rate for every frame whose turn is still to come.
    fn set_rate(&mut self, bits_per_s: u64);

    /// What it did so far; `queue` is as of `now_ns`.
    fn counts(&mut self, now_ns: u64) -> Counts;
}
