//! What is still to be sent: the same message, again and again, or bytes that wait in a buffer.

/// Bytes that wait to be sent, and how many of them were given out. What is written to it is added at its end.
#[derive(Default)]
pub(crate) struct Owed {
    bytes: Vec<u8>,
    given: usize,
}

impl Owed {
    /// Bytes that were not given yet.
    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        self.bytes.len() - self.given
    }

    /// Copies what waits; returns how many bytes.
    #[inline]
    pub(crate) fn copy(&mut self, out: &mut [u8]) -> usize {
        let rest = &self.bytes[self.given..];
        let n = rest.len().min(out.len());
        out[..n].copy_from_slice(&rest[..n]);
        self.given += n;
        n
    }

    /// The same, and forgets the bytes once all of them were given.
    #[inline]
    pub(crate) fn give(&mut self, kept: usize, out: &mut [u8]) -> usize {
        let n = self.copy(out);
        if self.waiting() == 0 {
            self.forget(kept);
        }
        n
    }

    /// Nothing waits any more, and at most `kept` bytes of memory are kept.
    pub(crate) fn forget(&mut self, kept: usize) {
        self.clear();
        self.bytes.shrink_to(kept);
    }

    /// Nothing waits any more, and all memory is kept.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.given = 0;
    }

    /// Where bytes are added; what is there is not to be taken away.
    #[inline]
    pub(crate) fn end(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Adds bytes.
    #[inline]
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
}

/// How many messages a client half still has to send, and how far the current one is.
#[derive(Default)]
pub(crate) struct Outbox {
    to_send: u32,
    sent: u64,
}

impl Outbox {
    /// One more message is to be sent.
    pub(crate) fn add(&mut self) {
        self.to_send += 1;
    }

    /// Whether nothing is left to give out.
    pub(crate) fn is_empty(&self) -> bool {
        self.to_send == 0
    }

    /// Fills `out` with messages of `len` bytes, which must not be 0; `copy` writes from an offset of the message and
    /// says how much. Returns the bytes written and the messages that were finished.
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

    /// The same for a message in memory; returns the bytes written.
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
