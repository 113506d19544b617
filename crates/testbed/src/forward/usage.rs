//! Counts that every medium keeps.

/// Bytes that Ethernet adds to a frame: preamble 8, check sequence 4, gap 12.
pub(crate) const FRAMING_BYTES: usize = 24;
/// Minimum number of bytes that a frame takes on the wire: 60, and the 24 that Ethernet adds.
pub(crate) const MINIMUM_BYTES: usize = 84;

/// Returns the number of bytes that a frame takes on the wire.
pub(crate) fn wire_bytes(frame: usize) -> usize {
    (frame + FRAMING_BYTES).max(MINIMUM_BYTES)
}

/// Counts since the medium was created.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    /// Bytes carried, including the bytes that Ethernet adds.
    pub(crate) bytes: u64,
    /// Number of frames carried.
    pub(crate) frames: u64,
    /// Nanoseconds in which the wire was in use; `None` for a medium without a rate.
    pub(crate) busy_ns: Option<u64>,
    /// Frames that had to wait for the wire.
    pub(crate) deferrals: u64,
    /// Frames dropped because the queue was full.
    pub(crate) drops: u64,
    /// Frames that the medium lost intentionally.
    pub(crate) lost: u64,
    /// Bytes waiting now.
    pub(crate) queue_bytes: u64,
}

impl Counts {
    /// Counts a frame that will be carried.
    pub(crate) fn carry(&mut self, wire_bytes: usize) {
        self.bytes += wire_bytes as u64;
        self.frames += 1;
    }
}
