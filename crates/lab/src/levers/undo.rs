//! Changes of an experiment, which are undone when the experiment ends.
//!
//! - An experiment locks each resource that it changes. A second experiment that needs a locked resource is refused.
//!   The lock is on the kernel's own object for the resource: a file of a control group, or a process. The lock
//!   excludes experiments of all users and containers, and the kernel releases it when the process ends.
//! - While a change is in effect, a record of the earlier state exists. If the resource of a record is not locked, the
//!   experiment that wrote the record was killed. [`put_back`] undoes the changes of killed experiments. Every loadline
//!   command that measures calls [`put_back`] first.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::change::{Change, Lock, Resource};
use super::record::{self, Record};

/// Maximum time to wait for a lock. Other commands hold a lock for milliseconds, to undo an old change, but an
/// experiment holds a lock for seconds to minutes.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

/// Changes of resources that this process has locked. Dropping this value undoes the changes.
pub struct Undo {
    changes: Vec<Change>,
    record: Option<PathBuf>,
    _locks: Vec<Lock>,
}

impl Undo {
    /// Prepares a change of some resources. First locks the resources, and undoes changes that a killed experiment has
    /// left. Then calls `plan`, which reads the state of the locked resources and returns the planned changes. This
    /// function does not make the planned changes.
    pub(crate) fn prepare(
        resources: impl IntoIterator<Item = Resource>,
        plan: impl Fn() -> Result<Vec<Change>, String>,
    ) -> Result<Self, String> {
        put_back();
        let resources = in_order(resources.into_iter());
        let locks = lock(&resources, LOCK_TIMEOUT)?;
        // Undoes changes that a killed experiment made while it held the locks.
        put_back_in(&resources);
        let changes = plan()?;
        Ok(Self { changes, record: None, _locks: locks })
    }

    /// Makes the changes, or undoes them.
    pub(crate) fn switch(&mut self, on: bool) -> Result<(), String> {
        if !on {
            return self.undo();
        }
        self.record = Some(Record::write(&self.changes)?);
        self.changes.iter().try_for_each(Change::make)
    }

    /// Returns the resources as paths of kernel files.
    pub(super) fn resources(&self) -> Vec<String> {
        self.changes.iter().map(|change| change.resource().path().display().to_string()).collect()
    }

    fn undo(&mut self) -> Result<(), String> {
        undo_all(&self.changes)?;
        self.record.take().map_or(Ok(()), |path| record::remove(&path))
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        // If a change cannot be undone, its record stays, so that the next loadline command tries again.
        if self.record.is_some() {
            let _ = self.undo();
        }
    }
}

/// Undoes all changes and returns those that were in effect. If some changes cannot be undone, returns the first error.
fn undo_all(changes: &[Change]) -> Result<Vec<&Change>, String> {
    let results: Vec<_> =
        changes.iter().map(|change| change.undo().map(|was_made| was_made.then_some(change))).collect();
    results.into_iter().filter_map(Result::transpose).collect()
}

/// Sorts the resources, so that all experiments lock them in the same order, and removes duplicates.
fn in_order(resources: impl Iterator<Item = Resource>) -> Vec<Resource> {
    resources.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Locks all of the resources, or none if one of them cannot be locked.
fn lock(resources: &[Resource], timeout: Duration) -> Result<Vec<Lock>, String> {
    let deadline = Instant::now() + timeout;
    resources.iter().map(|resource| lock_one(resource, deadline)).collect()
}

fn lock_one(resource: &Resource, deadline: Instant) -> Result<Lock, String> {
    let path = resource.path();
    loop {
        match resource.try_lock() {
            Ok(Some(lock)) => return Ok(lock),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(LOCK_INTERVAL),
            Ok(None) => {
                return Err(format!(
                    "another loadline command is changing {} at this moment: wait until it has ended",
                    path.display()
                ));
            }
            Err(e) => return Err(format!("locking {}: {e}", path.display())),
        }
    }
}

/// Undoes changes that killed experiments of this user left on this host. Returns a sentence for the user about each
/// experiment, with a reason if its changes could not be undone.
pub fn put_back() -> Vec<String> {
    record::paths().into_iter().filter_map(|path| settle(&path, &[])).collect()
}

/// Undoes changes that killed experiments left on resources that this process has locked.
fn put_back_in(locked: &[Resource]) {
    record::paths().into_iter().for_each(|path| drop(settle(&path, locked)));
}

/// Undoes the changes in a record, unless another process has locked one of its resources. Returns a sentence for the
/// user if something was undone or could not be undone.
fn settle(path: &Path, locked: &[Resource]) -> Option<String> {
    let changes = Record::read(path)?.changes;
    // A resource that no longer exists needs no undoing, and cannot be locked.
    let is_free = |resource: &Resource| !locked.contains(resource) && resource.path().exists();
    let to_lock = changes.iter().map(Change::resource).filter(is_free);
    let _locks = lock(&in_order(to_lock), Duration::ZERO).ok()?;
    // The experiment may have ended and undone its changes since the record was read.
    let changes = Record::read(path)?.changes;
    match undo_all(&changes) {
        Ok(undone) => {
            // If the removal fails, the next command finds the record and has nothing to undo.
            let _ = record::remove(path);
            let sentences: Vec<String> = undone.into_iter().map(Change::undone).collect();
            (!sentences.is_empty())
                .then(|| format!("changes left by a killed experiment were undone: {}", sentences.join(", ")))
        }
        Err(why) => Some(format!("changes left by a killed experiment could not be undone: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::eventually;

    /// A sleeping process, which is killed when this value is dropped.
    struct Sleeper(std::process::Child);

    impl Sleeper {
        fn start() -> Self {
            Self(std::process::Command::new("sleep").arg("60").spawn().unwrap())
        }

        fn stopped(&self) -> bool {
            probe::is_stopped(self.0.id())
        }

        fn prepare(&self) -> Result<Undo, String> {
            Undo::prepare([Resource::RunState(self.0.id())], || Ok(vec![Change::stop(self.0.id())?]))
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_stopped_process_continues_when_the_value_goes() {
        let sleeper = Sleeper::start();
        let mut undo = sleeper.prepare().unwrap();
        assert!(undo.record.is_none() && !sleeper.stopped());
        undo.switch(true).unwrap();
        eventually(|| sleeper.stopped().then_some(()));
        let record = undo.record.clone().unwrap();
        put_back();
        assert!(record.exists() && sleeper.stopped(), "its experiment lives");
        drop(undo);
        eventually(|| (!sleeper.stopped()).then_some(()));
        assert!(!record.exists());
    }

    #[test]
    fn a_second_experiment_on_the_same_process_is_refused_until_the_first_ends() {
        let sleeper = Sleeper::start();
        let mut first = sleeper.prepare().unwrap();
        first.switch(true).unwrap();
        let why = sleeper.prepare().err().unwrap();
        assert!(why.contains("another loadline command"), "{why}");
        drop(first);
        sleeper.prepare().unwrap();
    }

    #[test]
    fn a_killed_experiment_is_undone_by_the_next_command_and_by_the_next_experiment() {
        for next in [|_: &Sleeper| drop(put_back()), |sleeper: &Sleeper| drop(sleeper.prepare().unwrap())] {
            let sleeper = Sleeper::start();
            let mut undo = sleeper.prepare().unwrap();
            undo.switch(true).unwrap();
            eventually(|| sleeper.stopped().then_some(()));
            let record = undo.record.clone().unwrap();
            assert!(record.exists());
            // If a process is killed, its locks are released, but its destructors do not run. From now on, any loadline
            // command on this machine may undo the change.
            undo.record = None;
            drop(std::mem::take(&mut undo._locks));
            next(&sleeper);
            eventually(|| (!sleeper.stopped()).then_some(()));
            assert!(!record.exists());
        }
    }
}
