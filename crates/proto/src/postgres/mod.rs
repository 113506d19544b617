//! PostgreSQL: statements in the protocol of version 3, as text or prepared.
//!
//! The login and the errors of the server are also used by the client that samples a database behind a server.

mod advice;
mod client;
mod login;
mod messages;
mod reader;
mod server_error;
mod setup;
mod spec;
mod statement;
#[cfg(test)]
mod tests;

pub(crate) use client::client;
pub use client::{ClientPlan, ClientSession};
pub use login::{Credentials, Login, LoginError};
pub use server_error::ServerError;
pub(crate) use spec::SPEC;
