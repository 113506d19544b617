//! Locks of libraries and language runtimes that only the stacks of waiting threads show.

use run::{CountedKind, ThreadState, WaitCause, WaitFinding, WaitProcess, WaitProfile};

use super::functions::{callers_of, threads_in};
use super::requests::Requests;
use crate::thresholds::{WAIT_MOSTLY, WAIT_QUEUE};

/// Functions in which threads wait until a lock is free, each with the lock's name. Sources: Ruby's thread_sync.c, and
/// Java's package `java.util.concurrent.locks`.
const LOCKS: &[(&str, &str)] = &[
    ("java.util.concurrent.locks.ReentrantLock.lock", "a ReentrantLock of Java"),
    ("rb_mutex_lock", "a Mutex of Ruby"),
    ("rb_mutex_synchronize", "a Mutex of Ruby"),
];
/// Beginning of the names of Ruby's own functions. They call each other, and not the program.
const RUBY: &str = "rb_";

/// Functions of SQLite in which a thread sleeps and tries again while another thread or process writes to the database.
/// The second function has this name in versions of SQLite before 3.29. The symbol table of a library may lack some of
/// the functions. Source: SQLite's documentation of sqlite3_busy_timeout(), and its files main.c and btree.c.
const SQLITE_WAITS: [&str; 3] = ["sqlite3InvokeBusyHandler", "btreeInvokeBusyHandler", "sqliteDefaultBusyCallback"];

/// Returns true if a function of a stack belongs to [`SQLITE_WAITS`]. The translation of SQLite to Go has the same
/// functions, with an underscore: `modernc.org/sqlite/lib._sqliteDefaultBusyCallback`.
fn waits_for_sqlite(function: &str) -> bool {
    let name = function.split(' ').next().unwrap_or_default();
    let name = name.rsplit(['.', '/']).next().unwrap_or_default();
    SQLITE_WAITS.contains(&name.trim_start_matches('_'))
}

/// Returns the locks of libraries for which requests wait, at most one for each process name.
pub(super) fn causes(profile: &WaitProfile, requests: &Requests) -> Vec<WaitFinding> {
    let lock =
        |process| sqlite_lock(profile, process, requests).or_else(|| lock_of_runtime(profile, process, requests));
    profile.processes.iter().filter_map(lock).collect()
}

/// Returns the lock of [`LOCKS`] for which most requests of a process wait.
fn lock_of_runtime(profile: &WaitProfile, process: &WaitProcess, requests: &Requests) -> Option<WaitFinding> {
    let of = |(waits, lock): &(&str, &'static str)| {
        let (waiting, caller) = callers_of(profile, process, waits);
        (waiting, *lock, if waits.starts_with(RUBY) { "" } else { caller })
    };
    let (waiting, lock, function) = LOCKS.iter().map(of).max_by(|(a, ..), (b, ..)| a.total_cmp(b))?;
    let of = process.threads.max(waiting);
    (waiting >= WAIT_QUEUE && requests.are_held_by(waiting)).then(|| WaitFinding {
        cause: WaitCause::Lock,
        name: lock.into(),
        process: process.process.clone(),
        threads: waiting,
        of,
        function: function.into(),
        share: waiting / of,
        ..WaitFinding::default()
    })
}

/// Returns the lock of a SQLite database for which threads or goroutines of a process wait. If nearly all threads of a
/// process wait, further requests wait for a thread.
fn sqlite_lock(profile: &WaitProfile, process: &WaitProcess, requests: &Requests) -> Option<WaitFinding> {
    let waiting = threads_in(profile, process, waits_for_sqlite);
    let tasks: f64 = profile.tasks.iter().filter(|task| task.process == process.process).map(|task| task.tasks).sum();
    let (of, counted) =
        if tasks > 0.0 { (tasks, CountedKind::Goroutines) } else { (process.threads, CountedKind::Threads) };
    let is_most = counted == CountedKind::Threads && waiting >= WAIT_MOSTLY * of;
    (waiting >= WAIT_MOSTLY && (is_most || requests.are_held_by(waiting))).then(|| WaitFinding {
        cause: WaitCause::Lock,
        name: match locked_database(profile, process) {
            Some(path) => format!("the write lock of the SQLite database {path}"),
            None => "the write lock of SQLite".into(),
        },
        process: process.process.clone(),
        counted,
        threads: waiting,
        of: of.max(waiting),
        share: (waiting / of.max(waiting)).min(1.0),
        ..WaitFinding::default()
    })
}

/// Returns the path of the database that was locked while threads of a process slept. If several databases were locked,
/// returns the one for which most threads slept.
fn locked_database<'a>(profile: &'a WaitProfile, process: &WaitProcess) -> Option<&'a str> {
    let sleeping = profile.groups.iter().filter(|g| g.process == process.process && g.state == ThreadState::Sleep);
    let named = sleeping.filter(|group| !group.key.is_empty());
    named.max_by(|a, b| a.threads.total_cmp(&b.threads)).map(|group| group.key.as_str())
}

/// Returns the name of the lock for which threads in the function wait. Returns `None` for other functions.
pub(super) fn lock_of(function: &str) -> Option<&'static str> {
    LOCKS.iter().find(|(waits, _)| *waits == function).map(|(_, lock)| *lock)
}

/// Returns true for the name of a lock in [`LOCKS`].
pub(super) fn is_named(name: &str) -> bool {
    LOCKS.iter().any(|(_, lock)| *lock == name)
}

/// Beginnings of the functions in which idle threads of a pool wait for work. A futex looks the same, in memory and in
/// its number of waiting threads, for idle threads and for a lock. Source: CPython's Lib/concurrent/futures/thread.py
/// and Lib/multiprocessing/pool.py. Runs of earlier versions of loadline lack the module before the function.
const WORK_QUEUES: &[&str] = &[
    "concurrent.futures.thread._worker (thread.py",
    "multiprocessing.pool.worker (pool.py",
    "_worker (thread.py",
    "worker (pool.py",
];

/// Returns true if threads that wait in the function are idle.
pub(super) fn is_work_queue(function: &str) -> bool {
    WORK_QUEUES.iter().any(|start| function.starts_with(start))
}

#[cfg(test)]
mod tests {
    use run::{StackProfile, StackSum, TaskGroup, TaskState};

    use super::super::tests::{clients, process};
    use super::super::waits;
    use super::*;

    /// Returns the cause and the sentence for threads in `state` whose stacks end in `frames`.
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

    /// In a stripped library, only a function between the sleep and the busy handler has no name. All threads of the
    /// pool wait, and further requests queue. An earlier version of loadline said that the workers sleep.
    #[test]
    fn a_pool_whose_threads_all_wait_for_sqlite_is_no_pool_that_is_too_small() {
        let key = "/srv/app.db";
        let mut profile = process(9.0, &[(ThreadState::Sleep, key, 7.0), (ThreadState::Sleep, "", 2.0)]);
        profile.clients = Some(clients(9.0, 30.0));
        let (cause, said) =
            told(profile, "sqlite3_step;sqlite3InvokeBusyHandler;[libsqlite3.so];sqlite3OsSleep;usleep");
        let wanted = "8 of 9 threads of app:7 wait for one lock (the write lock of the SQLite database /srv/app.db)";
        assert_eq!((cause, said.as_str()), (WaitCause::Lock, wanted));
    }

    #[test]
    fn goroutines_that_sleep_until_sqlite_is_free_wait_for_a_lock() {
        let mut profile = process(5.0, &[(ThreadState::Sleep, "/srv/app.db", 1.0), (ThreadState::Futex, "", 4.0)]);
        profile.clients = Some(clients(8.0, 0.0));
        let (process, state, function) = ("app:7".to_string(), TaskState::Sleep, "modernc.org/libc.Xusleep".into());
        profile.tasks = vec![TaskGroup { process, state, function, tasks: 10.0, ..TaskGroup::default() }];
        let (cause, said) = told(profile, "modernc.org/sqlite/lib._sqliteDefaultBusyCallback (sqlite.go:9);time.Sleep");
        let wanted =
            "8 of 10 goroutines of app:7 wait for one lock (the write lock of the SQLite database /srv/app.db)";
        assert_eq!((cause, said.as_str()), (WaitCause::Lock, wanted));
    }

    #[test]
    fn a_few_writers_among_many_requests_are_no_cause() {
        let mut profile = process(60.0, &[(ThreadState::Sleep, "/srv/app.db", 8.0), (ThreadState::Events, "", 52.0)]);
        profile.clients = Some(clients(40.0, 0.0));
        let waiting = vec![StackSum { stack: "app;sqlite3InvokeBusyHandler;usleep".into(), weight: 8.0 }];
        profile.stacks = Some(StackProfile { waiting, ..StackProfile::default() });
        assert!(waits(&profile, &[]).iter().all(|found| found.cause != WaitCause::Lock));
    }

    /// This test repeats a situation that was observed with a server in Ruby that has one thread for each connection. An
    /// earlier version of loadline named no cause, because no request stayed unread.
    #[test]
    fn threads_of_ruby_that_wait_for_a_mutex_wait_for_a_lock() {
        let mut profile = process(17.0, &[(ThreadState::Futex, "", 8.0), (ThreadState::Events, "", 9.0)]);
        profile.clients = Some(clients(8.5, 0.0));
        let (cause, said) = told(profile.clone(), "rb_vm_exec;rb_mutex_synchronize;rb_mutex_lock;pthread_cond_wait");
        assert_eq!((cause, said.as_str()), (WaitCause::Lock, "8 of 17 threads of app:7 wait for a Mutex of Ruby"));
        // The holder of the lock sleeps in a block of the same function.
        let waiting = vec![StackSum { stack: "app;rb_mutex_synchronize;rb_thread_wait_for;ppoll".into(), weight: 8.0 }];
        profile.stacks = Some(StackProfile { waiting, ..StackProfile::default() });
        assert!(waits(&profile, &[]).iter().all(|found| found.cause != WaitCause::Lock));
    }

    #[test]
    fn threads_of_java_that_wait_for_a_lock_are_told_from_those_that_wait_for_work() {
        let mut profile = process(20.0, &[(ThreadState::Futex, "", 19.0), (ThreadState::Sleep, "", 1.0)]);
        profile.clients = Some(clients(9.0, 0.0));
        let park = "java.util.concurrent.locks.LockSupport.park;jdk.internal.misc.Unsafe.park;pthread_cond_wait";
        let lock = format!("java.lang.Thread.run;Tickets.book;java.util.concurrent.locks.ReentrantLock.lock;{park}");
        let (cause, said) = told(profile.clone(), &lock);
        let wanted = "8 of 20 threads of app:7 wait for a ReentrantLock of Java in Tickets.book";
        assert_eq!((cause, said.as_str()), (WaitCause::Lock, wanted));
        let idle = format!("app;main;java.util.concurrent.ThreadPoolExecutor.getTask;{park}");
        profile.stacks =
            Some(StackProfile { waiting: vec![StackSum { stack: idle, weight: 8.0 }], ..StackProfile::default() });
        assert!(waits(&profile, &[]).iter().all(|found| found.cause != WaitCause::Lock));
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
