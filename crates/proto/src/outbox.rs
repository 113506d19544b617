//! What is still to be sent: the same message, again and again, or bytes that wait in a buffer.

/// Copies what waits in a buffer from `given` on; returns how many bytes.
#[inline]
pub(crate) fn copy(waiting: &[u8], given: &mut usize, out: &mut [u8]) -> usize {
    let rest = waiting.get(*given..).unwrap_or_default();
    let n = rest.len().min(out.len());
    out[..n].copy_from_slice(&rest[..n]);
    *given += n;
    n
}

/// The same, and empties the buffer once all of it was given, of which it keeps at most `kept` bytes of memory.
#[inline]
pub(crate) fn give(waiting: &mut Vec<u8>, given: &mut usize, kept: usize, out: &mut [u8]) -> usize {
    let n = copy(waiting, given, out);
    if *given == waiting.len() {
        *given = 0;
        waiting.clear();
        waiting.shrink_to(kept);
    }
    n
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
