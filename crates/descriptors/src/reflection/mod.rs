//! Server reflection: a server describes its own services. Source: `grpc/reflection/v1/reflection.proto` of the gRPC
//! project. The protocol's earlier version `v1alpha` has the same messages.

mod collector;
mod messages;
mod server;

pub use collector::{Collector, ReflectionError, list_request, services};
pub use messages::{MAX_ANSWER_BYTES, PATHS};
pub use server::Reflection;
