//! Functions of language runtimes in sampled stacks: frames that run a program but are no functions of it, and
//! garbage collectors.

/// Frames that run a whole program: the start of a thread, the main loop of an interpreter, and the calls from a
/// runtime into the program. The name of such a frame does not show which function of the program takes the time. `*`
/// at the end stands for any text. Sources: glibc, Go's runtime/proc.go, HotSpot's src/hotspot/share/runtime, V8's
/// src/builtins and src/execution, Python's ceval.c and call.c, Ruby's vm.c and vm_exec.c, PHP's Zend/zend_vm_execute.h
/// and main/main.c, Lua's lvm.c, ldo.c and lapi.c, and Perl's run.c and perl.c.
const RUNNERS: &[&str] = &[
    // libc
    "_start",
    "__libc_start_*",
    "clone",
    "clone3",
    "__clone",
    "start_thread",
    // Go
    "runtime.goexit*",
    "runtime.main",
    "runtime.mcall",
    "runtime.mstart*",
    "runtime.systemstack*",
    // HotSpot
    "Interpreter",
    "thread_native_entry",
    "Thread::call_run",
    "JavaThread::*",
    "JavaCalls::*",
    "StubRoutines*",
    "VMThread::*",
    "VM_Operation::evaluate",
    // V8
    "Builtins_*",
    "v8::Function::Call",
    "v8::internal::Execution::*",
    "v8::internal::(anonymous namespace)::Invoke*",
    // CPython
    "_PyEval_*",
    "PyEval_*",
    "_PyObject_Call*",
    "_PyObject_Vectorcall*",
    "_PyObject_MakeTpCall",
    "PyObject_Call*",
    "_PyFunction_Vectorcall",
    "Py_RunMain",
    "Py_BytesMain",
    // Ruby
    "vm_exec*",
    "vm_call_*",
    "rb_vm_*",
    "rb_method_call*",
    "rb_proc_call*",
    "invoke_block*",
    // PHP
    "execute_ex",
    "zend_execute*",
    "php_execute_script*",
    // Lua
    "luaV_execute",
    "luaD_*",
    "lua_call*",
    "lua_pcall*",
    // Perl
    "Perl_runops_*",
    "perl_run",
];

/// Functions with which garbage collection begins, by runtime. `*` at the end stands for any text. Sources: Go's
/// runtime/mgc.go, mgcmark.go and mgcsweep.go, HotSpot's src/hotspot/share/gc, V8's src/heap, Python's gc.c, Ruby's
/// gc.c, PHP's Zend/zend_gc.c, and Lua's lgc.c.
const COLLECTORS: &[&str] = &[
    // Go
    "runtime.gcAssistAlloc*",
    "runtime.gcBgMarkWorker*",
    "runtime.gcDrain*",
    "runtime.gcStart*",
    "runtime.gcmarknewobject",
    "runtime.bgsweep",
    "runtime.bgscavenge*",
    "runtime.deductSweepCredit",
    "runtime.sweepone*",
    "runtime.(*sweepLocked).sweep",
    // HotSpot
    "VM_GenCollect*",
    "VM_G1*",
    "VM_CollectFor*",
    "VM_ParallelGC*",
    "VM_ParallelCollect*",
    "VM_Serial*",
    "GangWorker::*",
    "G1Batched*",
    "G1CM*",
    "G1Concurrent*",
    "G1Evacuate*",
    "PSParallelCompact*",
    "PSScavenge*",
    "ZDirector*",
    "ZDriver*",
    "ShenandoahControlThread::*",
    // V8
    "v8::internal::Heap::CollectGarbage*",
    "v8::internal::Heap::PerformGarbageCollection*",
    "v8::internal::ArrayBufferSweeper::*",
    "v8::internal::ConcurrentMarking::*",
    "v8::internal::MarkCompactCollector::*",
    "v8::internal::ScavengerCollector::*",
    "v8::internal::Sweeper::*",
    // CPython
    "gc_collect_main*",
    "_PyGC_Collect*",
    // Ruby
    "gc_start*",
    "gc_marks*",
    "gc_sweep*",
    "gc_continue*",
    // PHP
    "zend_gc_run_collections*",
    // Lua
    "luaC_step*",
    "luaC_fullgc*",
];

/// Returns true for a function that runs a whole program, and so is no function of the program.
pub(super) fn runs_program(function: &str) -> bool {
    RUNNERS.iter().any(|pattern| fits(pattern, function))
}

/// Returns true for a function with which garbage collection begins.
pub(super) fn collects_garbage(function: &str) -> bool {
    COLLECTORS.iter().any(|pattern| fits(pattern, function))
}

/// Returns true if a name fits a pattern, in which `*` at the end stands for any text.
fn fits(pattern: &str, function: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => function.starts_with(beginning),
        None => function == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_each_runtime_are_no_functions_of_the_program() {
        let frames = [
            "Builtins_JSEntryTrampoline",
            "Builtins_InterpreterEntryTrampoline",
            "_PyEval_EvalFrameDefault",
            "rb_vm_exec",
            "vm_exec_core",
            "execute_ex",
            "runtime.goexit",
            "runtime.goexit.abi0",
            "__libc_start_call_main",
            "lua_pcall",
            "JavaCalls::call_helper",
        ];
        for frame in frames {
            assert!(runs_program(frame) && !collects_garbage(frame), "{frame}");
        }
        for function in ["main", "main.main", "report", "start", "deflate", "BN_mod_exp_mont_consttime", "clone_row"] {
            assert!(!runs_program(function) && !collects_garbage(function), "{function}");
        }
    }

    #[test]
    fn collectors_of_each_runtime_are_known() {
        let frames = [
            "runtime.gcBgMarkWorker.func2",
            "runtime.gcAssistAlloc1",
            "VM_GenCollectForAllocation::doit",
            "v8::internal::Heap::CollectGarbage",
            "gc_collect_main",
            "gc_marks_rest",
            "zend_gc_run_collections",
        ];
        for frame in frames {
            assert!(collects_garbage(frame) && !runs_program(frame), "{frame}");
        }
    }
}
