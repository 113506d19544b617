//! Hosts: machines and namespaces where agents run, ways to start agents there, and the choice of the CPUs that agents
//! use.

pub(crate) mod cpu_split;
mod host;
pub(crate) mod program;
pub mod via;

pub use cpu_split::CpuSplit;
pub(crate) use host::agents_of;
pub use host::{Host, Local, NamespaceHost};
