//! One process: the names of its addresses, and the stacks of its threads.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::frame::Frame;
use crate::goroutines::GoRuntime;
use crate::images::Images;
use crate::java::{self, Java};
use crate::memory::{Remote, StackCopy, WaitingStack};
use crate::perf_map::PerfMap;
use crate::python::Python;
use crate::registers::{PC, Registers};
use crate::space::{ANONYMOUS, Space};
use crate::unwind::{Addresses, Unwinder};

/// Minimum time between two reads of a process's mappings. The mappings are read again if a stack could not be unwound
/// to its end. Reading the mappings of a large program takes about 0.2 ms, so reads at this interval cost at most 0.1 %
/// of a CPU.
const MAPPINGS_KEPT: Duration = Duration::from_millis(200);

/// A global variable of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Name in the symbol table.
    pub name: Arc<str>,
    /// File name of the program or library.
    pub module: Arc<str>,
    /// Bytes between the start of the variable and the address.
    pub offset: u64,
}

/// A live process. Unwinds the stacks of the process and names its addresses.
pub struct Process {
    pid: u32,
    name: String,
    space: Space,
    unwinder: Unwinder,
    perf_map: PerfMap,
    stack: Remote,
    python: Option<Python>,
    java: Option<Java>,
    pub(crate) go: Option<GoRuntime>,
    mappings_read: Instant,
}

impl Process {
    /// Opens process `pid`. Fails if the list of the process's mappings cannot be read. [`crate::is_readable`] says
    /// whether the memory itself can be read.
    pub fn open(pid: u32, images: &Images) -> io::Result<Self> {
        let mut space = Space::new(pid, images.clone())?;
        let python = Python::find(pid, &mut space);
        let java = Java::find(pid, &mut space);
        let go = GoRuntime::find(pid, &mut space);
        let mut perf_map = PerfMap::default();
        perf_map.refresh(pid);
        let comm = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        let name = crate::names::printable(String::from_utf8_lossy(&comm).trim()).to_string();
        let (unwinder, stack) = (Unwinder::new(pid), Remote::new(pid));
        Ok(Self { pid, name, space, unwinder, perf_map, stack, python, java, go, mappings_read: Instant::now() })
    }

    /// Returns the process ID.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the first name in the stacks of the process: the name in the kernel, or the name set by
    /// [`Process::rename`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the process another name, which distinguishes it from other processes of the same program.
    pub fn rename(&mut self, name: &str) {
        self.name = crate::names::printable(name).to_string();
    }

    /// Returns true if this process runs CPython of a known version.
    pub fn is_python(&self) -> bool {
        self.python.is_some()
    }

    /// Returns true if a runtime of this process keeps frames of its own, which only [`Self::waiting_frames`] reads: those
    /// of Python or Java.
    pub fn has_runtime_frames(&self) -> bool {
        self.python.is_some() || self.java.is_some()
    }

    /// Unwinds a thread that waits in the kernel. `pc` and `sp` come from `/proc/PID/task/TID/syscall`. `stack` is a
    /// copy of the thread's stack from `sp` upwards, and may be empty.
    pub fn unwind_waiting(&mut self, pc: u64, sp: u64, stack: &[u8]) -> Addresses {
        self.stack.forget();
        let copy = StackCopy { start: sp, bytes: stack };
        let mut memory = WaitingStack { copy, remote: &mut self.stack };
        self.unwinder.unwind(&mut self.space, Registers::waiting(pc, sp), &mut memory)
    }

    /// Unwinds a thread that ran when the kernel sampled it.
    pub fn unwind_running(&mut self, sample: &sys::perf::CpuSample<'_>) -> Addresses {
        let registers = Registers::running(&sample.registers);
        let start = registers.0[crate::registers::SP].unwrap_or(0);
        let stack = self.unwinder.unwind(&mut self.space, registers, &mut StackCopy { start, bytes: sample.stack });
        if !stack.is_complete {
            self.follow_new_mappings();
        }
        stack
    }

    /// Reads the mappings again, at most once in [`MAPPINGS_KEPT`], because a runtime may have mapped new code since
    /// the last reading.
    fn follow_new_mappings(&mut self) {
        if self.mappings_read.elapsed() < MAPPINGS_KEPT {
            return;
        }
        self.mappings_read = Instant::now();
        if self.space.refresh() {
            self.unwinder.forget(self.pid);
        }
    }

    /// Returns the Python frames of the thread `tid`, innermost first; `None` if it has none, or if the process does
    /// not run Python.
    pub fn python_stack(&mut self, tid: u32) -> Option<Vec<Frame>> {
        self.python.as_mut()?.stack(tid)
    }

    /// Returns the Python frames of the thread `tid`, innermost first. Stops after the first frame for which `is_last`
    /// returns true.
    pub fn python_stack_to(&mut self, tid: u32, is_last: impl Fn(&Frame) -> bool) -> Option<Vec<Frame>> {
        self.python.as_mut()?.stack_to(tid, is_last)
    }

    /// Returns Python frames for a sample of CPU time. Returns `None` if the process does not run Python, or if its
    /// sampled code is unknown by now: the native stack of the sample then shows more.
    ///
    /// Python frames are read later than the sample, and the sampled thread may have left its function since then. A
    /// thread that executes Python code holds the interpreter lock. What the lock's present holder executes therefore
    /// represents such a sample. The functions in which threads wait for the lock would be a wrong answer: most threads
    /// wait for the lock after a system call, for example after they have sent a response.
    pub(crate) fn python_frames_of(&mut self, sample: &sys::perf::CpuSample<'_>) -> Option<Vec<Frame>> {
        if self.executes_python(sample)
            && let Some((_, frames)) = self.interpreter_lock_holder(|_| false)
            && !frames.is_empty()
        {
            return Some(frames);
        }
        let may_be_same = self.is_python() && is_running(self.pid, sample.tid);
        if may_be_same { self.python_stack(sample.tid) } else { None }
    }

    /// Returns true if the innermost code of a sample belongs to Python's interpreter. The C library is left out, because
    /// it works on behalf of its callers.
    fn executes_python(&mut self, sample: &sys::perf::CpuSample<'_>) -> bool {
        let Some(interpreter) = self.python.as_ref().map(|python| python.module.clone()) else { return false };
        let innermost = self.space.module_name(sample.registers[PC]);
        if !is_c_library(&innermost) {
            return *innermost == *interpreter;
        }
        let native = self.unwind_running(sample);
        let mut modules = native.addresses.iter().map(|address| self.space.module_name(*address));
        modules.find(|module| !is_c_library(module)).is_some_and(|module| *module == *interpreter)
    }

    /// Returns the thread that holds Python's interpreter lock, by its ID in its own PID namespace, and its frames to
    /// the first one for which `is_last` returns true. Returns `None` if the process does not run Python, or if no
    /// thread held the lock during the whole reading.
    pub fn interpreter_lock_holder(&mut self, is_last: impl Fn(&Frame) -> bool) -> Option<(u32, Vec<Frame>)> {
        self.python.as_mut()?.lock_holder(is_last)
    }

    /// Returns the frames of a thread that waits in the kernel, innermost first. In a process of Python or Java, the first
    /// frames are native functions. In Python, these are only named functions outside the interpreter's file, such as
    /// those of an extension module. The frames of Python or Java follow after the native functions.
    pub fn waiting_frames(&mut self, tid: u32, pc: u64, sp: u64, stack: &[u8]) -> Vec<Frame> {
        let addresses = self.unwind_waiting(pc, sp, stack);
        let native = self.frames(&addresses);
        if let Some(frames) = self.java.as_mut().and_then(|java| java.stack(tid)) {
            let is_compiled = |frame: &Frame| [ANONYMOUS, java::MODULE].contains(&&*frame.module);
            let outside = native.into_iter().take_while(|frame| !is_compiled(frame));
            return outside.chain(frames).collect();
        }
        let Some(python) = self.python_stack(tid) else { return native };
        let interpreter = self.python.as_ref().map_or("", |python| python.module.as_str());
        let outside = native.into_iter().take_while(|frame| &*frame.module != interpreter);
        outside.filter(|frame| frame.function.is_some()).chain(python).collect()
    }

    /// Returns the frames for the addresses of a stack, innermost first. A function that a Go compiler inlined has a
    /// frame of its own.
    pub fn frames(&mut self, stack: &Addresses) -> Vec<Frame> {
        let exact = |i: usize, pc: &u64| if i == 0 { *pc } else { pc.saturating_sub(1) };
        stack.addresses.iter().enumerate().flat_map(|(i, pc)| self.frames_at(exact(i, pc)).to_vec()).collect()
    }

    /// Returns the frames for the code at `address`, innermost first.
    fn frames_at(&mut self, address: u64) -> Arc<[Frame]> {
        if let Some((image, at)) = self.space.image(address) {
            return image.frames(at);
        }
        let compiled = self.perf_map.frame(address).or_else(|| self.java.as_mut()?.frame(address));
        let unknown = || Frame { function: None, module: self.space.module_name(address), file: None, line: None };
        [compiled.unwrap_or_else(unknown)].into()
    }

    /// Returns the global variable that covers `address`.
    pub fn global(&mut self, address: u64) -> Option<Global> {
        let (image, at) = self.space.image(address)?;
        let (name, offset) = image.global(at)?;
        Some(Global { name, module: image.name.clone(), offset })
    }

    /// Reads the mappings and the map of compiled code again. Call this function if the module of an address is
    /// unknown.
    pub fn refresh(&mut self) {
        self.space.refresh();
        self.unwinder.forget(self.pid);
        self.perf_map.refresh(self.pid);
    }
}

/// Returns true for the file name of the C library.
fn is_c_library(module: &str) -> bool {
    ["libc.", "libc-"].iter().any(|start| module.starts_with(start))
}

/// Returns true if a thread runs or is ready to run. Source: proc_pid_stat(5), field 3.
fn is_running(pid: u32, tid: u32) -> bool {
    let stat = std::fs::read(format!("/proc/{pid}/task/{tid}/stat")).unwrap_or_default();
    let name_end = stat.iter().rposition(|byte| *byte == b')');
    name_end.and_then(|end| stat.get(end + 2)) == Some(&b'R')
}
