//! Types of gRPC calls. Descriptors (the descriptions of services and messages) come from proto files, from descriptor
//! sets or from a server by reflection. The crate uses these types to encode messages that the user gives as JSON. The
//! crate does no network I/O.
//!
//! Descriptors from a server are untrusted. Their number and size are limited, and they are reduced to the parts that
//! an encoding needs before the library builds types from them.

mod error;
mod example;
mod graph;
mod json;
pub mod reflection;
mod sanitize;
mod sources;
mod types;

pub use error::{TypesError, listed};
pub use sources::{Sources, compiled_text, from_files};
pub use types::{Method, Service, Types, split_path};
