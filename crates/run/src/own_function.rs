//! Recognizes functions that only wait on behalf of their callers, so that a report names the function of the program
//! itself.

/// Functions of the C library that only make a system call, or only start a thread. A function that calls one of these
/// functions explains a wait better. The names are listed without leading underscores, without `libc_` and without
/// `_nocancel`.
const SYSTEM_CALLS: &[&str] = &[
    "accept",
    "accept4",
    "clock_nanosleep",
    "clone",
    "clone3",
    "connect",
    "epoll_pwait",
    "epoll_wait",
    "fdatasync",
    "fsync",
    "nanosleep",
    "poll",
    "ppoll",
    "pread",
    "pread64",
    "pselect",
    "pwrite",
    "pwrite64",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "select",
    "send",
    "sendmsg",
    "sendto",
    "sleep",
    "start_call_main",
    "start_main",
    "start_thread",
    "usleep",
    "wait4",
    "waitid",
    "waitpid",
    "write",
    "writev",
];

/// Beginnings of the names of functions that wait for a lock, a condition variable or a timer for their callers:
/// functions of C, C++, Rust and Go libraries, node, Python, Ruby, the JVM and Java's library. Sources: glibc nptl and sysdeps/nptl,
/// musl src/thread, libuv src/unix/thread.c, CPython Lib, HotSpot share/runtime and os/posix.
const WAITS: &[&str] = &[
    "alloc::",
    "asyncio.",
    "cnd_",
    "com.sun.",
    "concurrent.futures.",
    "core::",
    "do_futex_wait",
    "futex_",
    "http.client.",
    "http.server.",
    "internal/",
    "java.",
    "jdk.",
    "lll_",
    "mtx_",
    "multiprocessing.",
    "native_cond_",
    "new_sem_",
    "os::PlatformEvent::",
    "os::PlatformMonitor::",
    "parking_lot",
    "pthread_",
    "queue.",
    "rb_native_cond_",
    "runtime.",
    "rustix::",
    "selectors.",
    "sem_",
    "socket.",
    "socketserver.",
    "ssl.",
    "std::",
    "subprocess.",
    "sun.",
    "sync.",
    "syscall",
    "time.Sleep",
    "threading.",
    "timedwait",
    "uv_barrier_",
    "uv_cond_",
    "uv_mutex_",
    "uv_rwlock_",
    "uv_sem_",
    "InterpreterRuntime::monitorenter",
    "JVM_MonitorWait",
    "JVM_Sleep",
    "JavaThread::sleep",
    "Monitor::wait",
    "ObjectMonitor::",
    "ObjectSynchronizer::",
    "Parker::",
    "PlatformEvent::",
    "PlatformMonitor::",
    "PosixSemaphore::",
    "Runtime1::monitorenter",
    "SharedRuntime::",
    "Unsafe_Park",
];

/// Beginnings of the names of modules whose functions wait on behalf of their callers: the C library and its thread
/// library.
const LIBRARIES: &[&str] = &["libc.", "libc-", "libpthread", "ld-"];

/// Returns true if a function on a stack does work of its own, and does not merely wait on behalf of its caller. For a
/// function without a name, the argument is the name of its module in brackets.
pub fn is_own_function(name: &str) -> bool {
    let bare = bare(name);
    let is_wait = WAITS.iter().any(|start| bare.starts_with(start));
    let is_library = name.strip_prefix('[').is_some_and(is_library);
    !bare.is_empty() && !is_wait && !is_library && !is_system_call(name)
}

/// Returns true for a function that only makes a system call or starts a thread.
pub fn is_system_call(name: &str) -> bool {
    let bare = bare(name);
    name == "_start" || bare == "syscall" || SYSTEM_CALLS.contains(&bare)
}

/// Returns true for a module whose functions wait on behalf of their callers: the C library and its thread library.
pub fn is_library(module: &str) -> bool {
    LIBRARIES.iter().any(|start| module.starts_with(start))
}

/// Returns a function's name without the marks that C libraries add to it.
fn bare(name: &str) -> &str {
    let name = name.trim_start_matches(['_', '<']);
    let name = name.strip_prefix("GI_").unwrap_or(name).trim_start_matches('_');
    let name = name.strip_prefix("libc_").unwrap_or(name);
    name.strip_suffix("_nocancel").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_wait_for_their_callers_are_not_a_program_s_own() {
        for waits in ["__GI___lll_lock_wait", "<std::sync::Mutex<T>>::lock", "sync.(*Mutex).Lock", "[libc.so.6]", ""] {
            assert!(!is_own_function(waits), "{waits}");
        }
        assert!(!is_own_function("rustix::backend::arch::asm::syscall4"), "system calls of Rust programs");
        assert!(
            !is_own_function("threading.Condition.wait") && !is_own_function("queue.Queue.get"),
            "Python's library"
        );
        for own in ["handle", "main.underLock", "[app]", "Queue.get", "json.decoder.JSONDecoder.raw_decode"] {
            assert!(is_own_function(own), "{own}");
        }
        assert!(is_system_call("__GI___clock_nanosleep") && is_library("libc.so.6") && !is_library("libcurl.so.4"));
    }
}
