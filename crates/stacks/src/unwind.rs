//! Unwinds a stack: starts with the registers of a thread and finds the return addresses of all callers.

use std::collections::HashMap;
use std::sync::Arc;

use crate::call_site::CallSites;
use crate::image::Image;
use crate::memory::Memory;
use crate::registers::{FP, PC, RETURN, Registers, SP};
use crate::rules::{Rules, Step};
use crate::scan;
use crate::space::Space;

/// Maximum number of frames of a stack. A deeper stack is cut after the maximum number of frames.
const MAX_FRAMES: usize = 256;

/// Maximum number of addresses with unwinding rules in the cache.
const MAX_RULES: usize = 1 << 16;

/// Mask of the bits of a code address. On aarch64, the higher bits may contain a signature of the address.
const ADDRESS_BITS: u64 = (1 << 48) - 1;

/// Code addresses of a stack, innermost first. The first address is the thread's program counter, and all others are
/// return addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Addresses {
    /// Addresses of code, from the innermost frame.
    pub addresses: Vec<u64>,
    /// True if the last frame is the outermost one of the thread.
    pub is_complete: bool,
}

/// Unwinding rules for an address, and the file that contains the rules. `bias` is the difference between an address in
/// memory and the same address in that file.
struct Found {
    rules: Arc<Rules>,
    image: Arc<Image>,
    bias: u64,
}

/// Unwinds stacks of one process.
pub(crate) struct Unwinder {
    rules: HashMap<u64, Option<Arc<Rules>>>,
    calls: CallSites,
}

impl Unwinder {
    pub(crate) fn new(pid: u32) -> Self {
        Self { rules: HashMap::new(), calls: CallSites::new(pid) }
    }

    /// Unwinds a stack whose innermost frame has the given register values.
    pub(crate) fn unwind(&mut self, space: &mut Space, registers: Registers, stack: &mut dyn Memory) -> Addresses {
        let mut found = Addresses::default();
        let (mut frame, mut exact) = (registers, true);
        while let Some(pc) = frame.0[PC] {
            found.addresses.push(pc);
            let lookup = if exact { pc } else { pc.wrapping_sub(1) };
            match self.step(space, lookup, &frame, exact, stack) {
                Step::Caller(caller) if found.addresses.len() < MAX_FRAMES => {
                    let Some(next) = self.checked(space, &frame, caller, found.addresses.len() == 1) else { break };
                    (frame, exact) = next;
                }
                Step::Outermost => {
                    found.is_complete = true;
                    break;
                }
                _ => break,
            }
        }
        found
    }

    /// Checks a caller's frame that a step of unwinding found. Returns the frame if it lies above the called frame on
    /// the stack and its program counter is plausible. A program counter is plausible in three cases: it is a return
    /// address, a signal interrupted the code there, or a signal handler returns there. The second value of the result
    /// is true unless the program counter is a return address.
    fn checked(
        &mut self,
        space: &mut Space,
        from: &Registers,
        mut caller: Registers,
        is_first: bool,
    ) -> Option<(Registers, bool)> {
        let pc = caller.0[PC]? & ADDRESS_BITS;
        caller.0[PC] = Some(pc);
        let (below, above) = (from.0[SP]?, caller.0[SP]?);
        let interrupted = self.find(space, from.0[PC]?).is_some_and(|found| found.rules.is_signal_return);
        if above < below || (above == below && !is_first) {
            return None;
        }
        let is_signal_return =
            |u: &mut Self, space: &mut Space| u.find(space, pc).is_some_and(|found| found.rules.is_signal_return);
        let valid = if interrupted { space.is_code(pc) } else { self.calls.before(space, pc).is_some() };
        let signal = !valid && is_signal_return(self, space);
        (valid || signal).then_some((caller, interrupted || signal))
    }

    fn step(
        &mut self,
        space: &mut Space,
        lookup: u64,
        frame: &Registers,
        is_exact: bool,
        stack: &mut dyn Memory,
    ) -> Step {
        let image = space.image(lookup);
        if let Some((image, at)) = &image
            && let Some(bytes) = image.go.as_ref().and_then(|go| go.frame_bytes(*at))
        {
            return go_step(frame, bytes, stack);
        }
        let Some(Found { rules, image, bias }) = self.find(space, lookup) else {
            let start =
                image.and_then(|(image, at)| Some(lookup.wrapping_sub(at).wrapping_add(image.function_start(at)?)));
            let start = start.map(|start| (start, lookup));
            return self.step_without_rules(space, frame, is_exact, start, stack);
        };
        let Some(sections) = &image.unwind else { return Step::Unknown };
        let mut known = *frame;
        if let Some((register @ FP, offset)) = rules.cfa_register()
            && frame.0[register].is_none()
        {
            let start = rules.start.wrapping_add(bias);
            let slot = frame.0[SP].and_then(|sp| scan::return_slot(space, &mut self.calls, stack, sp, (start, lookup)));
            known.0[FP] = slot.and_then(|slot| slot.checked_add(8)?.checked_add_signed(-offset));
        }
        rules.step(sections, &known, stack)
    }

    /// Finds the caller of code without unwinding rules, such as compiled code of a runtime. Follows the frame pointer
    /// if it is known. If the frame pointer is unknown, searches the stack for the return address of the innermost
    /// function. `code` contains the function's first address and the thread's program counter.
    fn step_without_rules(
        &mut self,
        space: &Space,
        frame: &Registers,
        is_exact: bool,
        code: Option<(u64, u64)>,
        stack: &mut dyn Memory,
    ) -> Step {
        let Some(sp) = frame.0[SP] else { return Step::Unknown };
        let slot = match (frame.0[FP], code) {
            (Some(fp), _) if fp >= sp && fp.is_multiple_of(8) => fp.checked_add(8),
            (None, Some(code)) if is_exact => scan::return_slot(space, &mut self.calls, stack, sp, code),
            _ => None,
        };
        let Some(slot) = slot else { return Step::Unknown };
        let mut caller = frame.kept();
        caller.0[FP] = slot.checked_sub(8).and_then(|at| stack.word(at));
        caller.0[PC] = stack.word(slot);
        caller.0[SP] = slot.checked_add(8);
        Step::Caller(caller)
    }

    /// Returns the unwinding rules for code at `address`.
    fn find(&mut self, space: &mut Space, address: u64) -> Option<Found> {
        let (image, at) = space.image(address)?;
        if self.rules.len() >= MAX_RULES {
            self.rules.clear();
        }
        let rules = self.rules.entry(address).or_insert_with(|| {
            let sections = image.unwind.as_ref()?;
            Rules::find(sections, at).map(Arc::new)
        });
        Some(Found { rules: rules.clone()?, image, bias: address.wrapping_sub(at) })
    }

    /// Forgets all data that depends on the addresses of files in memory.
    pub(crate) fn forget(&mut self, pid: u32) {
        *self = Self::new(pid);
    }
}

/// Returns the frame of a Go function's caller. The size of the function's own frame is known. Go saves the frame
/// pointer just below the return address.
fn go_step(frame: &Registers, frame_bytes: u64, stack: &mut dyn Memory) -> Step {
    let Some(slot) = frame.0[SP].and_then(|sp| sp.checked_add(frame_bytes)) else { return Step::Unknown };
    let mut caller = Registers([None; crate::registers::COUNT]);
    if cfg!(target_arch = "x86_64") {
        caller.0[FP] = if frame_bytes >= 8 { stack.word(slot - 8) } else { frame.0[FP] };
        caller.0[PC] = stack.word(slot);
        caller.0[SP] = slot.checked_add(8);
    } else if frame_bytes == 0 {
        (caller.0[PC], caller.0[SP], caller.0[FP]) = (frame.0[RETURN], Some(slot), frame.0[FP]);
    } else {
        (caller.0[PC], caller.0[SP]) = (frame.0[SP].and_then(|sp| stack.word(sp)), Some(slot));
    }
    if caller.0[PC].is_some() { Step::Caller(caller) } else { Step::Unknown }
}
