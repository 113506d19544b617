//! Data to be sent: repetitions of one message, or bytes in a buffer.

/// Buffer of bytes to send, with the number of these bytes that were already returned for sending. New bytes are added
/// at the end.
#[derive(Default)]
pub(crate) struct SendBuffer {
    bytes: Vec<u8>,
    given: usize,
}

impl SendBuffer {
    /// Returns the number of bytes that were not yet returned for sending.
    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        self.bytes.len() - self.given
    }

    /// Copies bytes that wait to be sent, and returns their number.
    #[inline]
    pub(crate) fn copy(&mut self, out: &mut [u8]) -> usize {
        let rest = &self.bytes[self.given..];
        let n = rest.len().min(out.len());
        out[..n].copy_from_slice(&rest[..n]);
        self.given += n;
        n
    }

    /// Copies waiting bytes to `out`. After all bytes were copied, the buffer is cleared and keeps at most `kept` bytes
    /// of memory.
    #[inline]
    pub(crate) fn take_into(&mut self, kept: usize, out: &mut [u8]) -> usize {
        let n = self.copy(out);
        if self.waiting() == 0 {
            self.forget(kept);
        }
        n
    }

    /// Drops all bytes and keeps at most `kept` bytes of memory.
    pub(crate) fn forget(&mut self, kept: usize) {
        self.clear();
        self.bytes.shrink_to(kept);
    }

    /// Drops all bytes, without freeing the memory.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.given = 0;
    }

    /// Returns the buffer, so that the caller can append bytes. The caller must not remove bytes from the buffer.
    #[inline]
    pub(crate) fn end(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Appends bytes to the buffer.
    #[inline]
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
}

/// Queue of the messages that a client still has to send.
#[derive(Default)]
pub(crate) struct Outbox {
    /// Number of messages that are not completely sent.
    to_send: u32,
    /// Number of bytes of the current message that are already sent.
    sent: u64,
}

impl Outbox {
    /// Adds one message to the messages to send.
    pub(crate) fn add(&mut self) {
        self.to_send += 1;
    }

    /// Returns true if no message is left to send.
    pub(crate) fn is_empty(&self) -> bool {
        self.to_send == 0
    }

    /// Fills `out` with repetitions of a message of `len` bytes; `len` must not be 0. The function `copy` writes bytes
    /// of the message from an offset on, and returns their number. Returns the number of bytes written, and the number
    /// of messages that were completed.
    #[inline]
    pub(crate) fn fill(
        &mut self,
        out: &mut [u8],
        len: u64,
        mut copy: impl FnMut(u64, &mut [u8]) -> usize,
    ) -> (usize, u32) {
        let (mut done, mut finished) = (0, 0);
        while self.to_send > 0 && done < out.len() {
            let n = copy(self.sent, &mut out[done..]);
            done += n;
            self.sent += n as u64;
            if self.sent == len {
                self.sent = 0;
                self.to_send -= 1;
                finished += 1;
            }
        }
        (done, finished)
    }

    /// Fills `out` with repetitions of a message in memory, and returns the number of bytes written.
    #[inline]
    pub(crate) fn fill_from(&mut self, out: &mut [u8], message: &[u8]) -> usize {
        let copy = |from: u64, out: &mut [u8]| {
            let rest = &message[from as usize..];
            let n = rest.len().min(out.len());
            out[..n].copy_from_slice(&rest[..n]);
            n
        };
        self.fill(out, message.len() as u64, copy).0
    }
}
