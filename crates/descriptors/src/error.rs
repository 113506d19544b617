//! Errors about types and messages of gRPC calls.

/// Error about types or messages of gRPC calls.
#[derive(Debug, thiserror::Error)]
pub enum TypesError {
    /// A file could not be read.
    #[error("cannot read {path}: {error}; name a readable file")]
    Unreadable {
        /// Path of the file, as the user gave it.
        path: String,
        /// Error of the system.
        error: std::io::Error,
    },
    /// A proto file is wrong, or a file that it imports cannot be found.
    #[error("cannot compile {path}: {why}; correct the file, or name the folder of its imports with --proto-path")]
    Proto {
        /// Path of the file, as the user gave it.
        path: String,
        /// Error message of the compiler of proto files.
        why: String,
    },
    /// A file is no descriptor set.
    #[error("{path} is no descriptor set ({why}); make one with protoc --include_imports --descriptor_set_out=FILE")]
    NoSet {
        /// Path of the file, as the user gave it.
        path: String,
        /// Reason why the file cannot be used.
        why: String,
    },
    /// Descriptors are inconsistent, or use a feature that is not supported.
    #[error("the descriptors cannot be used: {0}")]
    Unusable(String),
    /// The path of the call names no service and method.
    #[error("{0:?} names no method; write the target as grpc://HOST:PORT/package.Service/Method")]
    NoPath(String),
    /// No service has this name.
    #[error("there is no service {name}{near}; known are {known}")]
    NoService {
        /// Name in the path of the call.
        name: String,
        /// Suggestion of a similar name; empty if there is none.
        near: String,
        /// Names of the known services.
        known: String,
    },
    /// The service has no method with this name.
    #[error("the service {service} has no method {name}{near}; it has {known}")]
    NoMethod {
        /// Name of the service.
        service: String,
        /// Name in the path of the call.
        name: String,
        /// Suggestion of a similar name; empty if no name is similar.
        near: String,
        /// Names of the service's methods.
        known: String,
    },
    /// The JSON text is no message of the method.
    #[error("--grpc-json is no {message}{place}: {why}; its form is {example}")]
    NoMessage {
        /// Full name of the message type.
        message: String,
        /// Which of several messages is wrong, or empty.
        place: String,
        /// Error message of the decoder.
        why: String,
        /// Example of a message.
        example: String,
    },
    /// The number of messages is wrong for the method.
    #[error("--grpc-json has {found} messages, but {method} takes {takes}")]
    Count {
        /// Number of messages in the JSON text.
        found: usize,
        /// Name of the method.
        method: String,
        /// Numbers of messages that a call of the method may have.
        takes: &'static str,
    },
}

/// Maximum number of characters of a text from a library or a server in an error.
const MAX_WORDS: usize = 300;

/// Returns a text from a library or a server for use in an error: one line, bounded, without control characters.
pub(crate) fn words(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.chars().filter(|c| !c.is_control()).take(MAX_WORDS).collect()
}

/// Returns a suggestion for a wrong name: ` (did you mean NAME?)`, or an empty text.
pub(crate) fn near<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    run::nearest(wrong, names).map_or(String::new(), |name| format!(" (did you mean {}?)", words(name)))
}

/// Maximum number of names in a list of an error.
const MAX_LISTED: usize = 20;

/// Returns the first names of a list for an error, separated by commas.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> = names.iter().take(MAX_LISTED).map(|name| words(name)).collect();
    match names.len().saturating_sub(MAX_LISTED) {
        _ if names.is_empty() => "none".into(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
