//! Services, methods and message types of gRPC calls. Descriptors (the descriptions of services and messages) come from
//! proto files, from descriptor sets or from a server by reflection. The crate uses the descriptors to encode messages
//! that the user gives as JSON. The crate does no network I/O.
//!
//! Descriptors from a server are untrusted. The crate limits the number and size of descriptors. Before the library
//! `prost_reflect` builds types from descriptors, the crate removes every part that is not needed to encode messages.

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
