//! Samples the databases that a server uses, over loadline's own connections. The samples contain the activities and
//! waits of the database sessions.
//!
//! A sampler reads the sessions of PostgreSQL up to 20 times per second, and the sessions of MariaDB up to ten times
//! per second. For Redis, the sampler compares the counts of commands at the beginning and at the end of a load test.
//! This crate removes the values from SQL statements before anything is stored.

mod connection;
mod credentials;
mod error;
mod mariadb;
mod postgres;
mod redis;
mod sampler;
mod statement;
mod sums;

pub use credentials::{default_user, password};
pub use error::DatabaseError;
pub use sampler::{Database, DatabaseSampler};
pub use statement::statement_name;
