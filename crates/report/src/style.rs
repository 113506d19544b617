//! Properties of the reader's screen, and errors of forms.

/// Properties of the reader's screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Number of columns of the terminal. Fewer than 40 count as 40.
    pub width: usize,
    /// True if colours may be used: standard output is a terminal and `NO_COLOR` is not set.
    pub color: bool,
    /// True if the terminal or the locale has no characters beyond ASCII, so bars consist of `#`.
    pub ascii: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 80, color: false, ascii: false }
    }
}

/// An error of rendering a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// Unknown form.
    #[error("there is no report form {asked:?}; take one of {known}")]
    UnknownForm {
        /// Form that the user requested.
        asked: String,
        /// Known forms.
        known: String,
    },
    /// The run has no stacks to fold.
    #[error(
        "this run has no stacks of the server's threads; \
         loadline waits --port N --folded FILE samples those of a running server"
    )]
    NoStacks,
    /// A form could not be rendered.
    #[error("cannot make the {form} report: {message}; the run itself is kept in run.json, please report this")]
    Broken {
        /// Name of the form.
        form: &'static str,
        /// Cause of the error.
        message: String,
    },
}
