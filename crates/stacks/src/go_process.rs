//! Reads the goroutines of a process, and the stacks of waiting goroutines.

use crate::goroutines::{Entry, Goroutine, Goroutines, IN_CALL, RUNNABLE, RUNNING, WAITING};
use crate::process::Process;

impl Process {
    /// Returns true if the goroutines of this process can be read.
    pub fn has_goroutines(&self) -> bool {
        self.go.is_some()
    }

    /// Reads at most `max` goroutines, spread over the runtime's list. Leaves out goroutines of the runtime itself.
    /// Returns `None` for a program that is not written in Go, for a stripped program, and if the runtime's list of
    /// goroutines cannot be read.
    pub fn goroutines(&mut self, max: u64) -> Option<Goroutines> {
        let go = self.go.as_mut()?;
        let (read, listed_per_read) = go.read(max)?;
        let max_running = go.max_running();
        let goroutine = |Entry { status, pc, sp }| {
            Some(match status {
                RUNNING => Goroutine::Running,
                RUNNABLE => Goroutine::Runnable,
                IN_CALL => Goroutine::InCall,
                WAITING => {
                    let stack = self.unwind_waiting(pc, sp, &[]);
                    Goroutine::Waiting(self.frames(&stack)).filter_own()?
                }
                _ => return None,
            })
        };
        Some(Goroutines { goroutines: read.into_iter().filter_map(goroutine).collect(), listed_per_read, max_running })
    }
}
