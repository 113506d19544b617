//! Stack frames of CPython, read from the interpreter's memory while the interpreter continues to run.
//!
//! The interpreter keeps a list of its threads at the exported global `_PyRuntime`. The structure of each Python thread
//! points to a chain of frames. Each frame points to its code object, which contains the name, file and lines. Reading
//! frames is not synchronised with the interpreter. The frames of a waiting thread do not change. The frames of a
//! running thread may change while they are read. A chain of frames that changed while it was read ends at the first
//! impossible value.

mod code;
mod interpreter_lock;
mod layout;
mod line_table;
mod standard_library;
mod threads;

use std::collections::HashMap;

use crate::frame::Frame;
use crate::memory::{Memory, Remote};
use crate::space::Space;
use code::Code;
use layout::{FrameChain, Layout};
use threads::Threads;

/// Maximum number of frames of a stack.
const MAX_FRAMES: usize = 256;

/// Maximum number of code objects in the cache.
const MAX_CODES: usize = 1 << 14;

/// Value of a frame's owner field if the frame represents C code between two Python functions.
const OWNED_BY_C: u8 = 3;

/// Reader of the Python frames of one process.
pub(crate) struct Python {
    memory: Remote,
    layout: &'static Layout,
    threads: Threads,
    codes: HashMap<(u64, u64, u64), Code>,
    /// File name of the program or library that contains the interpreter.
    pub(crate) module: String,
}

impl Python {
    /// Finds CPython in a process. Returns `None` if the process does not run CPython of a known version.
    pub(crate) fn find(pid: u32, space: &mut Space) -> Option<Self> {
        let mut memory = Remote::new(pid);
        let (runtime, module) = space.find_global("_PyRuntime", has_python)?;
        let number = space.find_global("Py_Version", has_python).and_then(|(at, _)| memory.half(at));
        let minor = match number {
            Some(number) if number >> 24 == 3 => number >> 16 & 0xff,
            _ => minor_of(&module)?,
        };
        let layout = Layout::of(minor).filter(|_| !module.contains(&format!("3.{minor}t")))?;
        Some(Self { memory, layout, threads: Threads::new(pid, runtime), codes: HashMap::new(), module })
    }

    /// Returns the frames of thread `tid`, innermost first. Returns `None` for a thread without Python frames.
    pub(crate) fn stack(&mut self, tid: u32) -> Option<Vec<Frame>> {
        self.stack_to(tid, |_| false)
    }

    /// Returns the frames of thread `tid`, innermost first. Stops after the first frame for which `is_last` returns
    /// true, because each further frame needs several reads of the process's memory.
    pub(crate) fn stack_to(&mut self, tid: u32, is_last: impl Fn(&Frame) -> bool) -> Option<Vec<Frame>> {
        self.memory.forget();
        let thread = self.threads.find(&mut self.memory, self.layout, tid)?;
        self.frames(thread, is_last)
    }

    /// Returns the frames of the thread whose structure is at `thread`, as [`Self::stack_to`] does.
    fn frames(&mut self, thread: u64, is_last: impl Fn(&Frame) -> bool) -> Option<Vec<Frame>> {
        let mut at = self.innermost(thread)?;
        let mut frames = Vec::new();
        for _ in 0..MAX_FRAMES {
            if at == 0 || frames.last().is_some_and(&is_last) {
                break;
            }
            let Some(frame) = self.frame(at) else { break };
            frames.extend(frame);
            let Some(previous) = self.memory.word(at.wrapping_add(self.layout.frame.previous)) else { break };
            at = previous;
        }
        (!frames.is_empty()).then_some(frames)
    }

    /// Returns the thread that holds the interpreter lock, and the frames of this thread up to the first frame for
    /// which `is_last` returns true. The thread is given by its ID in its own PID namespace. Returns `None` if no
    /// thread holds the lock, or if another thread got the lock during the reading.
    pub(crate) fn lock_holder(&mut self, is_last: impl Fn(&Frame) -> bool) -> Option<(u32, Vec<Frame>)> {
        let (layout, runtime) = (self.layout, self.threads.runtime);
        let thread = interpreter_lock::holder(&mut self.memory, layout, runtime)?;
        let id = threads::identity(&mut self.memory, layout, thread)?;
        let frames = self.frames(thread, is_last).unwrap_or_default();
        (interpreter_lock::holder(&mut self.memory, layout, runtime) == Some(thread)).then_some((id, frames))
    }

    fn innermost(&mut self, thread: u64) -> Option<u64> {
        match self.layout.chain {
            FrameChain::Direct { frame } => self.memory.word(thread.wrapping_add(frame)),
            FrameChain::ThroughCFrame { cframe, frame } => {
                let cframe = self.memory.word(thread.wrapping_add(cframe))?;
                self.memory.word(cframe.checked_add(frame)?)
            }
        }
    }

    /// Reads the frame at an address. The inner `None` means a frame of C code, and the outer `None` an unreadable
    /// frame.
    fn frame(&mut self, at: u64) -> Option<Option<Frame>> {
        let frame = &self.layout.frame;
        if let Some(owner) = frame.owner {
            let mut byte = [0];
            if !self.memory.fill(at.checked_add(owner)?, &mut byte) {
                return None;
            }
            if byte[0] == OWNED_BY_C {
                return Some(None);
            }
        }
        let address = self.memory.word(at.checked_add(frame.code)?)?;
        let offset = self.layout.instruction_offset(&mut self.memory, at, address)?;
        let key = Code::key(&mut self.memory, self.layout, address)?;
        if self.codes.len() >= MAX_CODES {
            self.codes.clear();
        }
        if !self.codes.contains_key(&key) {
            self.codes.insert(key, Code::read(&mut self.memory, self.layout, address)?);
        }
        self.codes.get(&key).map(|code| Some(code.frame(self.layout.lines, offset)))
    }
}

/// Returns true if a file called `file` may contain the Python interpreter.
fn has_python(file: &str) -> bool {
    file.contains("python") || file.contains("uwsgi")
}

/// Returns the minor version in a file name: 11 for "libpython3.11.so.1.0" and "python3.11".
fn minor_of(file: &str) -> Option<u32> {
    let digits = file.split("python3.").nth(1)?;
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_in_the_file_name() {
        assert_eq!(minor_of("libpython3.9.so.1.0"), Some(9));
        assert_eq!(minor_of("python3.11"), Some(11));
        assert_eq!((minor_of("python3"), minor_of("libpython2.7.so")), (None, None));
    }
}
