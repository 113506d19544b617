//! Finds return addresses: code addresses that follow a call instruction. The unwinder accepts a word on the stack as
//! the end of a frame only if the word is a return address.

use std::collections::HashMap;

use crate::memory::{Live, Memory, Remote};
use crate::prologue::{Prologue, prologue};
use crate::space::Space;

/// Maximum number of addresses whose calls are remembered.
const MAX_KNOWN: usize = 1 << 16;

/// Call instruction before a return address, by the way in which it names the called function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// The instruction calls the function at the address that the value contains.
    Direct(u64),
    /// The instruction calls the function whose address is in a memory word. The value is the address of the memory
    /// word.
    ThroughWord(u64),
    /// The instruction calls the function whose address is in a register, or in memory at an address that a register
    /// determines.
    Indirect,
}

/// Finds the calls before return addresses of one process.
pub(crate) struct CallSites {
    pid: u32,
    code: Remote,
    known: HashMap<u64, Option<Call>>,
}

impl CallSites {
    pub(crate) fn new(pid: u32) -> Self {
        Self { pid, code: Remote::new(pid), known: HashMap::new() }
    }

    /// Returns the call before `address`, if `address` is a return address.
    pub(crate) fn before(&mut self, space: &Space, address: u64) -> Option<Call> {
        if space.is_code(address) && !space.is_from_file(address) {
            // A runtime may replace compiled code in memory that belongs to no file, so this function reads the memory
            // again.
            return call_before(&mut Live(self.pid), address);
        }
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let call = space.is_code(address).then(|| call_before(&mut self.code, address)).flatten();
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
            self.code.forget();
        }
        self.known.insert(address, call);
        call
    }

    /// Returns true if the call before `address` certainly reaches the function at `start`. The call may be direct, or
    /// through a linker's stub (an entry of the procedure linkage table).
    pub(crate) fn reaches(&mut self, space: &Space, address: u64, start: u64) -> bool {
        match self.before(space, address) {
            Some(Call::Direct(target)) => target == start || self.stub_target(target) == Some(start),
            Some(Call::ThroughWord(word)) => self.code.word(word) == Some(start),
            _ => false,
        }
    }

    /// Returns the effect that the first instructions of the function at `start` have on the stack.
    pub(crate) fn prologue(&mut self, start: u64) -> Option<Prologue> {
        prologue(&mut self.code, start)
    }

    /// Returns the target of a linker's stub (an entry of the procedure linkage table). Code calls functions in other
    /// files through the linker's stubs. A linker's stub jumps to the address in a memory word.
    #[cfg(target_arch = "x86_64")]
    fn stub_target(&mut self, stub: u64) -> Option<u64> {
        const MARK: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
        let mut bytes = [0; 16];
        if !self.code.fill(stub, &mut bytes) {
            return None;
        }
        let mut skipped = if bytes.starts_with(&MARK) { 4 } else { 0 };
        skipped += usize::from(bytes[skipped] == 0xf2);
        let jump = bytes.get(skipped..)?.strip_prefix(&[0xff, 0x25])?;
        let distance = i32::from_le_bytes(*jump.first_chunk()?);
        let word = stub.wrapping_add(skipped as u64 + 6).wrapping_add_signed(i64::from(distance));
        self.code.word(word)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn stub_target(&mut self, _stub: u64) -> Option<u64> {
        None
    }
}

/// Reads the bytes before `address` and decodes the call instruction at their end.
fn call_before(code: &mut dyn Memory, address: u64) -> Option<Call> {
    let mut bytes = [0; 8];
    code.fill(address.checked_sub(8)?, &mut bytes).then(|| call_in(&bytes, address)).flatten()
}

/// Decodes the call instruction at the end of `bytes`. The instruction after the call is at `address`.
#[cfg(target_arch = "x86_64")]
fn call_in(bytes: &[u8; 8], address: u64) -> Option<Call> {
    if bytes[3] == 0xe8 {
        let distance = i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        return Some(Call::Direct(address.wrapping_add_signed(i64::from(distance))));
    }
    if bytes[2..4] == [0xff, 0x15] {
        let distance = i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        return Some(Call::ThroughWord(address.wrapping_add_signed(i64::from(distance))));
    }
    (2..=7).any(|length| is_indirect_call(&bytes[8 - length..])).then_some(Call::Indirect)
}

/// Returns true if `code` is exactly one indirect call: opcode ff /2 with its operand.
#[cfg(target_arch = "x86_64")]
fn is_indirect_call(code: &[u8]) -> bool {
    let [0xff, operand, rest @ ..] = code else { return false };
    let (mode, operation, base) = (operand >> 6, operand >> 3 & 7, operand & 7);
    let index = usize::from(mode != 3 && base == 4);
    let no_base = index == 1 && rest.first().is_some_and(|byte| byte & 7 == 5);
    let displacement = match mode {
        0 if base == 5 || no_base => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    operation == 2 && rest.len() == index + displacement
}

/// Decodes the call instruction at the end of `bytes`. The instruction after the call is at `address`.
#[cfg(not(target_arch = "x86_64"))]
fn call_in(bytes: &[u8; 8], address: u64) -> Option<Call> {
    let code = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    if code >> 26 == 0b10_0101 {
        let distance = i64::from(((code << 6) as i32) >> 6) * 4;
        return Some(Call::Direct(address.wrapping_sub(4).wrapping_add_signed(distance)));
    }
    (code & 0xffff_fc1f == 0xd63f_0000).then_some(Call::Indirect)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn calls_before_an_address_are_told_from_other_code() {
        let call = |bytes: [u8; 8]| call_in(&bytes, 0x1000);
        assert_eq!(call([0, 0, 0, 0xe8, 0xf0, 0xff, 0xff, 0xff]), Some(Call::Direct(0xff0)));
        assert_eq!(call([0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0]), Some(Call::Indirect));
        assert_eq!(call([0x90, 0x90, 0xff, 0x15, 0x10, 0, 0, 0]), Some(Call::ThroughWord(0x1010)));
        assert_eq!(call([0x90, 0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 0x18]), Some(Call::Indirect));
        assert_eq!(call([0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0]), None);
        assert_eq!(call([0x90; 8]), None);
    }
}
