//! Reasons why a database cannot be sampled.

use std::io;

/// Reason why a database cannot be sampled. No error text contains a password.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The database refused the request or answered with an error.
    #[error("it answered: {0}")]
    Refused(String),
    /// The login needs a method that loadline does not support, or a password that loadline does not have.
    #[error("{0}")]
    Login(String),
    /// The server's answer violates the database's protocol. The value is the name of the database system.
    #[error("its answer is no answer of {0}")]
    Protocol(&'static str),
}
