//! Errors in a plan.

/// Error in a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The TOML text does not fit the plan.
    #[error("{file}: {message}")]
    Toml {
        /// File that was read.
        file: String,
        /// Description of the error, its position, and the nearest valid key.
        message: String,
    },
    /// A value is out of its range.
    #[error("{what} is {value}: {advice}")]
    Range {
        /// Path of the value in the plan.
        what: &'static str,
        /// Value that the plan gives.
        value: String,
        /// Allowed values, as advice to the user.
        advice: &'static str,
    },
}

/// Returns an error unless the value fits.
pub(crate) fn range(fits: bool, what: &'static str, value: f64, advice: &'static str) -> Result<(), PlanError> {
    if fits { Ok(()) } else { out_of_range(what, value.to_string(), advice) }
}

/// Returns the error of a value that is out of range.
pub(crate) fn out_of_range<T>(what: &'static str, value: String, advice: &'static str) -> Result<T, PlanError> {
    Err(PlanError::Range { what, value, advice })
}
