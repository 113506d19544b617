//! An error that the server reports (message ErrorResponse): its severity, SQLSTATE code and message text.

use std::fmt;

use fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::ErrorFields;

/// An error that a server reports. The texts of the error contain no control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    severity: String,
    /// SQLSTATE code.
    pub sqlstate: String,
    /// Message of the server.
    pub message: String,
}

impl ServerError {
    /// Reads the fields of an ErrorResponse.
    pub fn from_fields(mut fields: ErrorFields<'_>) -> Self {
        let mut error = Self::default();
        while let Ok(Some(field)) = fields.next() {
            error.add(field.type_(), field.value_bytes());
        }
        error
    }

    /// Reads the body of an ErrorResponse: fields with a type and a text, each ended by a zero byte.
    pub(super) fn from_body(body: &[u8]) -> Self {
        let mut error = Self::default();
        for field in body.split(|byte| *byte == 0) {
            if let Some((kind, value)) = field.split_first() {
                error.add(*kind, value);
            }
        }
        error
    }

    fn add(&mut self, kind: u8, value: &[u8]) {
        let text = || run::visible(&String::from_utf8_lossy(value)).into_owned();
        match kind {
            // Field V is the severity in English, and S is the severity in the server's language. Servers before
            // version 9.6 send only the field S.
            b'S' if self.severity.is_empty() => self.severity = text(),
            b'V' => self.severity = text(),
            b'C' => self.sqlstate = text(),
            b'M' => self.message = text(),
            _ => {}
        }
    }

    /// Returns true if the server closes the connection after this error.
    pub fn is_fatal(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.severity, self.sqlstate, self.message)
    }
}
