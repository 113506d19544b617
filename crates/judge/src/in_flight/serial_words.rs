//! Texts of verdicts about requests that take turns on the CPU (only one runs at a time).

/// Sentence of the verdict that only one request at a time runs on the CPU.
pub(crate) const SENTENCE: &str =
    "requests take turns on the CPU, one at a time, on changing threads: a lock, or the interpreter's (CPython, Ruby)";

/// Advice for the verdict that only one request at a time runs on the CPU.
pub(crate) const ADVICE: [&str; 2] = [
    "Start more processes of the server: each one works on one request at a time. More CPUs or threads alone do not help.",
    "Find the lock with a profiler: work outside of the lock runs in parallel.",
];
