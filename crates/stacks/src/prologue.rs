//! Finds the size of a function's frame from the function's first instructions. The unwinder needs this size if a
//! function uses a frame pointer whose value is unknown. For a waiting thread, the frame pointer is unknown, because
//! the kernel does not report it.

use crate::memory::Memory;

/// Number of bytes that are read from the start of a function. The instructions that push the saved registers fit into
/// these bytes.
const BYTES: usize = 32;

/// Effect of a function's first instructions on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prologue {
    /// Length of the instructions that set up the frame, bytes.
    pub(crate) code_bytes: u64,
    /// Distance from the stack pointer to the return address once the frame is set up, bytes.
    pub(crate) frame_bytes: u64,
}

/// Reads the prologue of the function at `start`. Returns `None` if the function does not set up a frame pointer first.
#[cfg(target_arch = "x86_64")]
pub(crate) fn prologue(code: &mut dyn Memory, start: u64) -> Option<Prologue> {
    let mut bytes = [0; BYTES];
    code.fill(start, &mut bytes).then(|| decode(&bytes)).flatten()
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn prologue(_code: &mut dyn Memory, _start: u64) -> Option<Prologue> {
    None
}

/// Decodes `push rbp; mov rbp, rsp`, the pushes of other registers, and the allocation of local variables.
#[cfg(target_arch = "x86_64")]
fn decode(bytes: &[u8; BYTES]) -> Option<Prologue> {
    const BRANCH_TARGET: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa];
    let rest = bytes.strip_prefix(BRANCH_TARGET).unwrap_or(bytes);
    let mut rest =
        [[0x55, 0x48, 0x89, 0xe5], [0x55, 0x48, 0x8b, 0xec]].iter().find_map(|frame| rest.strip_prefix(frame))?;
    let mut frame_bytes = 8;
    while let [0x50..=0x57, after @ ..] | [0x41, 0x50..=0x57, after @ ..] = rest {
        (rest, frame_bytes) = (after, frame_bytes + 8);
    }
    match rest {
        [0x48, 0x83, 0xec, small, after @ ..] if *small < 0x80 => {
            (rest, frame_bytes) = (after, frame_bytes + u64::from(*small));
        }
        [0x48, 0x81, 0xec, a, b, c, d, after @ ..] => {
            (rest, frame_bytes) = (after, frame_bytes + u64::from(u32::from_le_bytes([*a, *b, *c, *d])));
        }
        _ => {}
    }
    Some(Prologue { code_bytes: (BYTES - rest.len()) as u64, frame_bytes })
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    fn of(code: &[u8]) -> Option<Prologue> {
        let mut bytes = [0x90; BYTES];
        bytes[..code.len()].copy_from_slice(code);
        decode(&bytes)
    }

    #[test]
    fn pushes_and_room_for_variables_are_the_frame() {
        let of_condvar = [0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0x41, 0x56, 0x53, 0x48, 0x83, 0xec, 0x28];
        assert_eq!(of(&of_condvar), Some(Prologue { code_bytes: 13, frame_bytes: 8 + 24 + 0x28 }));
        let large = [0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec, 0, 0x10, 0, 0];
        assert_eq!(of(&large), Some(Prologue { code_bytes: 15, frame_bytes: 8 + 0x1000 }));
        assert_eq!(of(&[0x55, 0x48, 0x89, 0xe5]), Some(Prologue { code_bytes: 4, frame_bytes: 8 }));
    }

    #[test]
    fn a_function_without_a_frame_pointer_has_none() {
        assert_eq!(of(&[0x55, 0x53, 0x48, 0x83, 0xec, 0x28]), None);
        assert_eq!(of(&[0x48, 0x83, 0xec, 0x28]), None);
    }
}
