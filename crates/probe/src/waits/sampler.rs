//! Thread that samples the server's threads. The number of rounds per second (readings of all threads) follows from the
//! measured cost of a round.

mod round;
mod shared;
mod work;

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use run::WaitProfile;
use stacks::Images;

use super::reader::Reader;
use shared::{Shared, lock};
use work::Work;

/// Samples the threads of a server, on a thread of its own.
#[derive(Debug)]
pub struct WaitSampler {
    shared: Arc<(Mutex<Shared>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl WaitSampler {
    /// Starts to sample the processes `pids`, their children and their upstream services. `netns_pid` is a process in
    /// the network namespace of `pids`, if that differs from the caller's. If the caller gives `images` (program files
    /// already read), the sampler also samples stacks and names locks.
    pub fn start(pids: Vec<u32>, netns_pid: Option<u32>, images: Option<Images>) -> std::io::Result<Self> {
        let shared = Arc::new((Mutex::new(Shared::default()), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let work = move || Work::new(Reader::new(pids, netns_pid), images).run(&theirs);
        let thread = std::thread::Builder::new().name("loadline-waits".into()).spawn(work)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Returns the profile so far, while sampling continues.
    pub fn so_far(&self) -> WaitProfile {
        let (shared, changed) = &*self.shared;
        let mut state = lock(shared);
        state.wanted = true;
        changed.notify_all();
        while state.wanted && self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            let waited = changed.wait_timeout(state, Duration::from_millis(50));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.profile.clone()
    }

    /// Marks the start of the measurement at the first call, and its end at the second call. Rounds outside of the
    /// measurement show a load that builds up or drains, so they do not count. If this function is never called, all
    /// rounds count.
    pub fn edge(&self) {
        lock(&self.shared.0).edges += 1;
        self.shared.1.notify_all();
    }

    /// Stops sampling and returns the profile.
    pub fn finish(mut self) -> WaitProfile {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // Only a bug ends the sampler's thread early. If the thread ended early, the profile is empty.
            let _ = thread.join();
        }
        lock(&self.shared.0).profile.clone()
    }

    fn stop(&self) {
        lock(&self.shared.0).stop = true;
        self.shared.1.notify_all();
    }
}

impl Drop for WaitSampler {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests;
