//! Methods that the compiler of a JVM inlined into another method. For each return address in compiled code, the JVM keeps
//! a chain of scopes, the innermost method first. Source: HotSpot's share/code/pcDesc.hpp, scopeDesc.cpp and
//! share/utilities/unsigned5.hpp.

use super::layout::InlinedFields;
use crate::memory::{Memory, Remote};

/// Size of an entry of the list of return addresses (`PcDesc`): four numbers of 4 bytes.
const PLACE_BYTES: u64 = 16;
/// Maximum number of entries of the list of return addresses.
const MAX_PLACES: u64 = 1 << 20;
/// Maximum number of methods that are inlined into one another.
const MAX_INLINED: usize = 64;
/// Maximum number of bytes of a compressed number.
const MAX_NUMBER_BYTES: u32 = 5;
/// First value of a byte that is followed by further bytes.
const HIGH: u32 = 192;
/// Number of bits that each byte of a compressed number adds.
const BITS: u32 = 6;

/// Returns the addresses of the methods that execute the code before a return address, the innermost first. `code` is the
/// compiled code. Returns `None` if the return address is unknown.
pub(super) fn methods(memory: &mut Remote, fields: &InlinedFields, code: u64, address: u64) -> Option<Vec<u64>> {
    let offset = address.checked_sub(memory.word(code.checked_add(fields.code_begin)?)?)?;
    let mut scope = scope_of(memory, fields, code, u32::try_from(offset).ok()?)?;
    let scopes = memory.word(code.checked_add(fields.scopes)?)?;
    let metadata = code.checked_add(memory.half(code.checked_add(fields.metadata)?)?.into())?;
    let mut methods = Vec::new();
    while scope != 0 && methods.len() < MAX_INLINED {
        let mut at = scopes.checked_add(scope.into())?;
        scope = number(memory, fields.has_no_zeros, &mut at)?;
        let index = u64::from(number(memory, fields.has_no_zeros, &mut at)?.checked_sub(1)?);
        methods.push(memory.word(metadata.checked_add(8 * index)?)?);
    }
    (!methods.is_empty()).then_some(methods)
}

/// Returns the position of the innermost scope of a return address. `offset` is the distance of the return address from
/// the beginning of the code.
fn scope_of(memory: &mut Remote, fields: &InlinedFields, code: u64, offset: u32) -> Option<u32> {
    let mut place = |field: u64| -> Option<u64> { code.checked_add(memory.half(code.checked_add(field)?)?.into()) };
    let (first, end) = (place(fields.places)?, place(fields.places_end)?);
    let (mut low, mut high) = (0, (end.checked_sub(first)? / PLACE_BYTES).min(MAX_PLACES));
    while low < high {
        let middle = low + (high - low) / 2;
        let at = first.checked_add(middle * PLACE_BYTES)?;
        // The first and the last entry have offsets outside the code: -1, and a large number.
        let found = memory.half(at)? as i32;
        match found.cmp(&i32::try_from(offset).ok()?) {
            std::cmp::Ordering::Equal => return memory.half(at.checked_add(4)?),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

/// Reads a compressed number, and moves `at` behind it.
fn number(memory: &mut Remote, has_no_zeros: bool, at: &mut u64) -> Option<u32> {
    let excluded = u32::from(has_no_zeros);
    let mut sum = 0_u32;
    for i in 0..MAX_NUMBER_BYTES {
        let mut byte = [0];
        if !memory.fill(*at, &mut byte) {
            return None;
        }
        *at = at.checked_add(1)?;
        let value = u32::from(byte[0]).checked_sub(excluded)?;
        sum = sum.wrapping_add(value.wrapping_shl(BITS * i));
        if u32::from(byte[0]) < HIGH || i + 1 == MAX_NUMBER_BYTES {
            return Some(sum);
        }
    }
    None
}
