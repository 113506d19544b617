//! Forwarder in user space, for media that the kernel does not simulate. The forwarder reads the frames that hosts
//! send. For each frame, a [`Relay`] (a model of the medium) decides whether and when the frame arrives.
//!
//! A relay gets the time and the frames from its caller. Tests of a relay therefore need neither a clock nor a network.

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
    /// The frame arrives at the contained time, nanoseconds of the monotonic clock.
    Arrives(u64),
    /// The frame must wait until it may be sent. Later, [`Relay::settle`] returns the arrival time of the frame.
    Waits,
    /// The frame is lost, because a queue is full or because the medium simulates a loss.
    Lost,
}

/// Model of a medium, which decides whether and when each frame arrives.
pub(crate) trait Relay: Send {
    /// Accepts a frame that a host sends at `now_ns`. `from` is the host's index. `bytes` is the frame's size, which
    /// includes the Ethernet header but not the check sequence. If the frame must wait, [`Relay::settle`] later returns
    /// `ticket`, which identifies the frame.
    fn offer(&mut self, now_ns: u64, from: usize, bytes: usize, ticket: usize) -> Fate;

    /// Returns the next waiting frame that may be sent at `_now_ns` or earlier, as (ticket, arrival time). Returns
    /// `None` if no waiting frame may be sent yet.
    fn settle(&mut self, _now_ns: u64) -> Option<(usize, u64)> {
        None
    }

    /// Returns the time at which the next waiting frame may be sent, nanoseconds of the monotonic clock; `None` if no
    /// frame waits.
    fn wakes_ns(&self) -> Option<u64> {
        None
    }

    /// Changes the medium's rate to `bits_per_s` bits per second. An arrival time that `offer` or `settle` has already
    /// returned for a frame does not change.
    fn set_rate(&mut self, bits_per_s: u64);

    /// Returns the traffic counts of a wire since the medium was created. `queue_bytes` is the size of the wire's queue
    /// at `now_ns`. If each host has its own wire for sending, `wire` is the host's index. A shared medium has only
    /// wire 0.
    fn counts(&mut self, now_ns: u64, wire: usize) -> Counts;
}
