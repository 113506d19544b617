//! Samples the databases that a server uses: the activities and waits of their sessions, read over a connection of
//! loadline's own.
//!
//! A sampler reads the sessions of PostgreSQL up to 20 times per second and those of MariaDB up to ten times per
//! second. For Redis, the sampler compares the counts of commands at the beginning and at the end of a trial. This
//! crate removes the values from SQL statements before anything is stored.

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
