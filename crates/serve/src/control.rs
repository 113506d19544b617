//! State that all threads of a server share: the code that starts and stops the threads, and their counters.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sys::socket;
use sys::wake::Waker;

use crate::ServeError;
use crate::stats::{Cell, Stats};
use crate::strategies::LimitHit;

/// Maximum number of stored addresses of peers whose connections were closed because of a limit.
const MAX_NAMED_PEERS: usize = 16;
/// Stack size of a serving thread, bytes. The stack is small, because buffers are on the heap.
const STACK_BYTES: usize = 256 * 1024;

/// State that all threads of a server share.
#[derive(Default)]
pub(crate) struct Control {
    stop: AtomicBool,
    wakers: Mutex<Vec<Arc<Waker>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    cells: Mutex<Vec<Arc<Cell>>>,
    threads_now: AtomicU64,
    threads_peak: AtomicU64,
    closed_peers: Mutex<Vec<String>>,
    pub(crate) failed: Mutex<Vec<String>>,
    pub(crate) notes: Mutex<Vec<String>>,
    cpus: Vec<u32>,
    /// Maximum number of concurrent threads; `None` for no limit.
    max_threads: Option<u64>,
}

/// Locks a mutex, even if another thread panicked while it held the lock. The values in the server's mutexes are valid
/// at all times, even after a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Control {
    /// Creates the state of a server. `cpus` are the CPUs on which the threads may run; empty for all.
    pub(crate) fn new(cpus: &[u32], max_threads: Option<u64>) -> Arc<Self> {
        Arc::new(Self { cpus: cpus.to_vec(), max_threads, ..Self::default() })
    }

    #[inline]
    pub(crate) fn stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        for waker in lock(&self.wakers).iter() {
            waker.wake();
        }
    }

    pub(crate) fn join(&self) {
        // Threads may start further threads before they end. The list of threads is therefore emptied again and again
        // until no new thread appears in it.
        while let Some(thread) = { lock(&self.threads).pop() } {
            if thread.join().is_err() {
                self.fail("a serving thread panicked".into());
            }
        }
        // Detached threads (threads whose handles are not stored) end when their sockets are shut down. The model
        // `blocking` has two detached threads per connection.
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.threads_now.load(Ordering::Relaxed) > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = Stats {
            threads: self.threads_now.load(Ordering::Relaxed),
            threads_peak: self.threads_peak.load(Ordering::Relaxed),
            closed_peers: lock(&self.closed_peers).clone(),
            ..Stats::default()
        };
        lock(&self.cells).iter().for_each(|cell| cell.add_to(&mut stats));
        stats
    }

    /// Creates the counters for one more thread.
    pub(crate) fn cell(&self) -> Arc<Cell> {
        let cell = Arc::new(Cell::default());
        lock(&self.cells).push(cell.clone());
        cell
    }

    /// Creates an eventfd that is signalled when the server stops. Other code may signal the returned eventfd for other
    /// reasons.
    pub(crate) fn waker(&self) -> Result<Arc<Waker>, ServeError> {
        let waker = Arc::new(Waker::new().map_err(|e| ServeError::os("make an eventfd", e))?);
        lock(&self.wakers).push(waker.clone());
        if self.stopping() {
            waker.wake();
        }
        Ok(waker)
    }

    /// Starts a serving thread. If `run` returns an error, the error is stored for
    /// [`Server::failures`](crate::Server::failures).
    pub(crate) fn spawn(
        self: &Arc<Self>,
        name: &str,
        run: impl FnOnce() -> Result<(), ServeError> + Send + 'static,
    ) -> Result<(), ServeError> {
        let handle = self.spawn_detached(name, run)?;
        lock(&self.threads).push(handle);
        Ok(())
    }

    /// Starts a thread like [`Control::spawn`], but returns its handle instead of storing it. `join` waits at most 10 s
    /// for threads whose handles are not stored.
    pub(crate) fn spawn_detached(
        self: &Arc<Self>,
        name: &str,
        run: impl FnOnce() -> Result<(), ServeError> + Send + 'static,
    ) -> Result<JoinHandle<()>, ServeError> {
        if self.max_threads.is_some_and(|most| self.threads_now.load(Ordering::Relaxed) >= most) {
            return Err(ServeError::Thread { why: "option max_threads allows no more".into() });
        }
        let control = self.clone();
        // The thread is counted before it runs. The count of threads therefore includes every thread that has started.
        let counted = ThreadCount::new(&control);
        let body = move || {
            let confined = if control.cpus.is_empty() {
                Ok(())
            } else {
                sys::limits::confine_to_cpus(&control.cpus)
                    .map_err(|e| ServeError::os("confine a thread to its CPUs", e))
            };
            if let Err(e) = confined.and_then(|()| run()) {
                control.fail(e.to_string());
            }
            drop(counted);
        };
        let builder = std::thread::Builder::new().name(format!("serve-{name}")).stack_size(STACK_BYTES);
        builder.spawn(body).map_err(|error| ServeError::no_thread(&error))
    }

    pub(crate) fn fail(&self, what: String) {
        lock(&self.failed).push(what);
    }

    /// Adds a note for the user while the server starts.
    pub(crate) fn note(&self, text: String) {
        lock(&self.notes).push(text);
    }

    /// Records the address of a peer whose connection is closed because of a limit. The connection is later closed by a
    /// reset, unless the peer still gets an error response.
    pub(crate) fn close_at_limit(&self, hit: LimitHit, fd: Option<impl AsFd + Copy>) {
        let addr = fd.and_then(|fd| socket::peer_addr(fd).ok());
        let peer = addr.map_or_else(|| "a peer".to_owned(), |addr| addr.to_string());
        let mut peers = lock(&self.closed_peers);
        if peers.len() == MAX_NAMED_PEERS {
            peers.remove(0);
        }
        peers.push(format!("{peer} {}", hit.words()));
        if let Some(fd) = fd.filter(|_| hit != LimitHit::SlowHead) {
            // The connection is reset, because the kernel would otherwise keep the unread output until a timeout
            // expires.
            let _ = socket::set_reset_on_close(fd);
        }
    }
}

/// Counts a thread as running until this value is dropped.
struct ThreadCount {
    control: Arc<Control>,
}

impl ThreadCount {
    fn new(control: &Arc<Control>) -> Self {
        let now = control.threads_now.fetch_add(1, Ordering::Relaxed) + 1;
        control.threads_peak.fetch_max(now, Ordering::Relaxed);
        Self { control: control.clone() }
    }
}

impl Drop for ThreadCount {
    fn drop(&mut self) {
        self.control.threads_now.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
