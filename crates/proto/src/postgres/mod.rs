//! PostgreSQL: statements in the protocol of version 3, as text or prepared.
//!
//! The crate `databases`, which samples databases behind a server, also uses [`Login`] and [`ServerError`].

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
