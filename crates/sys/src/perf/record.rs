//! Parses the kernel's records in the bytes of a ring buffer.

/// Fields of a sample: address, process and thread, time, user registers, user stack.
pub(super) const SAMPLE_TYPE: u64 = 1 | 2 | 4 | 1 << 12 | 1 << 13;

const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
const HEADER_BYTES: usize = 8;

/// User registers that each sample contains (bits in the kernel's numbering): all general registers and the program
/// counter.
#[cfg(target_arch = "x86_64")]
pub(super) const USER_REGISTERS: u64 = 0x1ff | 0xff << 16;
/// User registers that each sample contains (bits in the kernel's numbering): all general registers and the program
/// counter.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const USER_REGISTERS: u64 = (1 << 33) - 1;

/// DWARF number of each sampled register, in the kernel's order. Number 16 is the program counter.
#[cfg(target_arch = "x86_64")]
const DWARF_NUMBERS: [usize; 17] = [0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15];
/// DWARF number of each sampled register, in the kernel's order. Number 32 is the program counter.
#[cfg(not(target_arch = "x86_64"))]
const DWARF_NUMBERS: [usize; 33] = {
    let mut numbers = [0; 33];
    let mut i = 0;
    while i < 33 {
        numbers[i] = i;
        i += 1;
    }
    numbers
};

/// Number of bytes of the stack that the kernel copies for each sample. Most stacks are smaller than
/// `SAMPLED_STACK_BYTES`. If a stack is larger, the sample lacks the outer frames of the stack.
pub const SAMPLED_STACK_BYTES: u32 = 16 << 10;

/// Number of registers of a sample, the program counter included.
pub const REGISTER_COUNT: usize = DWARF_NUMBERS.len();

/// Sample of a thread that ran user code.
#[derive(Clone, Copy, Debug)]
pub struct CpuSample<'a> {
    /// ID of the thread's process, as this process's namespace numbers it.
    pub pid: u32,
    /// ID of the thread, as this process's namespace numbers it.
    pub tid: u32,
    /// Time on the kernel's perf clock, in nanoseconds.
    pub time_ns: u64,
    /// Registers of the thread, indexed by DWARF number. The program counter is the last register.
    pub registers: [u64; REGISTER_COUNT],
    /// Copy of the stack, beginning at the stack pointer (the lowest address).
    pub stack: &'a [u8],
}

/// Passes each sample among `bytes` to `each`. Returns the number of samples that the kernel reports as lost.
pub(super) fn parse(mut bytes: &[u8], each: &mut impl FnMut(&CpuSample<'_>)) -> u64 {
    let mut lost = 0;
    while bytes.len() >= HEADER_BYTES {
        let kind = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let size = usize::from(u16::from_ne_bytes([bytes[6], bytes[7]]));
        if size < HEADER_BYTES || size > bytes.len() {
            break;
        }
        let (record, rest) = bytes.split_at(size);
        let mut fields = Fields(&record[HEADER_BYTES..]);
        match kind {
            RECORD_LOST => lost += fields.after(8).word().unwrap_or(0),
            RECORD_SAMPLE => {
                if let Some(sample) = fields.sample() {
                    each(&sample);
                }
            }
            _ => {}
        }
        bytes = rest;
    }
    lost
}

struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn after(&mut self, bytes: usize) -> &mut Self {
        self.0 = self.0.get(bytes..).unwrap_or(&[]);
        self
    }

    fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*word))
    }

    fn sample(&mut self) -> Option<CpuSample<'a>> {
        let (ids, time_ns) = (self.after(8).0.first_chunk::<8>()?, self.after(8).word()?);
        let pid = u32::from_ne_bytes([ids[0], ids[1], ids[2], ids[3]]);
        let tid = u32::from_ne_bytes([ids[4], ids[5], ids[6], ids[7]]);
        if self.word()? == 0 {
            return None;
        }
        let mut registers = [0; REGISTER_COUNT];
        for number in DWARF_NUMBERS {
            registers[number] = self.word()?;
        }
        let copied = usize::try_from(self.word()?).ok()?;
        let stack = self.0.get(..copied)?;
        let used = self.after(copied).word().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        Some(CpuSample { pid, tid, time_ns, registers, stack: stack.get(..used)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, words: &[u64]) -> Vec<u8> {
        let size = (HEADER_BYTES + words.len() * 8) as u16;
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend([0, 0]);
        bytes.extend(size.to_ne_bytes());
        words.iter().for_each(|w| bytes.extend(w.to_ne_bytes()));
        bytes
    }

    #[test]
    fn samples_and_losses_are_read_and_cut_records_are_not() {
        let mut words = vec![0x1234, 7 | 8 << 32, 99, 2];
        words.extend(100..100 + REGISTER_COUNT as u64);
        words.extend([16, 1, 2, 8]);
        let mut bytes = record(RECORD_LOST, &[0, 5]);
        bytes.extend(record(RECORD_SAMPLE, &words));
        let mut seen = Vec::new();
        let lost = parse(&bytes, &mut |s: &CpuSample<'_>| seen.push((s.pid, s.tid, s.time_ns, s.stack.to_vec())));
        assert_eq!((lost, seen), (5, vec![(7, 8, 99, 1_u64.to_ne_bytes().to_vec())]));
        for cut in 0..bytes.len() {
            parse(&bytes[..cut], &mut |_: &CpuSample<'_>| {});
        }
        assert_eq!(parse(&record(RECORD_SAMPLE, &words[..9]), &mut |_: &CpuSample<'_>| unreachable!()), 0);
    }
}
