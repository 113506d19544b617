//! The data of the reference servers of Redis and memcached, shared by all their connections.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum total size of the entries, bytes.
const MAX_STORE_BYTES: usize = 64 << 20;
/// Number of bytes that are counted for each entry in addition to its key and value.
const ENTRY_OVERHEAD: usize = 100;
/// Number of parts of the store, each with its own lock, so that threads rarely wait for a lock.
const SHARD_COUNT: usize = 16;

/// Keys and values in memory.
#[derive(Debug, Default)]
pub struct Store([Mutex<Shard>; SHARD_COUNT]);

/// Result of [`Store::change`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeResult {
    /// The new value is stored.
    Done,
    /// The store was not changed.
    Unchanged,
    /// The store has no space for the value.
    Full,
}

#[derive(Debug, Default)]
struct Shard {
    entries: HashMap<Vec<u8>, Vec<u8>>,
    bytes: usize,
}

impl Store {
    fn shard(&self, key: &[u8]) -> MutexGuard<'_, Shard> {
        let hash = key.iter().fold(5_381_usize, |hash, byte| hash.wrapping_mul(33) ^ usize::from(*byte));
        self.0[hash % SHARD_COUNT].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `see` with the value of a key, or with `None` if the key has no value.
    pub fn with<T>(&self, key: &[u8], see: impl FnOnce(Option<&[u8]>) -> T) -> T {
        see(self.shard(key).entries.get(key).map(Vec::as_slice))
    }

    /// Stores a value under a key. Returns false if the store has no space for the value.
    pub fn set(&self, key: &[u8], value: &[u8]) -> bool {
        self.shard(key).set(key, value)
    }

    /// Atomically replaces a value by the result of `next`. If `next` returns `None`, the stored value stays as it is.
    pub fn change(&self, key: &[u8], next: impl FnOnce(Option<&[u8]>) -> Option<Vec<u8>>) -> ChangeResult {
        let mut shard = self.shard(key);
        match next(shard.entries.get(key).map(Vec::as_slice)) {
            None => ChangeResult::Unchanged,
            Some(value) if shard.set(key, &value) => ChangeResult::Done,
            Some(_) => ChangeResult::Full,
        }
    }

    /// Removes all keys and values.
    pub fn clear(&self) {
        for shard in &self.0 {
            *shard.lock().unwrap_or_else(PoisonError::into_inner) = Shard::default();
        }
    }

    /// Increments a number, and returns the new number. A missing value counts as 0. Returns `None` if the value is not
    /// a number, if the result would overflow, or if the store is full.
    pub fn increment(&self, key: &[u8]) -> Option<i64> {
        let mut number = None;
        let changed = self.change(key, |value| {
            let now = value.map_or(Some(0), |value| std::str::from_utf8(value).ok()?.parse::<i64>().ok())?;
            number = now.checked_add(1);
            number.map(|number| number.to_string().into_bytes())
        });
        number.filter(|_| changed == ChangeResult::Done)
    }

    /// Removes a key and returns true if it existed.
    pub fn remove(&self, key: &[u8]) -> bool {
        let mut shard = self.shard(key);
        let Some(value) = shard.entries.remove(key) else { return false };
        shard.bytes -= key.len() + value.len() + ENTRY_OVERHEAD;
        true
    }
}

impl Shard {
    fn set(&mut self, key: &[u8], value: &[u8]) -> bool {
        let before = self.entries.get(key).map_or(0, |old| key.len() + old.len() + ENTRY_OVERHEAD);
        let after = self.bytes - before + key.len() + value.len() + ENTRY_OVERHEAD;
        if after > MAX_STORE_BYTES / SHARD_COUNT {
            return false;
        }
        self.bytes = after;
        if let Some(old) = self.entries.get_mut(key) {
            old.clear();
            old.extend_from_slice(value);
        } else if let Entry::Vacant(place) = self.entries.entry(key.to_vec()) {
            place.insert(value.to_vec());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_never_larger_than_allowed() {
        let store = Store::default();
        let value = vec![0; 1 << 20];
        let kept = (0..200).filter(|n: &i32| store.set(&n.to_le_bytes(), &value)).count();
        assert!((16..64).contains(&kept), "{kept}");
        let first = 0_i32.to_le_bytes();
        assert!(store.set(&first, b"5") && store.increment(&first) == Some(6) && store.remove(&first));
        assert!(!store.remove(&first) && store.with(&first, |found| found.is_none()));
        assert_eq!(store.change(&first, |_| Some(vec![0; MAX_STORE_BYTES])), ChangeResult::Full);
        assert_eq!(store.change(&first, |_| None), ChangeResult::Unchanged);
        assert!(store.0.iter().all(|shard| shard.lock().unwrap().bytes <= MAX_STORE_BYTES / SHARD_COUNT));
        store.clear();
        assert!(store.0.iter().all(|shard| shard.lock().unwrap().bytes == 0));
    }
}
