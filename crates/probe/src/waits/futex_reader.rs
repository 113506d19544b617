//! Reads the futexes for which threads wait, and the activity of each futex's owner.

use std::collections::BTreeMap;

use sys::remote_memory;

use super::futex::{self, Wait, Waits};
use super::process::Process;
use super::round::{FutexSample, ThreadSample};
use super::thread_reader::ThreadReader;

/// If threads wait for `MAX_LONE_FUTEXES` or more different futexes, futexes for which only one thread waits are not
/// read.
const MAX_LONE_FUTEXES: usize = 64;

/// Reads each futex, and the activity of its owner. `processes` are the processes that the current sampling round has
/// read. `reader` reads the owners' threads.
pub(super) fn read(
    processes: &mut BTreeMap<u32, Process>,
    mut reader: ThreadReader<'_>,
    waits: &Waits,
) -> Vec<FutexSample> {
    let mut processes: Vec<&mut Process> = processes.values_mut().collect();
    let is_read = |waiters: u32| waiters > 1 || waits.len() < MAX_LONE_FUTEXES;
    let counted = waits.iter().filter(|(_, (_, waiters))| is_read(*waiters));
    let read = |(&(index, address), &(wait, _)): (&(usize, u64), &(Wait, u32))| {
        let process = processes.get_mut(index)?;
        let sample = read_futex(process, (index, address), wait, waits)?;
        reader.index = index;
        let owner = sample.owner.and_then(|owner| reader.read(process, owner));
        let again = owner.as_ref().and_then(|_| read_futex(process, (index, address), wait, waits));
        Some(FutexSample { holder: owner_if_same(owner, again), ..sample })
    };
    counted.filter_map(read).collect()
}

/// Returns the reading of the owner's thread if the futex still has this owner after the reading. If the owner has
/// changed, returns `None`, because the thread may not have owned the futex when the thread was read.
fn owner_if_same(owner: Option<ThreadSample>, again: Option<FutexSample>) -> Option<ThreadSample> {
    let owner_after = again?.owner;
    owner.filter(|thread| owner_after == Some(thread.tid))
}

/// Reads and classifies the memory of a futex.
fn read_futex(process: &Process, (index, address): (usize, u64), wait: Wait, waits: &Waits) -> Option<FutexSample> {
    let mut memory = [0; futex::BYTES];
    remote_memory::read(process.pid, address.checked_sub(futex::BYTES_BEFORE)?, &mut memory).ok()?;
    let at = |address| waits.get(&(index, address)).map_or(0, |(_, waiters)| *waiters);
    let pair = at(address) + at(address.wrapping_sub(4)) + at(address.wrapping_add(4));
    let is_thread = |id| process.thread_by_own_id(id).is_some();
    let object = futex::classify(wait, &memory, (at(address), pair), is_thread);
    let owner = object.owner.and_then(|id| process.thread_by_own_id(id));
    Some(FutexSample { process: index, address, kind: object.kind, owner, holder: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_no_longer_owns_the_futex_is_no_holder() {
        let thread = ThreadSample { tid: 7, ..ThreadSample::default() };
        let owned_by = |owner| Some(FutexSample { owner, ..FutexSample::default() });
        assert_eq!(owner_if_same(Some(thread.clone()), owned_by(Some(7))), Some(thread.clone()));
        assert_eq!(owner_if_same(Some(thread.clone()), owned_by(Some(8))), None, "another owner");
        assert_eq!(owner_if_same(Some(thread.clone()), owned_by(None)), None, "free");
        assert_eq!(owner_if_same(Some(thread), None), None, "the futex could not be read again");
    }
}
