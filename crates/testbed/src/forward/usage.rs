//! Counts of the traffic on a medium.

/// Number of bytes that Ethernet adds to a frame: preamble 8, check sequence 4, gap between frames 12.
pub(crate) const FRAMING_BYTES: usize = 24;
/// Minimum number of bytes that a frame takes on the wire: 60 bytes, the smallest frame, and the 24 bytes that Ethernet
/// adds.
pub(crate) const MINIMUM_BYTES: usize = 84;

/// Returns the number of bytes that a frame takes on the wire, including the bytes that Ethernet adds.
pub(crate) fn wire_bytes(frame: usize) -> usize {
    (frame + FRAMING_BYTES).max(MINIMUM_BYTES)
}

/// Traffic counts of a medium since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    /// Number of bytes sent, including the bytes that Ethernet adds.
    pub(crate) bytes: u64,
    /// Number of frames sent.
    pub(crate) frames: u64,
    /// Time for which the wire was in use, nanoseconds; `None` for a medium without a rate.
    pub(crate) busy_ns: Option<u64>,
    /// Number of frames that had to wait because the wire was busy.
    pub(crate) deferrals: u64,
    /// Number of frames dropped because a queue was full.
    pub(crate) drops: u64,
    /// Number of frames lost because the medium simulates losses.
    pub(crate) lost: u64,
    /// Number of bytes that wait in queues now.
    pub(crate) queue_bytes: u64,
}

impl Counts {
    /// Counts a frame that will be sent. `wire_bytes` is the frame's size on the wire.
    pub(crate) fn carry(&mut self, wire_bytes: usize) {
        self.bytes += wire_bytes as u64;
        self.frames += 1;
    }
}
