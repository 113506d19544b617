//! Forwarder in user space, for media that the kernel does not simulate. It reads the frames that hosts send, and asks
//! a [`Relay`] (a model of the medium) when each frame arrives.
//!
//! The relays read no clock: callers pass the time. Their tests therefore need no network.

mod engine;
mod hub;
mod line;
mod queue;
mod usage;

pub(crate) use engine::{Engine, Port};
pub(crate) use hub::Hub;
pub(crate) use line::{Line, LinePlan};
pub(crate) use usage::{Counts, FRAMING_BYTES};

/// Fate of a frame that enters the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The frame arrives at this time, nanoseconds of the monotonic clock.
    Arrives(u64),
    /// The frame must wait until it may be sent. [`Relay::settle`] later returns its arrival time.
    Waits,
    /// The frame is lost: because of a full queue, or as a simulated loss.
    Lost,
}

/// Model of a medium, which decides whether and when each frame arrives.
pub(crate) trait Relay: Send {
    /// Accepts a frame that a host sends at `now_ns`. `from` is the host's index. `bytes` is the frame's size, which
    /// includes the Ethernet header but not the check sequence. If the frame must wait, [`Relay::settle`] later returns
    /// `ticket`.
    fn offer(&mut self, now_ns: u64, from: usize, bytes: usize, ticket: usize) -> Fate;

    /// Returns the ticket and the arrival time of the next waiting frame that may be sent by now; `None` if there is
    /// none.
    fn settle(&mut self, _now_ns: u64) -> Option<(usize, u64)> {
        None
    }

    /// Returns the time at which the next waiting frame may be sent, nanoseconds; `None` if no frame waits.
    fn wakes_ns(&self) -> Option<u64> {
        None
    }

    /// Changes the medium's rate, bits per second. Frames for which `settle` or `offer` has already returned an arrival
    /// time keep this time.
    fn set_rate(&mut self, bits_per_s: u64);

    /// Returns the counts since the medium was created. `queue_bytes` is the size of the queue at `now_ns`.
    fn counts(&mut self, now_ns: u64) -> Counts;
}
