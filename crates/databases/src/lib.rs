//! Databases behind a server: what their sessions do and wait for, sampled over one connection of loadline's own.
//!
//! A sampler asks PostgreSQL 20 times a second for its sessions, MariaDB ten times, and Redis at both ends of a trial
//! for its counts. Statements lose their values here, before anything is kept.

mod connection;
mod credentials;
mod error;
mod mariadb;
mod postgres;
mod redis;
mod sampler;
mod statement;
mod sums;

pub use error::DatabaseError;
pub use sampler::{Database, DatabaseSampler};
