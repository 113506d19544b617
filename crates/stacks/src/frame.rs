//! One frame of a stack, with its names.

use std::sync::Arc;

/// A frame of a stack. The names of a frame come from the program's own files and contain only printable characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Function whose code covers the address. `None` if there is no symbol for the address.
    pub function: Option<Arc<str>>,
    /// File name of the program or library.
    pub module: Arc<str>,
    /// Source file, if debug information has it.
    pub file: Option<Arc<str>>,
    /// Line in the source file, from 1.
    pub line: Option<u32>,
}

impl Frame {
    /// Returns the function's name, or the module's name in brackets if the function has no name.
    pub fn label(&self) -> String {
        match &self.function {
            Some(function) => function.to_string(),
            None => format!("[{}]", self.module),
        }
    }

    /// Returns the label with file and line, if they are known: "handle (app.c:41)".
    pub fn label_and_place(&self) -> String {
        let place = self.place().map(|place| format!(" ({place})")).unwrap_or_default();
        format!("{}{place}", self.label())
    }

    /// Returns the last part of the source file's path and the line, such as "app.py:41".
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_deref()?.rsplit('/').next()?;
        Some(self.line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")))
    }
}
