//! memcached's text protocol, client and server. Source: memcached's own doc/protocol.txt.

mod client;
mod server;
mod spec;
mod words;

pub use client::{ClientPlan, ClientSession};
pub use server::ServerSession;
pub(crate) use spec::{SPEC, client};
