//! Messages with a few random mutations, which are the same in every run.

/// Words that are inserted as mutations, because parsers may handle them wrongly.
const WORDS: &[&str] = &[
    "\r\n",
    "\r\n\r\n",
    "Content-Length: 18446744073709551616\r\n",
    "Content-Length: -1\r\n",
    "ffffffffffffffff\r\n",
    "0\r\n",
    "HTTP/1.1 200 OK\r\n",
    "Transfer-Encoding: chunked\r\n",
    ":",
    " ",
    "\0",
    "\n",
];

/// The random number generator xorshift64*, with its state.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end
    }

    /// Returns the message with one to four random mutations.
    pub(crate) fn mutate(&mut self, seed: &str) -> Vec<u8> {
        self.mutate_bytes(seed.as_bytes())
    }

    /// Returns the bytes with one to four random mutations; the bytes need not be text.
    pub(crate) fn mutate_bytes(&mut self, seed: &[u8]) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len().max(1));
            match self.below(4) {
                0 if !bytes.is_empty() => bytes[at] = self.below(256) as u8,
                1 => bytes.truncate(at),
                2 if !bytes.is_empty() => {
                    bytes.remove(at);
                }
                _ => {
                    let word = WORDS[self.below(WORDS.len())];
                    bytes.splice(at.min(bytes.len())..at.min(bytes.len()), word.bytes());
                }
            }
        }
        bytes
    }
}
