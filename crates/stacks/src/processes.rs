//! All observed processes, each opened once.

use std::collections::HashMap;

use crate::images::Images;
use crate::process::Process;

/// Maximum number of processes that may be open at the same time.
const MAX_PROCESSES: usize = 1024;

/// All observed processes, each opened once. Program files that several processes run are read only once.
#[derive(Default)]
pub struct Processes {
    images: Images,
    open: HashMap<u32, Option<Process>>,
}

impl Processes {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty collection that uses the program files in `images`.
    pub fn with_images(images: Images) -> Self {
        Self { images, open: HashMap::new() }
    }

    /// Returns the CPU time for reading program files so far: see [`Images::reading_cpu_ns`].
    pub fn reading_cpu_ns(&self) -> u64 {
        self.images.reading_cpu_ns()
    }

    /// Returns process `pid`. The first call opens the process. Returns `None` if the process could not be opened, or
    /// if too many processes are open.
    pub fn get(&mut self, pid: u32) -> Option<&mut Process> {
        if !self.open.contains_key(&pid) && self.open.len() >= MAX_PROCESSES {
            return None;
        }
        let images = &self.images;
        self.open.entry(pid).or_insert_with(|| images.cost.count(|| Process::open(pid, images).ok())).as_mut()
    }

    /// Closes a process that has ended. The next call of [`Processes::get`] with its ID opens the process that has got
    /// this ID since then.
    pub fn close(&mut self, pid: u32) {
        self.open.remove(&pid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_process_makes_room_for_others() {
        let mut processes = Processes::new();
        assert!((0..MAX_PROCESSES as u32).all(|n| processes.get(u32::MAX - n).is_none()));
        assert!(processes.get(std::process::id()).is_none(), "too many processes");
        processes.close(u32::MAX);
        assert!(processes.get(std::process::id()).is_some());
    }
}
