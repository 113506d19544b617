//! What a medium did, in counts that any of them can give.

/// Bytes around a frame on an Ethernet: preamble 8, check sequence 4, gap 12.
pub(crate) const FRAMING_BYTES: usize = 24;
/// The shortest frame with its framing: 60 bytes and 24.
pub(crate) const MINIMUM_BYTES: usize = 84;

/// Bytes that a frame takes on the wire.
pub(crate) fn wire_bytes(frame: usize) -> usize {
    (frame + FRAMING_BYTES).max(MINIMUM_BYTES)
}

/// Counts since the medium was made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    /// Bytes that were carried, framing included.
    pub(crate) bytes: u64,
    /// Frames that were carried.
    pub(crate) frames: u64,
    /// Nanoseconds in which the wire was in use; `None` for a medium without a rate.
    pub(crate) busy_ns: Option<u64>,
    /// Frames that had to wait.
    pub(crate) deferrals: u64,
    /// Frames dropped because the queue was full.
    pub(crate) drops: u64,
    /// Frames lost on purpose.
    pub(crate) lost: u64,
    /// Bytes that wait now.
    pub(crate) queue_bytes: u64,
}

impl Counts {
    /// One frame is to be carried.
    pub(crate) fn carry(&mut self, wire_bytes: usize) {
        self.bytes += wire_bytes as u64;
        self.frames += 1;
    }
}
