//! Unwinding rules from a file's `.eh_frame`. The rules compute the registers of the caller from those of the called
//! function.

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EhFrameHdr, Encoding, EndianSlice, EvaluationResult, Expression,
    LittleEndian, Location, Register, RegisterRule, UnwindContext, UnwindExpression, UnwindSection, Value,
};

use crate::elf::{Elf, Section};
use crate::memory::Memory;
use crate::registers::{PC, RETURN, Registers, SP};

/// Maximum number of operations in one expression. Compilers write fewer than 20 operations, but a hostile file may
/// contain a loop.
const MAX_OPERATIONS: u32 = 1_000;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Index that finds the rules for an address.
enum FrameIndex {
    /// The linker's index, `.eh_frame_hdr`.
    Linked(Section),
    /// Index made by loadline: start addresses and offsets of all rules, in order of the addresses. Needed because some
    /// statically linked programs have no index of their unwinding rules.
    Built(Vec<(u64, usize)>),
}

/// Sections of a file with unwinding rules.
pub(crate) struct UnwindSections {
    eh_frame: Section,
    index: FrameIndex,
    text: u64,
}

impl UnwindSections {
    /// Reads the sections of a file; `None` if the file has no rules.
    pub(crate) fn read(elf: &Elf<'_>) -> Option<Self> {
        let text = elf.section_range(".text").map_or(0, |(address, _)| address);
        let eh_frame = elf.section(".eh_frame")?;
        let index = match elf.section(".eh_frame_hdr") {
            Some(section) => FrameIndex::Linked(section),
            None => FrameIndex::Built(index_of(&eh_frame, text)),
        };
        Some(Self { eh_frame, index, text })
    }
}

/// Unwinding rules for one address.
pub(crate) struct Rules {
    cfa: CfaRule<usize>,
    registers: Vec<(Register, RegisterRule<usize>)>,
    encoding: Encoding,
    /// True for the code to which a signal handler returns.
    pub(crate) is_signal_return: bool,
    /// First address of the function.
    pub(crate) start: u64,
}

/// Result of one step of unwinding.
#[allow(clippy::large_enum_variant, reason = "one lives at a time, and most are the large variant")]
pub(crate) enum Step {
    /// Registers of the calling frame.
    Caller(Registers),
    /// The current frame is the outermost frame of the stack.
    Outermost,
    /// The caller is unknown, because a needed register or stack word is unknown.
    Unknown,
}

impl Rules {
    /// Finds the rules for the address `address` in a file.
    pub(crate) fn find(sections: &UnwindSections, address: u64) -> Option<Self> {
        let mut bases = bases(&sections.eh_frame, sections.text);
        let frames = eh_frame(&sections.eh_frame);
        let fde = match &sections.index {
            FrameIndex::Linked(index) => {
                bases = bases.set_eh_frame_hdr(index.address);
                let header = EhFrameHdr::new(&index.bytes, LittleEndian).parse(&bases, 8).ok()?;
                header.table()?.fde_for_address(&frames, &bases, address, EhFrame::cie_from_offset).ok()?
            }
            FrameIndex::Built(starts) => {
                let before = starts.partition_point(|(start, _)| *start <= address).checked_sub(1)?;
                frames.fde_from_offset(&bases, starts[before].1.into(), EhFrame::cie_from_offset).ok()?
            }
        };
        let mut context = UnwindContext::new();
        let row = fde.unwind_info_for_address(&frames, &bases, &mut context, address).ok()?;
        Some(Self {
            cfa: row.cfa().clone(),
            registers: row.registers().cloned().collect(),
            encoding: fde.cie().encoding(),
            is_signal_return: fde.is_signal_trampoline(),
            start: fde.initial_address(),
        })
    }

    /// Returns the register from which the caller's stack pointer is computed, and the distance to add.
    pub(crate) fn cfa_register(&self) -> Option<(usize, i64)> {
        match &self.cfa {
            CfaRule::RegisterAndOffset { register, offset } => Some((usize::from(register.0), *offset)),
            CfaRule::Expression(_) => None,
        }
    }

    /// Computes the registers of the caller.
    pub(crate) fn step(&self, sections: &UnwindSections, from: &Registers, stack: &mut dyn Memory) -> Step {
        let mut scope = Scope { rules: self, sections, from, stack };
        let Some(cfa) = scope.cfa() else { return Step::Unknown };
        let mut caller = from.kept();
        let mut has_return = cfg!(not(target_arch = "x86_64"));
        for (register, rule) in &self.registers {
            let index = usize::from(register.0);
            if index == RETURN {
                has_return = !matches!(rule, RegisterRule::Undefined);
            }
            if let Some(slot) = caller.0.get_mut(index) {
                *slot = scope.value(rule, from.get(*register), cfa);
            }
        }
        let saves_return = self.registers.iter().any(|(register, _)| usize::from(register.0) == RETURN);
        let pc = if saves_return { caller.0[RETURN] } else { from.0[RETURN] };
        if !has_return || (cfg!(not(target_arch = "x86_64")) && pc == Some(0)) {
            return Step::Outermost;
        }
        (caller.0[SP], caller.0[PC]) = (Some(cfa), pc);
        if pc.is_some() { Step::Caller(caller) } else { Step::Unknown }
    }
}

/// Finds the start address and the offset of each rule in a section, in order of the addresses.
fn index_of(section: &Section, text: u64) -> Vec<(u64, usize)> {
    let (frames, bases) = (eh_frame(section), bases(section, text));
    let mut entries = frames.entries(&bases);
    let mut starts = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        if let CieOrFde::Fde(partial) = entry
            && let Ok(fde) = partial.parse(EhFrame::cie_from_offset)
        {
            starts.push((fde.initial_address(), fde.offset()));
        }
    }
    starts.sort_unstable();
    starts
}

fn eh_frame(section: &Section) -> EhFrame<Bytes<'_>> {
    let mut frames = EhFrame::new(&section.bytes, LittleEndian);
    frames.set_address_size(8);
    frames
}

fn bases(section: &Section, text: u64) -> BaseAddresses {
    BaseAddresses::default().set_eh_frame(section.address).set_text(text)
}

/// Values that the expression of a rule may use.
struct Scope<'a> {
    rules: &'a Rules,
    sections: &'a UnwindSections,
    from: &'a Registers,
    stack: &'a mut dyn Memory,
}

impl Scope<'_> {
    fn cfa(&mut self) -> Option<u64> {
        match &self.rules.cfa {
            CfaRule::RegisterAndOffset { register, offset } => self.from.get(*register)?.checked_add_signed(*offset),
            CfaRule::Expression(expression) => self.evaluate(expression, None),
        }
    }

    fn value(&mut self, rule: &RegisterRule<usize>, same: Option<u64>, cfa: u64) -> Option<u64> {
        match rule {
            RegisterRule::SameValue => same,
            RegisterRule::Offset(offset) => self.stack.word(cfa.checked_add_signed(*offset)?),
            RegisterRule::ValOffset(offset) => cfa.checked_add_signed(*offset),
            RegisterRule::Register(register) => self.from.get(*register),
            RegisterRule::Expression(expression) => {
                let at = self.evaluate(expression, Some(cfa))?;
                self.stack.word(at)
            }
            RegisterRule::ValExpression(expression) => self.evaluate(expression, Some(cfa)),
            RegisterRule::Constant(value) => Some(*value),
            _ => None,
        }
    }

    fn evaluate(&mut self, expression: &UnwindExpression<usize>, cfa: Option<u64>) -> Option<u64> {
        let frames = eh_frame(&self.sections.eh_frame);
        let expression: Expression<Bytes<'_>> = expression.get(&frames).ok()?;
        let mut evaluation = expression.evaluation(self.rules.encoding);
        evaluation.set_max_iterations(MAX_OPERATIONS);
        cfa.into_iter().for_each(|cfa| evaluation.set_initial_value(cfa));
        let mut state = evaluation.evaluate().ok()?;
        for _ in 0..MAX_OPERATIONS {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    evaluation.resume_with_register(Value::Generic(self.from.get(register)?)).ok()?
                }
                EvaluationResult::RequiresMemory { address, size: 8, .. } => {
                    evaluation.resume_with_memory(Value::Generic(self.stack.word(address)?)).ok()?
                }
                _ => return None,
            };
        }
        if !matches!(state, EvaluationResult::Complete) {
            return None;
        }
        match evaluation.result().first()?.location {
            Location::Address { address } => Some(address),
            Location::Value { value } => value.to_u64(u64::MAX).ok(),
            _ => None,
        }
    }
}
