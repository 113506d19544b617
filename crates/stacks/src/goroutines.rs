//! Reads the goroutines of a Go program from the memory of the program's Go runtime, while the program continues to
//! run.
//!
//! The runtime keeps a list of all goroutines and, for each one that waits, its program counter and stack pointer. The
//! threads of a Go program do not show where goroutines wait. A read is not synchronised with the runtime, so a stack
//! may change while it is read. If a stack changes while it is read, its unwinding ends early. Source:
//! src/runtime/runtime2.go and proc.go, Go 1.16 to 1.26.

use crate::frame::Frame;
use crate::memory::{Memory, Remote};
use crate::space::Space;

/// Maximum number of entries of the runtime's list that are read. Ended goroutines have entries, too.
const MAX_LISTED: u64 = 1 << 20;

/// Offset of `sched` in a goroutine's structure. Before the field `sched` come the stack's bounds, two guards and three
/// pointers.
const SCHED: u64 = 56;
/// Offset of the stack pointer, which is a field of `sched`.
const SP: u64 = SCHED;
/// Offset of the program counter, which is a field of `sched`.
const PC: u64 = SCHED + 8;
/// Offsets at which some version of Go keeps the goroutine's status. The goroutine's number follows 8 bytes after the
/// status.
const STATUS_OFFSETS: std::ops::RangeInclusive<u64> = 128..=192;
/// Number of the main goroutine of each program. The main goroutine never ends, and is the first entry of the runtime's
/// list.
const MAIN_NUMBER: u64 = 1;
/// Positions of the first helper goroutines in the runtime's list. These goroutines belong to the runtime and never
/// end. Every Go program has helper goroutines at least at these positions. The numbers of helpers are not known
/// beforehand, because each processor of the runtime assigns numbers from its own batch.
const HELPER_ENTRIES: std::ops::Range<u64> = 1..4;

/// Mask that removes the garbage collector's bit from a goroutine's status.
const STATUS: u32 = 0xfff;
pub(crate) const RUNNABLE: u32 = 1;
pub(crate) const RUNNING: u32 = 2;
pub(crate) const IN_CALL: u32 = 3;
pub(crate) const WAITING: u32 = 4;

/// Size of a word, bytes.
const WORD: u64 = 8;

/// Activity of a goroutine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goroutine {
    /// The goroutine runs on a thread.
    Running,
    /// The goroutine is ready to run, but has no thread.
    Runnable,
    /// The goroutine is in a system call.
    InCall,
    /// The goroutine waits inside the runtime. The value contains the frames of the stack, innermost first.
    Waiting(Vec<Frame>),
}

/// One reading of a program's goroutines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goroutines {
    /// Goroutines that were read.
    pub goroutines: Vec<Goroutine>,
    /// Number of goroutines in the runtime's list that each read goroutine represents. The value is above 1 if only a
    /// part of the runtime's list was read.
    pub listed_per_read: u64,
    /// Maximum number of goroutines that run at the same time (GOMAXPROCS). `None` if unknown.
    pub max_running: Option<u32>,
}

/// State of one goroutine, from the runtime's list of goroutines.
pub(crate) struct Entry {
    pub(crate) status: u32,
    pub(crate) pc: u64,
    pub(crate) sp: u64,
}

/// Addresses of the runtime's list of goroutines.
pub(crate) struct GoRuntime {
    memory: Remote,
    length: u64,
    list: u64,
    status: Option<u64>,
    /// Address of the maximum number of goroutines that run at the same time. `None` if unknown.
    max_running: Option<u64>,
    /// Position in the list at which the last reading began. The next reading begins one position later.
    next: u64,
}

impl GoRuntime {
    /// Finds the addresses of the Go runtime's data in a Go program. The program's symbol table must contain the
    /// symbols of the runtime's list of goroutines, so the goroutines of a stripped program cannot be read.
    pub(crate) fn find(pid: u32, space: &mut Space) -> Option<Self> {
        let mut place = |name| space.find_go_global(name);
        let (length, list) = (place("runtime.allglen")?, place("runtime.allgptr")?);
        let max_running = place("runtime.gomaxprocs");
        Some(Self { memory: Remote::new(pid), length, list, status: None, max_running, next: 0 })
    }

    /// Reads the maximum number of goroutines that run at the same time (GOMAXPROCS). The program may change this
    /// number while it runs. Returns `None` if the number is unknown.
    pub(crate) fn max_running(&mut self) -> Option<u32> {
        let at = self.max_running?;
        self.memory.half(at).filter(|number| *number > 0)
    }

    /// Reads the status, program counter and stack pointer of at most `max` goroutines. Also returns how many entries
    /// of the runtime's list each read entry represents.
    pub(crate) fn read(&mut self, max: u64) -> Option<(Vec<Entry>, u64)> {
        self.memory.forget();
        let length = self.memory.word(self.length)?.min(MAX_LISTED);
        let list = self.memory.word(self.list)?;
        let status = self.status_offset(list)?;
        let step = length.div_ceil(max.max(1)).max(1);
        self.next = (self.next + 1) % step;
        let positions = (self.next..length).step_by(usize::try_from(step).ok()?);
        let mut found = Vec::new();
        for position in positions {
            let Some(at) = self.memory.word(list.checked_add(position * WORD)?) else { continue };
            let field = |memory: &mut Remote, offset: u64| memory.word(at.checked_add(offset)?);
            let state = at.checked_add(status).and_then(|at| self.memory.half(at));
            let (pc, sp) = (field(&mut self.memory, PC), field(&mut self.memory, SP));
            if let (Some(state), Some(pc), Some(sp)) = (state, pc, sp) {
                found.push(Entry { status: state & STATUS, pc, sp });
            }
        }
        Some((found, step))
    }

    /// Returns the offset of a goroutine's status in its runtime structure. This offset differs between versions of Go.
    /// The offset is found by a search for the numbers of the first goroutines, since the main goroutine's number is
    /// known and numbers are unique.
    fn status_offset(&mut self, list: u64) -> Option<u64> {
        if self.status.is_none() {
            let memory = &mut self.memory;
            let mut number = |entry: u64, offset: u64| {
                let at = memory.word(list.checked_add(entry * WORD)?)?;
                memory.word(at.checked_add(offset + WORD)?).filter(|number| *number > 0)
            };
            let mut fits = |offset: u64| {
                let mut numbers = vec![MAIN_NUMBER];
                number(0, offset) == Some(MAIN_NUMBER)
                    && HELPER_ENTRIES.into_iter().all(|entry| {
                        let new = number(entry, offset).filter(|number| !numbers.contains(number));
                        numbers.extend(new);
                        new.is_some()
                    })
            };
            let mut offsets = STATUS_OFFSETS.step_by(WORD as usize).filter(|offset| fits(*offset));
            // If two offsets fit the status, this function uses neither of them, because the result would be ambiguous.
            self.status = offsets.next().filter(|_| offsets.next().is_none());
        }
        self.status
    }
}

impl Goroutine {
    /// Returns this goroutine; `None` if it waits and all its functions belong to the runtime.
    pub(crate) fn filter_own(self) -> Option<Self> {
        let Self::Waiting(frames) = &self else { return Some(self) };
        frames.iter().filter_map(|frame| frame.function.as_deref()).any(|f| !f.starts_with("runtime.")).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words before the status in the planted structure of a goroutine.
    const STATUS_WORD: usize = 18;

    /// Returns the status offset that is found in a planted list of goroutines with the given numbers and with the
    /// given words after the numbers.
    fn offset_of(goroutines: &[(u64, u64)]) -> Option<u64> {
        let planted = |(number, after): &(u64, u64)| {
            let mut words = [0_u64; 32];
            words[STATUS_WORD..STATUS_WORD + 3].copy_from_slice(&[u64::from(WAITING), *number, *after]);
            words
        };
        let structures: Vec<[u64; 32]> = goroutines.iter().map(planted).collect();
        let list: Vec<u64> = structures.iter().map(|words| words.as_ptr() as u64).collect();
        let memory = Remote::new(std::process::id());
        GoRuntime { memory, length: 0, list: 0, status: None, max_running: None, next: 0 }
            .status_offset(list.as_ptr() as u64)
    }

    #[test]
    fn the_status_is_found_before_numbers_of_any_batch() {
        let expected = Some(STATUS_WORD as u64 * WORD);
        assert_eq!(offset_of(&[(1, 0), (2, 0), (3, 0), (4, 0), (18, 0)]), expected);
        // The main goroutine changed its processor before it started the helpers.
        assert_eq!(offset_of(&[(1, 0), (17, 0), (18, 0), (33, 0)]), expected);
        // A reason of a wait is a small number, too, but several goroutines have the same reason.
        assert_eq!(offset_of(&[(1, 1), (2, 4), (3, 4), (4, 9)]), expected);
    }

    #[test]
    fn a_list_without_numbers_of_goroutines_has_no_status() {
        assert_eq!(offset_of(&[(1, 0), (5, 0), (5, 0), (6, 0)]), None);
        assert_eq!(offset_of(&[(7, 0), (2, 0), (3, 0), (4, 0)]), None);
        assert_eq!(offset_of(&[(1, 1), (2, 2), (3, 3), (4, 4)]), None);
    }
}
