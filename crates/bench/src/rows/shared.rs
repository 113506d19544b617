//! Stores measurements that several rows share, because each measurement takes minutes.

use std::sync::{Mutex, PoisonError};

use anyhow::Result;

/// Result of a measurement that several rows share, with the number of rounds for which it was measured.
pub(super) struct Shared<T>(Mutex<Option<(usize, T)>>);

impl<T: Clone> Shared<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Returns the measurement for a number of rounds. If no measurement for `rounds` rounds is stored yet, calls
    /// `measure` and stores its result.
    pub(super) fn get_or_measure(&self, rounds: usize, measure: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = kept.as_ref().filter(|(of, _)| *of == rounds) {
            return Ok(found.clone());
        }
        let found = measure()?;
        *kept = Some((rounds, found.clone()));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn rows_with_equal_rounds_share_a_measurement() {
        let shared = Shared::new();
        assert!(shared.get_or_measure(1, || bail!("not now")).is_err());
        assert_eq!(shared.get_or_measure(1, || Ok(7)).unwrap(), 7);
        assert_eq!(shared.get_or_measure(1, || bail!("not again")).unwrap(), 7);
        assert_eq!(shared.get_or_measure(2, || Ok(8)).unwrap(), 8);
    }
}
