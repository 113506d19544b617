//! What the reference servers of Redis and memcached keep, shared by all their connections.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most bytes of keys and values together.
const MOST: usize = 64 << 20;
/// What an entry counts besides.
const ENTRY: usize = 100;
/// Parts, so that threads seldom meet.
const PARTS: usize = 16;

/// Keys and values in memory.
#[derive(Debug, Default)]
pub struct Store([Mutex<Part>; PARTS]);

/// What came of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The new value is kept.
    Done,
    /// Nothing was to be changed.
    Left,
    /// There is no room for it.
    Full,
}

#[derive(Debug, Default)]
struct Part {
    entries: HashMap<Vec<u8>, Vec<u8>>,
    bytes: usize,
}

impl Store {
    fn part(&self, key: &[u8]) -> MutexGuard<'_, Part> {
        let hash = key.iter().fold(5_381_usize, |hash, byte| hash.wrapping_mul(33) ^ usize::from(*byte));
        self.0[hash % PARTS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at a value.
    pub fn with<T>(&self, key: &[u8], see: impl FnOnce(Option<&[u8]>) -> T) -> T {
        see(self.part(key).entries.get(key).map(Vec::as_slice))
    }

    /// Keeps a value; false where there is no room for it.
    pub fn set(&self, key: &[u8], value: &[u8]) -> bool {
        self.part(key).set(key, value)
    }

    /// Puts what `next` makes of a value in its place, and nobody sees anything between; with `None` nothing changes.
    pub fn change(&self, key: &[u8], next: impl FnOnce(Option<&[u8]>) -> Option<Vec<u8>>) -> Changed {
        let mut part = self.part(key);
        match next(part.entries.get(key).map(Vec::as_slice)) {
            None => Changed::Left,
            Some(value) if part.set(key, &value) => Changed::Done,
            Some(_) => Changed::Full,
        }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        for part in &self.0 {
            *part.lock().unwrap_or_else(PoisonError::into_inner) = Part::default();
        }
    }

    /// Counts a number up by one; `None` where the value is no number or there is no room.
    pub fn increment(&self, key: &[u8]) -> Option<i64> {
        let mut number = None;
        let changed = self.change(key, |value| {
            let now = value.map_or(Some(0), |value| std::str::from_utf8(value).ok()?.parse::<i64>().ok())?;
            number = now.checked_add(1);
            number.map(|number| number.to_string().into_bytes())
        });
        number.filter(|_| changed == Changed::Done)
    }

    /// Whether there was such a key, which is gone now.
    pub fn remove(&self, key: &[u8]) -> bool {
        let mut part = self.part(key);
        let Some(value) = part.entries.remove(key) else { return false };
        part.bytes -= key.len() + value.len() + ENTRY;
        true
    }
}

impl Part {
    fn set(&mut self, key: &[u8], value: &[u8]) -> bool {
        let before = self.entries.get(key).map_or(0, |old| key.len() + old.len() + ENTRY);
        let after = self.bytes - before + key.len() + value.len() + ENTRY;
        if after > MOST / PARTS {
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
    fn it_is_never_larger_than_allowed() {
        let store = Store::default();
        let value = vec![0; 1 << 20];
        let kept = (0..200).filter(|n: &i32| store.set(&n.to_le_bytes(), &value)).count();
        assert!((16..64).contains(&kept), "{kept}");
        let first = 0_i32.to_le_bytes();
        assert!(store.set(&first, b"5") && store.increment(&first) == Some(6) && store.remove(&first));
        assert!(!store.remove(&first) && store.with(&first, |found| found.is_none()));
        assert_eq!(store.change(&first, |_| Some(vec![0; MOST])), Changed::Full);
        assert_eq!(store.change(&first, |_| None), Changed::Left);
        assert!(store.0.iter().all(|part| part.lock().unwrap().bytes <= MOST / PARTS));
        store.clear();
        assert!(store.0.iter().all(|part| part.lock().unwrap().bytes == 0));
    }
}
