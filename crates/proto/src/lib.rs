//! Protocol sessions without I/O. The module of a protocol contains its client and, for most protocols, its server.
//!
//! [`PROTOCOLS`] has an entry for each protocol. The function [`client()`] prepares the client for the protocol of a
//! load. The services in the serve crate create the server sessions.

mod calendar;
mod client;
mod commands;
mod cookies;
pub mod discard;
pub mod echo;
mod events;
mod greeting;
pub mod grpc;
mod grpc_messages;
pub mod http1;
pub mod http2;
pub mod http3;
mod items;
mod json_pointer;
mod late_requests;
pub mod memcached;
mod memory;
mod mix;
mod outbox;
mod pace;
mod pattern;
pub mod postgres;
mod protocols;
mod quic;
pub mod raw;
mod received_files;
pub mod record;
pub mod redis;
mod refusal;
mod requester;
mod row;
mod search;
mod session;
pub mod source;
mod store;
mod template;
#[cfg(test)]
mod testing;
pub mod tls;
mod trace;
pub mod websocket;
mod zipf;

pub use client::{AnyClient, Client, ProtoError, Sessions};
pub use mix::Mix;
pub use pace::Pace;
pub use protocols::{PROTOCOLS, by_scheme, by_url, client, spec, stream_client};
pub use quic::CLIENT_DATAGRAM_BYTES;
pub use received_files::add_received_file;
pub use requester::{Done, EarlyData, Outcome, Request, Requester, Which};
pub use row::{BeforeTls, Flag, FlagValue, ProtocolSpec, Scheme};
pub use session::{Fault, Progress, Session};
pub use store::{ChangeResult, Store};
pub use template::without_placeholders;
pub use trace::Trace;
