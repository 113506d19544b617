//! A running server: its threads and their counters, and the code that stops them.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sys::socket;
use sys::wake::Waker;

use crate::stats::{Cell, Stats};
use crate::strategies::LimitHit;
use crate::{ServeError, Service};

/// Maximum number of stored addresses of peers whose connections were closed because of a limit.
const MAX_NAMED_PEERS: usize = 16;
/// Stack size of a serving thread, bytes. The stack is small, because buffers are on the heap.
const STACK_BYTES: usize = 256 * 1024;

/// A server that runs in threads of this process. Dropping the value stops the server.
pub struct Server {
    local_addr: SocketAddr,
    model: &'static str,
    control: Arc<Control>,
    notes: Vec<String>,
    service: Option<Arc<dyn Service>>,
}

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
    failed: Mutex<Vec<String>>,
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

impl Server {
    /// Creates the [`Server`] for the running threads of an I/O model or of a standalone service.
    pub(crate) fn new(local_addr: SocketAddr, model: &'static str, control: Arc<Control>) -> Self {
        let notes = std::mem::take(&mut *lock(&control.notes));
        Self { local_addr, model, control, notes, service: None }
    }

    /// Adds the service's own counters to the server's counters.
    pub(crate) fn add_counts_of(&mut self, service: Arc<dyn Service>) {
        self.service = Some(service);
    }

    /// Adds a note for the user.
    pub(crate) fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// Returns the address on which the server listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Returns the I/O model in use. If another model was requested, [`Server::notes`] gives the reason.
    pub fn model(&self) -> &'static str {
        self.model
    }

    /// Returns notes for the user, such as a fallback to another model.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Tells all threads to stop. The threads close their connections immediately.
    pub fn stop(&self) {
        self.control.stop();
    }

    /// Waits until all threads have ended. Returns the final counts of the server.
    pub fn join(self) -> Stats {
        self.control.join();
        self.stats()
    }

    /// Returns the counts from the start of the server until now.
    pub fn stats(&self) -> Stats {
        let mut stats = self.control.stats();
        if let Some(service) = &self.service {
            service.add_to(&mut stats);
        }
        stats
    }

    /// Returns the errors of threads that ended before the server was stopped.
    pub fn failures(&self) -> Vec<String> {
        lock(&self.control.failed).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.control.stop();
        self.control.join();
    }
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

    fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        for waker in lock(&self.wakers).iter() {
            waker.wake();
        }
    }

    fn join(&self) {
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

    fn stats(&self) -> Stats {
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

    /// Starts a serving thread. If `run` returns an error, it is stored for [`Server::failures`].
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
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn the_maximum_number_of_threads_is_not_exceeded() {
        let control = Control::new(&[], Some(1));
        let (release, held) = channel::<()>();
        control.spawn("first", move || held.recv().map_err(|_| unreachable!())).unwrap();
        let error = control.spawn("second", || Ok(())).unwrap_err().to_string();
        assert!(error.contains("max_threads"), "{error}");
        release.send(()).unwrap();
        control.join();
        let stats = control.stats();
        assert_eq!((stats.threads, stats.threads_peak), (0, 1));
    }

    #[test]
    fn a_thread_that_fails_or_panics_is_reported() {
        let control = Control::new(&[], None);
        control.spawn("fails", || Err(ServeError::Combination("no luck".into()))).unwrap();
        control.spawn("panics", || std::panic::resume_unwind(Box::new(()))).unwrap();
        control.join();
        let failed = lock(&control.failed).clone();
        assert!(failed.contains(&"no luck".to_owned()), "{failed:?}");
        assert!(failed.iter().any(|f| f.contains("panicked")) && failed.len() == 2, "{failed:?}");
    }

    #[test]
    fn only_the_last_closed_peers_are_kept() {
        let control = Control::new(&[], None);
        for n in 0..MAX_NAMED_PEERS + 5 {
            let hit = if n == MAX_NAMED_PEERS + 4 { LimitHit::Unread } else { LimitHit::Silent };
            control.close_at_limit(hit, None::<std::os::fd::BorrowedFd<'_>>);
        }
        let peers = control.stats().closed_peers;
        assert_eq!(peers.len(), MAX_NAMED_PEERS);
        assert_eq!(peers.last().unwrap(), "a peer sends and does not read");
        assert_eq!(peers[0], "a peer is silent");
    }

    #[test]
    fn stopping_wakes_waiting_threads_and_later_ones() {
        let control = Control::new(&[], None);
        let waker = control.waker().unwrap();
        control.stop();
        let late = control.waker().unwrap();
        for waker in [waker, late] {
            let mut entries = [sys::poll::Entry::new(std::os::fd::AsRawFd::as_raw_fd(&*waker), sys::poll::IN)];
            sys::poll::poll(&mut entries, Some(0)).unwrap();
            assert_ne!(entries[0].found(), 0);
        }
    }

    #[test]
    fn the_counts_of_all_threads_are_added_up() {
        let control = Control::new(&[], None);
        let (first, second) = (control.cell(), control.cell());
        first.opened();
        first.opened();
        first.closed(crate::connection::End::Fault);
        second.opened_shared();
        second.closed_shared(crate::connection::End::Reset);
        second.limit_counter(LimitHit::SlowHead).add(2);
        let stats = control.stats();
        assert_eq!((stats.accepted, stats.connections, stats.connections_peak), (3, 1, 3));
        assert_eq!((stats.faults, stats.resets, stats.closed_slow), (1, 1, 2));
    }
}
