//! Stores measurements that several rows share, because each measurement takes minutes.

use std::sync::{Mutex, PoisonError};

use anyhow::{Error, Result, anyhow};
use testkit::SetupError;

/// Result of a measurement that several rows share, with the number of rounds for which it was measured.
pub(super) struct Shared<T>(Mutex<Option<(usize, Result<T, Failure>)>>);

/// Reason why a measurement failed.
#[derive(Clone, Debug)]
enum Failure {
    /// The rows are skipped, because the machine lacks what the measurement needs.
    Setup(String),
    /// The measurement itself failed.
    Measurement(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let text = format!("{error:#}");
        if error.is::<SetupError>() { Self::Setup(text) } else { Self::Measurement(text) }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Setup(text) => SetupError::Failed(text).into(),
            Failure::Measurement(text) => anyhow!(text),
        }
    }
}

impl<T: Clone> Shared<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Returns the measurement for a number of rounds. If no measurement for `rounds` rounds is stored yet, calls
    /// `measure` and stores its result. A failure is stored, too. If a failure were not stored, each row would repeat a
    /// measurement that takes minutes and fails.
    pub(super) fn get_or_measure(&self, rounds: usize, measure: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match kept.take().filter(|(of, _)| *of == rounds) {
            Some((_, found)) => found,
            None => measure().map_err(Failure::from),
        };
        *kept = Some((rounds, found.clone()));
        Ok(found?)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn rows_with_equal_rounds_share_a_measurement() {
        let shared = Shared::new();
        assert_eq!(shared.get_or_measure(1, || Ok(7)).unwrap(), 7);
        assert_eq!(shared.get_or_measure(1, || bail!("not again")).unwrap(), 7);
        assert_eq!(shared.get_or_measure(2, || Ok(8)).unwrap(), 8);
    }

    #[test]
    fn rows_with_equal_rounds_share_a_failure() {
        let shared = Shared::new();
        let failure = |error: Error| {
            let first = shared.get_or_measure(1, || Err::<i32, _>(error)).unwrap_err();
            let second = shared.get_or_measure(1, || Ok(7)).unwrap_err();
            assert_eq!(
                (format!("{first:#}"), first.is::<SetupError>()),
                (format!("{second:#}"), second.is::<SetupError>())
            );
            (format!("{first:#}"), first.is::<SetupError>())
        };
        assert_eq!(failure(anyhow!("no answer").context("find")), ("find: no answer".to_owned(), false));
        assert_eq!(shared.get_or_measure(2, || Ok(8)).unwrap(), 8);
        assert_eq!(failure(SetupError::program("nginx").into()), ("nginx is not installed".to_owned(), true));
    }
}
