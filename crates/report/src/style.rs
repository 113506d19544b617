//! Properties of the reader's terminal, and errors that occur while a report is rendered.

/// Properties of the reader's terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Number of columns of the terminal; a number below 40 counts as 40.
    pub width: usize,
    /// True if the output may contain colours.
    pub color: bool,
    /// True if the terminal or its locale shows only ASCII characters. With ASCII only, bars consist of `#`.
    pub ascii: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 80, color: false, ascii: false }
    }
}

/// An error that occurs while a report is rendered.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no output form with the requested name.
    #[error("there is no report form {asked:?}; take one of {known}")]
    UnknownForm {
        /// Name of the form that the user requested.
        asked: String,
        /// Names of the known forms.
        known: String,
    },
    /// The run has no sampled stacks of the server's threads.
    #[error(
        "this run has no stacks of the server's threads; \
         loadline waits --port N --folded FILE samples those of a running server"
    )]
    NoStacks,
    /// An output form could not be rendered.
    #[error("cannot make the {form} report: {message}; the run itself is kept in run.json, please report this")]
    Broken {
        /// Name of the form.
        form: &'static str,
        /// Cause of the error.
        message: String,
    },
}
