//! Memory of another process, read by copying bytes.

/// Size of a block that [`Remote`] keeps, bytes.
const BLOCK_BYTES: u64 = 4096;

/// Maximum number of blocks that [`Remote`] keeps before it drops all of them.
const MAX_BLOCKS: usize = 64;

/// Reads the memory of a process: the bytes at given addresses.
pub(crate) trait Memory {
    /// Fills `buffer` from `address` on. Returns false if any of the requested bytes cannot be read.
    fn fill(&mut self, address: u64, buffer: &mut [u8]) -> bool;

    /// Reads a 64-bit word, which need not be aligned.
    fn word(&mut self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.fill(address, &mut bytes).then(|| u64::from_le_bytes(bytes))
    }

    /// Reads a word of 32 bits.
    fn half(&mut self, address: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.fill(address, &mut bytes).then(|| u32::from_le_bytes(bytes))
    }
}

/// Memory of a live process. Each read returns the present content of the memory.
pub(crate) struct Live(pub(crate) u32);

impl Memory for Live {
    fn fill(&mut self, address: u64, buffer: &mut [u8]) -> bool {
        sys::remote_memory::read(self.0, address, buffer) == Ok(buffer.len())
    }
}

/// Memory of a live process, read in blocks of 4 KiB that are kept for later reads. Most frames of a stack are in a few
/// blocks.
pub(crate) struct Remote {
    pid: u32,
    blocks: Vec<(u64, Box<[u8; BLOCK_BYTES as usize]>)>,
}

impl Remote {
    pub(crate) fn new(pid: u32) -> Self {
        Self { pid, blocks: Vec::new() }
    }

    /// Drops all stored blocks of memory, so the next read gets the present content.
    pub(crate) fn forget(&mut self) {
        self.blocks.clear();
    }

    fn block(&mut self, start: u64) -> Option<&[u8; BLOCK_BYTES as usize]> {
        if let Some(i) = self.blocks.iter().position(|(at, _)| *at == start) {
            return Some(&self.blocks[i].1);
        }
        let mut bytes = Box::new([0; BLOCK_BYTES as usize]);
        if sys::remote_memory::read(self.pid, start, &mut bytes[..]) != Ok(BLOCK_BYTES as usize) {
            return None;
        }
        if self.blocks.len() == MAX_BLOCKS {
            self.blocks.clear();
        }
        self.blocks.push((start, bytes));
        self.blocks.last().map(|(_, bytes)| &**bytes)
    }
}

impl Memory for Remote {
    fn fill(&mut self, address: u64, buffer: &mut [u8]) -> bool {
        let mut done = 0;
        while done < buffer.len() {
            let Some(at) = address.checked_add(done as u64) else { return false };
            let (start, from) = (at - at % BLOCK_BYTES, (at % BLOCK_BYTES) as usize);
            let Some(block) = self.block(start) else { return false };
            let part = (buffer.len() - done).min(block.len() - from);
            buffer[done..done + part].copy_from_slice(&block[from..from + part]);
            done += part;
        }
        true
    }
}

/// A copy of a thread's stack from its stack pointer upwards.
pub(crate) struct StackCopy<'a> {
    pub(crate) start: u64,
    pub(crate) bytes: &'a [u8],
}

impl Memory for StackCopy<'_> {
    fn fill(&mut self, address: u64, buffer: &mut [u8]) -> bool {
        let from = address.checked_sub(self.start).and_then(|n| usize::try_from(n).ok());
        let part = from.and_then(|from| self.bytes.get(from..from.checked_add(buffer.len())?));
        part.is_some_and(|part| {
            buffer.copy_from_slice(part);
            true
        })
    }
}

/// Stack of a waiting thread: a copy of its top, continued by the live memory of the process.
pub(crate) struct WaitingStack<'a> {
    pub(crate) copy: StackCopy<'a>,
    pub(crate) remote: &'a mut Remote,
}

impl Memory for WaitingStack<'_> {
    fn fill(&mut self, address: u64, buffer: &mut [u8]) -> bool {
        self.copy.fill(address, buffer) || (address >= self.copy.start && self.remote.fill(address, buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_across_blocks_and_not_past_its_end() {
        let text: Vec<u8> = (0..10_000_u32).map(|i| i as u8).collect();
        let mut copy = vec![0; 9_000];
        let mut remote = Remote::new(std::process::id());
        assert!(remote.fill(text.as_ptr() as u64 + 500, &mut copy));
        assert_eq!(copy, text[500..9_500]);
        assert_eq!(remote.word(u64::MAX - 3), None);
        let mut stack = StackCopy { start: 1000, bytes: &[1, 0, 0, 0, 0, 0, 0, 0, 9] };
        assert_eq!((stack.word(1000), stack.word(1002), stack.word(992)), (Some(1), None, None));
    }
}
