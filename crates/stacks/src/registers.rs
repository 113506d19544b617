//! Registers of a thread, by DWARF number. An unknown register is `None`, so no frame is derived from a guess.

use gimli::Register;

/// Number of registers that the unwinder tracks: the general registers, including the stack pointer, and the program
/// counter.
pub(crate) const COUNT: usize = sys::perf::REGISTER_COUNT;

/// Index of the program counter, the last register.
pub(crate) const PC: usize = COUNT - 1;

/// DWARF number of the return address in unwinding rules.
#[cfg(target_arch = "x86_64")]
pub(crate) const RETURN: usize = 16;
/// DWARF number of the return address in unwinding rules.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const RETURN: usize = 30;

/// Index of the stack pointer.
#[cfg(target_arch = "x86_64")]
pub(crate) const SP: usize = 7;
/// Index of the stack pointer.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const SP: usize = 31;

/// Index of the frame pointer.
#[cfg(target_arch = "x86_64")]
pub(crate) const FP: usize = 6;
/// Index of the frame pointer.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const FP: usize = 29;

/// Registers that a function may change without restoring them.
#[cfg(target_arch = "x86_64")]
const CALLER_SAVED: &[usize] = &[0, 1, 2, 4, 5, 8, 9, 10, 11];
/// Registers that a function may change without restoring them.
#[cfg(not(target_arch = "x86_64"))]
const CALLER_SAVED: &[usize] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 30];

/// Values of the registers in one frame of a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers(pub(crate) [Option<u64>; COUNT]);

impl Registers {
    /// Returns the registers of a thread that waits in the kernel. Only the stack pointer and the program counter are
    /// known.
    pub(crate) fn waiting(pc: u64, sp: u64) -> Self {
        let mut registers = Self([None; COUNT]);
        registers.0[PC] = Some(pc);
        registers.0[SP] = Some(sp);
        registers
    }

    /// Returns the registers of a thread that runs.
    pub(crate) fn running(values: &[u64; COUNT]) -> Self {
        Self(values.map(Some))
    }

    pub(crate) fn get(&self, register: Register) -> Option<u64> {
        self.0.get(usize::from(register.0)).copied().flatten()
    }

    /// Returns a copy that has values only for the registers that a called function must preserve.
    pub(crate) fn kept(&self) -> Self {
        let mut kept = *self;
        CALLER_SAVED.iter().for_each(|register| kept.0[*register] = None);
        kept
    }
}
