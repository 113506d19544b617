//! Databases behind a server: what their sessions do and wait for, sampled over one connection of loadline's own.
//!
//! A sampler reads the sessions of PostgreSQL 20 times per second and those of MariaDB ten times per second. The
//! sampler reads the counts of Redis at both ends of a trial. Values are removed from statements in this crate, before
//! anything is stored.

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
