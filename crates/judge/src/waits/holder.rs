//! Facts about the thread that holds a lock (the holder): its name, its usual activity, and the function in which it
//! waits.

use std::collections::BTreeMap;

use run::{FutexProfile, HolderFunction, HolderState, HolderThread, ThreadState};

use stats::shares::chance_above_half;

use crate::thresholds::{HOLDER_SURE, WAIT_FEW, WAIT_MOSTLY};

/// Returns what the holder of a lock does in most samples, with the most frequent object, such as a file. Returns
/// `None` if the samples are so few that chance may explain the result.
///
/// A holder that is ready to run, but does not run, waits for a CPU. How long a holder waits for a CPU depends on other
/// programs of the machine. Samples in which the holder waits for a CPU are therefore used only if there are hardly any
/// others.
pub(super) fn activity(futex: &FutexProfile) -> Option<HolderState> {
    // No thread waits for a lock that the thread owns. If the holder seems to wait for its own lock, it got the lock
    // after its state was read, so the state is left out.
    let is_counted = |h: &&HolderState| h.state != ThreadState::Futex || h.key != futex.address;
    let counted: Vec<&HolderState> = futex.holders.iter().filter(is_counted).collect();
    let mut shares: BTreeMap<ThreadState, f64> = BTreeMap::new();
    counted.iter().for_each(|holder| *shares.entry(holder.state).or_default() += holder.share);
    let state = usual(&shares).filter(|state| !may_be_chance(&shares, *state, futex.holder_readings))?;
    let of_state = counted.into_iter().filter(|holder| holder.state == state);
    let most = of_state.max_by(|a, b| a.share.total_cmp(&b.share))?;
    Some(HolderState { share: shares.get(&state).copied().unwrap_or_default(), ..most.clone() })
}

/// Returns the thread that holds a lock in most samples. Returns `None` if the lock passes from thread to thread, or if
/// the samples are so few that chance may explain the result.
pub(super) fn thread(futex: &FutexProfile) -> Option<HolderThread> {
    let most = futex.holder_threads.iter().max_by_key(|thread| thread.readings)?;
    is_most(most.readings, most.share).then(|| most.clone())
}

/// Returns the function in which holders in this state wait in most samples. Returns `None` if no function has most
/// samples, or if the samples are so few that chance may explain the result.
pub(super) fn function(futex: &FutexProfile, state: ThreadState) -> Option<&HolderFunction> {
    let of_state = futex.holder_functions.iter().filter(|function| function.state == state);
    of_state.max_by_key(|function| function.stacks).filter(|most| is_most(most.stacks, most.share))
}

/// Returns true if `hits` samples, which are the share `share` of all samples, show that the true share is above one
/// half.
fn is_most(hits: u64, share: f64) -> bool {
    let count = |n: f64| n.round() as u32;
    let draws = count(hits as f64 / share.clamp(f64::MIN_POSITIVE, 1.0));
    share >= WAIT_MOSTLY && chance_above_half(count(hits as f64), draws) >= HOLDER_SURE
}

/// Returns the state in which a holder is most of the time. Returns `None` if no state has more than half of the
/// samples. `shares` contains the share of the samples in each state.
fn usual(shares: &BTreeMap<ThreadState, f64>) -> Option<ThreadState> {
    let all: f64 = shares.values().sum();
    let ready = shares.get(&ThreadState::Runnable).copied().unwrap_or_default();
    let others = shares.iter().filter(|(state, _)| **state != ThreadState::Runnable);
    let most = others.max_by(|(_, a), (_, b)| a.total_cmp(b));
    let is_usual = |share: f64| all - ready >= WAIT_FEW * all && share >= WAIT_MOSTLY * (all - ready);
    match most.filter(|(_, share)| **share > 0.0 && is_usual(**share)) {
        Some((ThreadState::OnCpu, share)) if ready > *share => Some(ThreadState::Runnable),
        Some((state, _)) => Some(*state),
        None => (ready > 0.0 && ready >= WAIT_MOSTLY * all).then_some(ThreadState::Runnable),
    }
}

/// Returns true if the samples cannot show that the holder spends more than half of its time in `state`. Returns false
/// if the number of readings is unknown (0), as in runs of earlier versions.
fn may_be_chance(shares: &BTreeMap<ThreadState, f64>, state: ThreadState, readings: u64) -> bool {
    let count = |is_counted: &dyn Fn(ThreadState) -> bool| -> u32 {
        let share: f64 = shares.iter().filter(|(other, _)| is_counted(**other)).map(|(_, share)| share).sum();
        (share * readings as f64).round() as u32
    };
    let (hits, draws) = match state {
        ThreadState::Runnable => (count(&ThreadState::wants_cpu), count(&|_| true)),
        _ => (count(&|other| other == state), count(&|other| other != ThreadState::Runnable)),
    };
    readings > 0 && chance_above_half(hits, draws) < HOLDER_SURE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn futex(holders: &[(ThreadState, &str, f64)]) -> FutexProfile {
        let holder = |(state, key, share): &(ThreadState, &str, f64)| HolderState {
            state: *state,
            key: (*key).into(),
            share: *share,
        };
        let holders = holders.iter().map(holder).collect();
        FutexProfile { address: "0x10".into(), holders, ..FutexProfile::default() }
    }

    #[test]
    fn a_holder_that_flushes_a_file_is_told_on_a_machine_with_any_other_load() {
        // `ready` is the percentage of samples in which the holder waits for a CPU. In most other samples, the holder
        // flushes one of two files. In all remaining samples, the holder computes, at least as often as it flushes each
        // file.
        for ready in 0..=70 {
            let ready = f64::from(ready) / 100.0;
            let rest = 1.0 - ready;
            let found = activity(&futex(&[
                (ThreadState::Runnable, "", ready),
                (ThreadState::Disk, "fsync of /log", 0.35 * rest),
                (ThreadState::Disk, "fsync of /log2", 0.3 * rest),
                (ThreadState::OnCpu, "", 0.35 * rest),
            ]));
            let found = found.map(|holder| (holder.state, holder.key));
            assert_eq!(found, Some((ThreadState::Disk, "fsync of /log".into())), "{ready} ready");
        }
    }

    /// In this observed case, the holder of a lock flushed a file for half of the time. Only three samples of the
    /// holder existed, all of them on a CPU.
    #[test]
    fn few_samples_do_not_show_what_the_holder_does() {
        let read = |readings, holders: &[_]| {
            let futex = FutexProfile { holder_readings: readings, ..futex(holders) };
            activity(&futex).map(|holder| holder.state)
        };
        let (run, ready, disk) = (ThreadState::OnCpu, ThreadState::Runnable, ThreadState::Disk);
        assert_eq!(read(3, &[(run, "", 1.0)]), None);
        assert_eq!(read(8, &[(run, "", 1.0)]), Some(run));
        assert_eq!(read(100, &[(ready, "", 0.46), (run, "", 0.28), (disk, "", 0.26)]), Some(ready));
        assert_eq!(read(100, &[(run, "", 0.52), (disk, "", 0.48)]), None);
        assert_eq!(read(100, &[(ready, "", 0.9), (disk, "", 0.06), (run, "", 0.04)]), Some(ready));
        assert_eq!(read(40, &[(disk, "", 0.8), (run, "", 0.2)]), Some(disk));
    }

    #[test]
    fn a_holder_that_computes_is_told_by_whether_it_lacks_a_cpu() {
        let state = |holders: &[_]| activity(&futex(holders)).map(|holder| holder.state);
        let [run, ready, disk] = [ThreadState::OnCpu, ThreadState::Runnable, ThreadState::Disk];
        assert_eq!(state(&[(run, "", 0.6), (ready, "", 0.4)]), Some(run));
        assert_eq!(state(&[(run, "", 0.3), (ready, "", 0.6), (disk, "", 0.1)]), Some(ready));
        assert_eq!(state(&[(ready, "", 0.9), (disk, "", 0.1)]), Some(ready));
        assert_eq!(state(&[(run, "", 0.35), (disk, "", 0.35), (ThreadState::Sleep, "", 0.3)]), None);
        assert_eq!(state(&[]), None);
    }

    #[test]
    fn a_waiter_that_took_the_lock_after_it_was_read_does_not_count() {
        let late = (ThreadState::Futex, "0x10", 0.6);
        let found = activity(&futex(&[late, (ThreadState::Disk, "fsync", 0.4)]));
        assert_eq!(found.map(|holder| holder.state), Some(ThreadState::Disk));
        let other = activity(&futex(&[(ThreadState::Futex, "0x20", 0.6), (ThreadState::Disk, "fsync", 0.4)]));
        assert_eq!(other.map(|holder| holder.state), Some(ThreadState::Futex), "the holder waits for another lock");
    }

    #[test]
    fn a_lock_that_passes_from_thread_to_thread_has_no_single_holder() {
        let held = |readings: &[u64]| {
            let all: u64 = readings.iter().sum();
            let row = |(id, n): (u32, &u64)| HolderThread {
                name: format!("worker-{id}"),
                id,
                readings: *n,
                share: *n as f64 / all as f64,
            };
            let holder_threads = (1..).zip(readings).map(row).collect();
            thread(&FutexProfile { holder_threads, ..FutexProfile::default() }).map(|thread| thread.name)
        };
        assert_eq!(held(&[18, 2]).as_deref(), Some("worker-1"));
        assert_eq!(held(&[2, 18]).as_deref(), Some("worker-2"), "rows in any order");
        assert_eq!(held(&[10, 9]), None);
        assert_eq!(held(&[2]), None, "few samples");
        assert_eq!(held(&[]), None);
    }

    #[test]
    fn the_function_of_a_holder_is_that_of_its_usual_activity() {
        let row = |state, name: &str, stacks, share| HolderFunction { state, function: name.into(), stacks, share };
        let told = |holder_functions, state| {
            let futex = FutexProfile { holder_functions, ..FutexProfile::default() };
            function(&futex, state).map(|row| row.function.clone())
        };
        let (sleep, disk) = (ThreadState::Sleep, ThreadState::Disk);
        let rows = vec![row(disk, "write_log", 9, 0.9), row(sleep, "pause", 3, 1.0), row(disk, "other", 1, 0.1)];
        assert_eq!(told(rows.clone(), disk).as_deref(), Some("write_log"));
        assert_eq!(told(rows, sleep), None, "few stacks");
        assert_eq!(told(vec![row(sleep, "a", 20, 0.4), row(sleep, "b", 20, 0.4)], sleep), None);
    }
}
