//! Bytes for messages. The sequence of bytes repeats only after 1 MiB, so that lost, swapped or shifted data is
//! noticed. The bytes are the same in every process.

use std::sync::Arc;

/// Maximum size of the stored block, bytes. A longer message repeats the block.
const MAX_BLOCK_BYTES: u64 = 1 << 20;

/// Content of one message.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    block: Arc<[u8]>,
    bytes: u64,
}

impl Pattern {
    /// Creates a message of `bytes` bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        // This is xorshift64 (Marsaglia 2003). Any fixed seed other than 0 would do.
        let mut x = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 32) as u8
        };
        let block: Vec<u8> = (0..bytes.clamp(1, MAX_BLOCK_BYTES)).map(|_| next()).collect();
        Self { block: block.into(), bytes }
    }

    /// Returns the length of the message.
    pub(crate) const fn len(&self) -> u64 {
        self.bytes
    }

    /// Returns bytes of the message from position `at` on, as far as they are contiguous in memory. The result is empty
    /// only at the end of the message.
    pub(crate) fn from(&self, at: u64) -> &[u8] {
        let start = (at % self.block.len() as u64) as usize;
        let left = self.bytes.saturating_sub(at).min((self.block.len() - start) as u64) as usize;
        &self.block[start..start + left]
    }

    /// Copies bytes from position `at` on, until the message or `out` ends. Returns the number of copied bytes.
    pub(crate) fn copy(&self, at: u64, out: &mut [u8]) -> usize {
        let mut done = 0;
        while done < out.len() {
            let piece = self.from(at + done as u64);
            if piece.is_empty() {
                break;
            }
            let n = piece.len().min(out.len() - done);
            out[done..done + n].copy_from_slice(&piece[..n]);
            done += n;
        }
        done
    }

    /// Returns true if `input` equals the bytes of the message from position `at` on. `input` must not extend beyond
    /// the end of the message.
    pub(crate) fn matches(&self, at: u64, input: &[u8]) -> bool {
        let mut done = 0;
        while done < input.len() {
            let piece = self.from(at + done as u64);
            let n = piece.len().min(input.len() - done);
            if n == 0 || piece[..n] != input[done..done + n] {
                return false;
            }
            done += n;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_checks_over_the_block_edge() {
        let p = Pattern::new(3 << 20);
        let mut out = vec![0; 4096];
        assert_eq!(p.copy((1 << 20) - 100, &mut out), 4096);
        assert!(p.matches((1 << 20) - 100, &out));
        assert!(!p.matches((1 << 20) - 99, &out));
        assert_eq!(p.copy((3 << 20) - 10, &mut out), 10);
    }
}
