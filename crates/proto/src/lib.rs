//! Protocol sessions without I/O: each file holds both halves of one protocol.
//!
//! A client half comes from [`client`], once for a plan; a server half is made by the services of the serve crate.

mod client;
pub mod discard;
pub mod echo;
pub mod http1;
mod outbox;
mod pattern;
pub mod raw;
pub mod record;
mod session;
pub mod source;

pub use client::{Client, ClientKind, PROTOCOLS, ProtoError, ProtocolSpec, client};
pub use session::{Fault, Progress, Session};
