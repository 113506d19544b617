//! Hosts: where agents run, how an agent starts there, and which CPUs it gets.

mod host;
pub(crate) mod placement;
pub(crate) mod program;
pub mod via;

pub use host::{Host, Local, NamespaceHost};
pub use placement::Places;
