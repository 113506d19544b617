//! Locks of libraries and language runtimes that show only in the stacks of the threads that wait for them.

/// Functions in which threads wait until a lock is free, each with the lock's name. SQLite's function sleeps and tries
/// again. Source: SQLite's documentation of sqlite3_busy_timeout(), and Ruby's thread_sync.c.
const LOCKS: &[(&str, &str)] = &[
    ("rb_mutex_lock", "a Mutex of Ruby"),
    ("rb_mutex_synchronize", "a Mutex of Ruby"),
    ("sqlite3InvokeBusyHandler", "the write lock of SQLite"),
];

/// Returns the name of the lock for which threads in this function wait. Returns `None` for other functions.
pub(super) fn lock_of(function: &str) -> Option<&'static str> {
    LOCKS.iter().find(|(waits, _)| *waits == function).map(|(_, lock)| *lock)
}

/// Beginnings of the functions in which idle threads of a pool wait for work. The memory of the futex and the number of
/// the waiting threads are the same for a lock. Source: CPython's Lib/concurrent/futures/thread.py and
/// Lib/multiprocessing/pool.py.
const WORK_QUEUES: &[&str] = &["_worker (thread.py", "worker (pool.py"];

/// Returns true if threads that wait in this function are idle.
pub(super) fn is_work_queue(function: &str) -> bool {
    WORK_QUEUES.iter().any(|start| function.starts_with(start))
}

#[cfg(test)]
mod tests {
    use run::{StackProfile, StackSum, ThreadState, WaitCause, WaitProfile};

    use super::super::tests::{clients, process};
    use super::super::waits;

    /// Returns the cause and the sentence for threads in `state`, whose stacks end in `frames`.
    fn told(mut profile: WaitProfile, frames: &str) -> (WaitCause, String) {
        let waiting = vec![StackSum { stack: format!("app;main;{frames}"), weight: 8.0 }];
        profile.stacks = Some(StackProfile { waiting, ..StackProfile::default() });
        let found = waits(&profile, &[]).remove(0);
        (found.cause, found.sentence)
    }

    /// This test repeats a situation that was observed with Django: SQLite sleeps and tries again while another thread
    /// writes to the database.
    #[test]
    fn threads_that_sleep_until_sqlite_is_free_wait_for_a_lock() {
        let mut profile = process(10.0, &[(ThreadState::Sleep, "", 8.0), (ThreadState::Futex, "", 2.0)]);
        profile.clients = Some(clients(8.0, 0.0));
        let (cause, said) = told(profile.clone(), "save;sqlite3InvokeBusyHandler;usleep;clock_nanosleep");
        let wanted = "8 of 10 threads of app:7 wait for one lock (the write lock of SQLite)";
        assert_eq!((cause, said.as_str()), (WaitCause::Lock, wanted));
        let (cause, said) = told(profile, "acquire;usleep;clock_nanosleep");
        let wanted = "8 of 10 threads of app:7 sleep in acquire while they have a request";
        assert_eq!((cause, said.as_str()), (WaitCause::Sleep, wanted));
    }

    /// This test repeats a situation that was observed with Puma, whose threads wait for a Mutex of the application.
    #[test]
    fn workers_that_wait_for_a_mutex_of_ruby_are_no_pool_that_is_too_small() {
        let mut profile = process(10.0, &[(ThreadState::Futex, "", 8.0), (ThreadState::Events, "", 2.0)]);
        profile.groups[0].thread = "puma srv tp #".into();
        profile.clients = Some(clients(8.0, 30.0));
        assert_eq!(told(profile.clone(), "rb_mutex_synchronize;pthread_cond_wait").0, WaitCause::Lock);
        assert_eq!(told(profile, "rb_thread_wait;pthread_cond_wait").0, WaitCause::WorkerPool);
    }
}
