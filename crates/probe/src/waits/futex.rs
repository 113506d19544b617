//! Finds the kind and the owner of the object (such as a lock) that a futex belongs to. Uses the futex's memory and the
//! arguments of the system call.
//!
//! Source: glibc nptl/pthreadP.h, sysdeps/nptl/bits/thread-shared-types.h (`__pthread_mutex_s`, `__pthread_cond_s`),
//! nptl/internaltypes.h (`new_sem`); musl src/thread/pthread_mutex_timedlock.c; Rust library/std/src/sys/sync/mutex.

use std::collections::BTreeMap;

use run::FutexKind;

/// Number of bytes that are read from the memory before the futex. For a condition variable, the 8 bytes before the
/// futex contain the number of waiters.
pub(super) const BYTES_BEFORE: u64 = 8;
/// Number of bytes read for a futex, including the bytes before the futex.
pub(super) const BYTES: usize = 24;

const FUTEX_WAIT: u64 = 0;
const FUTEX_LOCK_PI: u64 = 6;
const FUTEX_WAIT_BITSET: u64 = 9;
const FUTEX_LOCK_PI2: u64 = 13;
/// Mask that removes the flags (FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME) from an operation.
const OPERATION: u64 = 0x7f;
/// Value of a locked futex with waiters, in glibc, Rust and Go.
const LOCKED_WITH_WAITERS: u32 = 2;
/// Flag in the locks of musl while threads wait.
const MUSL_WAITERS: u32 = 0x8000_0000;
/// Value of a locked mutex of musl.
const MUSL_LOCKED: u32 = 16;
/// Mask of the thread ID in a lock with priority inheritance (FUTEX_TID_MASK).
const PI_OWNER: u32 = 0x3fff_ffff;

/// Arguments of a futex system call that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) operation: u64,
    pub(super) expected: u32,
}

/// Futexes for which threads wait. The key is the index of the futex's process in `Round::processes`, and the futex's
/// address. Each value of the map is the system call ([`Wait`]) of one waiting thread, and the number of waiting
/// threads.
pub(super) type Waits = BTreeMap<(usize, u64), (Wait, u32)>;

/// Kind and owner of a futex, as one reading shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) kind: FutexKind,
    /// ID of the owning thread in the process's own PID namespace; `None` if the owner is unknown.
    pub(super) owner: Option<u32>,
}

/// Classifies a futex for which `waiters` threads wait; `pair` threads wait for this futex or a neighbouring one.
/// `memory` starts [`BYTES_BEFORE`] bytes before the futex. `is_thread` returns true if the process has a thread with
/// this ID.
pub(super) fn classify(
    wait: Wait,
    memory: &[u8; BYTES],
    (waiters, pair): (u32, u32),
    is_thread: impl Fn(u32) -> bool,
) -> Object {
    let word = |at: usize| memory.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_ne_bytes);
    let [before8, before4, value, after4, after8, after12] = [0, 4, 8, 12, 16, 20].map(word);
    let owned = |owner: u32| Object { kind: FutexKind::OwnedMutex, owner: Some(owner) };
    let unowned = |kind| Object { kind, owner: None };
    match wait.operation & OPERATION {
        FUTEX_LOCK_PI | FUTEX_LOCK_PI2 if is_thread(value & PI_OWNER) => owned(value & PI_OWNER),
        FUTEX_WAIT | FUTEX_WAIT_BITSET if wait.expected == LOCKED_WITH_WAITERS && matches!(value, 1 | 2) => {
            // In glibc, `after8` is the mutex's `__owner` and `after12` is its `__nusers`.
            if after12 >= 1 && is_thread(after8) { owned(after8) } else { unowned(FutexKind::Mutex) }
        }
        FUTEX_WAIT if wait.expected & MUSL_WAITERS != 0 => match wait.expected & !MUSL_WAITERS {
            MUSL_LOCKED => unowned(FutexKind::Mutex),
            owner if is_thread(owner) => owned(owner),
            _ => Object::default(),
        },
        FUTEX_WAIT_BITSET => unowned(shared_wait(wait.expected, (waiters, pair), [before8, before4, value, after4])),
        _ => Object::default(),
    }
}

/// Distinguishes a semaphore from a condition variable. A semaphore stores the number of its waiters in the word after
/// the futex. A condition variable stores eight times the number of its waiters in a word before the futex. A condition
/// variable has two futexes, and its threads may wait for either of them.
fn shared_wait(expected: u32, (waiters, pair): (u32, u32), [before8, before4, value, after4]: [u32; 4]) -> FutexKind {
    let near = |stored: u32, count: u32| stored >= 1 && stored.abs_diff(count) <= 1;
    let semaphore = expected == 0 && value == 0 && near(after4, waiters);
    let condition = near(before8 >> 3, pair) || near(before4 >> 3, pair);
    match (semaphore, condition) {
        (true, false) => FutexKind::Semaphore,
        (false, true) => FutexKind::Condition,
        _ => FutexKind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(words: [u32; 6]) -> [u8; BYTES] {
        let mut out = [0; BYTES];
        out.chunks_exact_mut(4).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_ne_bytes()));
        out
    }

    fn told(operation: u64, expected: u32, waiters: u32, words: [u32; 6]) -> (FutexKind, Option<u32>) {
        let Object { kind, owner } =
            classify(Wait { operation, expected }, &memory(words), (waiters, waiters), |tid| (100..110).contains(&tid));
        (kind, owner)
    }

    #[test]
    fn each_object_is_told_by_its_memory() {
        assert_eq!(told(0x80, 2, 3, [0, 0, 2, 0, 104, 1]), (FutexKind::OwnedMutex, Some(104)));
        // In the first assertion, the owner of the mutex is a thread of another process. In the second assertion, the
        // mutex is passing from one owner to the next.
        assert_eq!(told(0x80, 2, 3, [0, 0, 2, 0, 7, 1]), (FutexKind::Mutex, None));
        assert_eq!(told(0x89, 2, 3, [0, 0, 2, 0, 104, 0]), (FutexKind::Mutex, None));
        assert_eq!(told(0x86, 0, 3, [0, 0, 0x8000_0068, 0, 0, 0]), (FutexKind::OwnedMutex, Some(104)));
        assert_eq!(told(0x80, 0x8000_0010, 3, [0, 0, 0, 0, 0, 0]), (FutexKind::Mutex, None));
        assert_eq!(told(0x80, 0x8000_0068, 3, [0; 6]), (FutexKind::OwnedMutex, Some(104)));
        assert_eq!(told(0x189, 0, 15, [0x31, 0, 0, 15, 0, 0]), (FutexKind::Semaphore, None));
        // A condition variable of glibc has two groups of waiting threads. Each of the next two lines tests one group
        // of waiting threads.
        assert_eq!(told(0x189, 0, 4, [4, 32, 0, 0, 0, 0]), (FutexKind::Condition, None));
        assert_eq!(told(0x189, 0, 4, [32, 0, 0, 0, 0, 0]), (FutexKind::Condition, None));
        // The kind is unknown for the futex of a parked thread of Rust, and for memory without a recognisable lock.
        assert_eq!(told(0x89, u32::MAX, 1, [0, 0, u32::MAX, 0, 0, 0]), (FutexKind::Unknown, None));
        assert_eq!(told(0x89, 7, 2, [0, 0, 7, 0, 0, 0]), (FutexKind::Unknown, None));
    }
}
