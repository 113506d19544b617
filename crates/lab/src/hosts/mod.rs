//! Hosts: where agents run, how an agent is started there, and which CPUs it gets.

pub(crate) mod cpu_split;
mod host;
pub(crate) mod program;
pub mod via;

pub use cpu_split::CpuSplit;
pub(crate) use host::agents_of;
pub use host::{Host, Local, NamespaceHost};
