//! Stack frames of Java, read from the memory of HotSpot while the JVM continues to run. Nothing is asked of the JVM, and
//! no thread stops.
//!
//! When a thread leaves Java code, to wait or to call the JVM, HotSpot stores the thread's last Java frame. Its caller
//! follows from the code: the interpreter keeps a frame pointer, and the size of the frames of compiled code is constant.
//! HotSpot describes all structures that are read here in tables of its own (see [`Tables`]). If a structure changed while
//! it was read, the stack ends at the first impossible value.

mod code;
mod inlined;
mod layout;
mod tables;
mod threads;

use std::collections::HashMap;
use std::sync::Arc;

use self::code::{Blob, Kind};
use self::layout::Layout;
use self::tables::Tables;
use self::threads::Threads;
use crate::frame::Frame;
use crate::memory::{Memory, Remote};
use crate::names::printable;
use crate::space::Space;

/// Maximum number of frames of a stack.
const MAX_FRAMES: usize = 256;
/// Maximum number of Java methods whose names are kept in memory.
const MAX_METHODS: usize = 1 << 14;
/// Maximum length of the name of a class or a method, bytes.
const MAX_NAME_BYTES: u16 = 1024;

/// Module name in the frames of Java methods.
pub(crate) const MODULE: &str = "java";
/// Name of the interpreter's frames, if the method is unknown.
const INTERPRETER: &str = "Interpreter";

/// Reader of the Java frames of one process.
pub(crate) struct Java {
    memory: Remote,
    layout: Layout,
    threads: Threads,
    /// Name of each method, by the addresses of its two structures.
    names: HashMap<(u64, u64), Arc<str>>,
}

/// Place in the stack of a thread.
#[derive(Clone, Copy)]
struct Place {
    sp: u64,
    pc: u64,
    fp: u64,
}

impl Java {
    /// Finds the JVM in a process. Returns `None` if the process has none, or if its tables lack a needed field.
    pub(crate) fn find(pid: u32, space: &mut Space) -> Option<Self> {
        let mut memory = Remote::new(pid);
        let tables = Tables::read(&mut memory, space)?;
        let layout = Layout::of(&tables, &mut memory)?;
        Some(Self { memory, layout, threads: Threads::new(pid), names: HashMap::new() })
    }

    /// Returns the Java frames of the waiting thread `tid`, innermost first. Returns `None` for a thread without Java
    /// frames.
    pub(crate) fn stack(&mut self, tid: u32) -> Option<Vec<Frame>> {
        self.memory.forget();
        let thread = self.threads.find(&mut self.memory, &self.layout, tid)?;
        let mut place = self.last_place(thread)?;
        let mut frames = Vec::new();
        while frames.len() < MAX_FRAMES {
            let Some(blob) = code::blob(&mut self.memory, &self.layout, place.pc) else { break };
            let Some(methods) = self.methods(&blob, place) else { break };
            for method in methods {
                let Some(name) = self.name(method) else { return some(frames) };
                frames.push(frame(name));
            }
            let caller = self.caller(&blob, place);
            let Some(caller) = caller.filter(|caller| caller.sp > place.sp) else { break };
            place = caller;
        }
        some(frames)
    }

    /// Returns the frame for Java code at an address, without inlined methods. All interpreted code has the frame
    /// `Interpreter`. Returns `None` for other addresses.
    pub(crate) fn frame(&mut self, address: u64) -> Option<Frame> {
        self.memory.forget();
        match code::blob(&mut self.memory, &self.layout, address)?.kind {
            Kind::Compiled(method) | Kind::Native(method) => self.name(method).map(frame),
            Kind::Interpreter => Some(frame(INTERPRETER.into())),
            Kind::Other => None,
        }
    }

    /// Returns the place of the last Java frame of a thread that is not executing Java code.
    fn last_place(&mut self, thread: u64) -> Option<Place> {
        let fields = &self.layout.thread;
        let mut field = |offset: u64| self.memory.word(thread.checked_add(offset)?);
        let (sp, pc, fp) = (field(fields.last_sp)?, field(fields.last_pc)?, field(fields.last_fp)?);
        if sp == 0 {
            return None;
        }
        // HotSpot does not always store the program counter, because it is the return address of the last call.
        let pc = if pc == 0 { self.memory.word(sp.checked_sub(8)?)? } else { pc };
        Some(Place { sp, pc, fp })
    }

    /// Returns the methods that execute the code at a place, the innermost first. Returns `None` if compiled code has no
    /// such return address, so the place is wrong.
    fn methods(&mut self, blob: &Blob, place: Place) -> Option<Vec<u64>> {
        match (&blob.kind, &self.layout.inlined) {
            (Kind::Compiled(_), Some(fields)) => inlined::methods(&mut self.memory, fields, blob.at, place.pc),
            (Kind::Compiled(method) | Kind::Native(method), _) => Some(vec![*method]),
            (Kind::Interpreter, _) => {
                let at = place.fp.checked_add_signed(8 * self.layout.interpreted_method)?;
                Some(vec![self.memory.word(at)?])
            }
            (Kind::Other, _) => Some(Vec::new()),
        }
    }

    /// Returns the place of the caller of the code at a place.
    fn caller(&mut self, blob: &Blob, place: Place) -> Option<Place> {
        match blob.kind {
            Kind::Interpreter => {
                // Before compiled code calls the interpreter, it moves the stack pointer. The interpreter stores the stack
                // pointer from before. Source: frame_x86.hpp and frame_aarch64.hpp.
                let sp = self.memory.word(place.fp.checked_sub(8)?)?;
                Some(Place { sp, pc: self.memory.word(place.fp.checked_add(8)?)?, fp: self.memory.word(place.fp)? })
            }
            Kind::Compiled(_) | Kind::Native(_) | Kind::Other => {
                let sp = place.sp.checked_add(blob.frame_bytes)?;
                let (pc, fp) = (self.memory.word(sp.checked_sub(8)?)?, self.memory.word(sp.checked_sub(16)?)?);
                Some(Place { sp, pc, fp })
            }
        }
    }

    /// Returns the name of a method with its class, such as `shop.Tickets.book`.
    fn name(&mut self, method: u64) -> Option<Arc<str>> {
        let constant = self.memory.word(method.checked_add(self.layout.method.constant)?)?;
        if let Some(name) = self.names.get(&(method, constant)) {
            return Some(name.clone());
        }
        let name = self.read_name(constant)?;
        if self.names.len() >= MAX_METHODS {
            self.names.clear();
        }
        self.names.insert((method, constant), name.clone());
        Some(name)
    }

    fn read_name(&mut self, constant: u64) -> Option<Arc<str>> {
        let (memory, fields) = (&mut self.memory, &self.layout.method);
        let pool = memory.word(constant.checked_add(fields.pool)?)?;
        let index = u64::from(short(memory, constant.checked_add(fields.name_index)?)?);
        let name = memory.word(pool.checked_add(fields.pool_bytes)?.checked_add(8 * index)?)?;
        let class = memory.word(pool.checked_add(fields.holder)?)?;
        let class = memory.word(class.checked_add(fields.class_name)?)?;
        let mut text = |at: u64| {
            let length = short(memory, at.checked_add(fields.text_length)?).filter(|n| *n <= MAX_NAME_BYTES)?;
            let mut bytes = vec![0; length.into()];
            let is_read = memory.fill(at.checked_add(fields.text)?, &mut bytes);
            String::from_utf8(bytes).ok().filter(|_| is_read)
        };
        Some(printable(&format!("{}.{}", class_name(&text(class)?), text(name)?)))
    }
}

/// Reads a number of 16 bits.
fn short(memory: &mut Remote, at: u64) -> Option<u16> {
    let mut bytes = [0; 2];
    memory.fill(at, &mut bytes).then(|| u16::from_le_bytes(bytes))
}

/// Returns the readable name of a class. HotSpot adds an address to the names of hidden classes, such as those of lambda
/// expressions.
fn class_name(internal: &str) -> String {
    let hidden = ["+0x", "/0x"].iter().find_map(|mark| internal.split_once(mark));
    hidden.map_or(internal, |(name, _)| name).replace('/', ".")
}

fn frame(function: Arc<str>) -> Frame {
    Frame { function: Some(function), module: MODULE.into(), file: None, line: None }
}

fn some(frames: Vec<Frame>) -> Option<Vec<Frame>> {
    Some(frames).filter(|frames| !frames.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_classes_are_readable() {
        assert_eq!(class_name("shop/Tickets"), "shop.Tickets");
        assert_eq!(class_name("Sync$$Lambda$5+0x00007f6108000a08"), "Sync$$Lambda$5");
        assert_eq!(class_name("Sync$$Lambda/0x00007f6108000a08"), "Sync$$Lambda");
    }
}
