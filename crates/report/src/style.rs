//! For whom a form is made.

/// Properties of the reader's screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; anything below 40 counts as 40.
    pub width: usize,
    /// Whether colours may be used: standard output is a terminal and `NO_COLOR` is not set.
    pub color: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 80, color: false }
    }
}

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// No such form.
    #[error("there is no report form {asked:?}; take one of {known}")]
    UnknownForm {
        /// What was asked for.
        asked: String,
        /// What there is.
        known: String,
    },
    /// A form could not be written.
    #[error("cannot make the {form} report: {message}; the run itself is kept in run.json, please report this")]
    Broken {
        /// Which form.
        form: &'static str,
        /// What happened.
        message: String,
    },
}
