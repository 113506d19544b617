//! Redis, client and server: commands in RESP, and all kinds of replies of RESP2 and RESP3. An error reply counts as an
//! answer with an unexpected status.

mod advice;
mod client;
mod cluster;
mod command;
mod reads;
mod reply;
mod routes;
mod server;
mod slots;
mod spec;
mod value;

pub use client::{ClientPlan, ClientSession};
pub use server::ServerSession;
pub(crate) use spec::{SPEC, client};
pub use value::{Value, ValueReader, encode_command, values};
