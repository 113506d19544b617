//! Errors about the services, methods and message types of gRPC calls.

/// Error about a service, a method or a message of a gRPC call.
#[derive(Debug, thiserror::Error)]
pub enum TypesError {
    /// A file could not be read.
    #[error("cannot read {path}: {error}; name a readable file")]
    Unreadable {
        /// Path of the file, as the user gave it.
        path: String,
        /// Error that the operating system reported.
        error: std::io::Error,
    },
    /// A proto file has an error, or imports a file that cannot be found.
    #[error("cannot compile {path}: {why}; correct the file, or name the folder of its imports with --proto-path")]
    Proto {
        /// Path of the file, as the user gave it.
        path: String,
        /// Error message of the compiler of proto files.
        why: String,
    },
    /// A file is not a descriptor set (a list of compiled proto files).
    #[error("{path} is no descriptor set ({why}); make one with protoc --include_imports --descriptor_set_out=FILE")]
    NoSet {
        /// Path of the file, as the user gave it.
        path: String,
        /// Reason why the file cannot be used.
        why: String,
    },
    /// Descriptors contradict each other, or use a feature that loadline does not support.
    #[error("the descriptors cannot be used: {0}")]
    Unusable(String),
    /// The path of the call does not have the form `/package.Service/Method`.
    #[error("{0:?} names no method; write the target as grpc://HOST:PORT/package.Service/Method")]
    NoPath(String),
    /// No service has the name that the call's path contains.
    #[error("there is no service {name}{near}; known are {known}")]
    NoService {
        /// Name in the path of the call.
        name: String,
        /// Text that suggests a similar name; empty if no service has a similar name.
        near: String,
        /// Names of the known services.
        known: String,
    },
    /// The service has no method with the name that the call's path contains.
    #[error("the service {service} has no method {name}{near}; it has {known}")]
    NoMethod {
        /// Name of the service.
        service: String,
        /// Name in the path of the call.
        name: String,
        /// Text that suggests a similar name; empty if no method has a similar name.
        near: String,
        /// Names of the service's methods.
        known: String,
    },
    /// The user's JSON text is not a request message of the method.
    #[error("--grpc-json is no {message}{place}: {why}; its form is {example}")]
    NoMessage {
        /// Full name of the message type.
        message: String,
        /// Position of the wrong message, if the text has several messages; otherwise empty.
        place: String,
        /// Error message of the JSON decoder.
        why: String,
        /// Example of a correct message, as JSON.
        example: String,
    },
    /// The method does not accept the given number of messages.
    #[error("--grpc-json has {found} messages, but {method} takes {takes}")]
    Count {
        /// Number of messages in the JSON text.
        found: usize,
        /// Full name of the method.
        method: String,
        /// Number of messages that the method accepts, in words.
        takes: &'static str,
    },
}

/// Maximum length of a text from a library or a server within an error message, characters.
const MAX_WORDS: usize = 300;

/// Prepares a text from a library or a server for an error message: makes it one short line without control characters.
pub(crate) fn words(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.chars().filter(|c| !c.is_control()).take(MAX_WORDS).collect()
}

/// Returns the text ` (did you mean NAME?)` with the most similar of `names`; empty if no name is similar to `wrong`.
pub(crate) fn near<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    run::nearest(wrong, names).map_or(String::new(), |name| format!(" (did you mean {}?)", words(name)))
}

/// Maximum number of names that an error message lists.
const MAX_LISTED: usize = 20;

/// Returns at most 20 of the names, separated by commas, and the number of further names, for an error message.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> = names.iter().take(MAX_LISTED).map(|name| words(name)).collect();
    match names.len().saturating_sub(MAX_LISTED) {
        _ if names.is_empty() => "none".into(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
