//! WebSocket (RFC 6455), client and server. A message and the message that answers it count as one request. The client
//! offers no extensions of WebSocket.

mod answers;
mod client;
mod frame;
mod handshake;
mod ids;
mod mask;
mod prepared;
mod spec;
mod text;

mod server;
#[cfg(test)]
mod tests;

pub use client::{ClientPlan, ClientSession};
pub use server::ServerSession;
pub(crate) use spec::{SPEC, client};
