//! Protocol sessions without I/O: each file holds both halves of one protocol.
//!
//! [`PROTOCOLS`] has a row of each. A client half comes from [`client()`], once for a plan; a server half is made by
//! the services of the serve crate.

mod client;
pub mod discard;
pub mod echo;
pub mod grpc;
pub mod http1;
pub mod http2;
mod items;
pub mod memcached;
mod memory;
mod mix;
mod outbox;
mod pattern;
mod protocols;
pub mod raw;
pub mod record;
pub mod redis;
mod requester;
mod row;
mod search;
mod sent;
mod session;
pub mod source;
mod store;
mod template;
#[cfg(test)]
mod testing;
pub mod tls;
pub mod websocket;
mod zipf;

pub use client::{AnyClient, Client, ProtoError, Sessions};
pub use mix::Mix;
pub use protocols::{PROTOCOLS, by_scheme, client, spec};
pub use requester::{Done, Outcome, Request, Requester, Which};
pub use row::{Flag, ProtocolSpec, Scheme, Set};
pub use sent::bring;
pub use session::{Fault, Progress, Session};
pub use store::{Changed, Store};
