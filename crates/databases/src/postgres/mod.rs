//! PostgreSQL: sessions from pg_stat_activity, and the transactions that block other transactions.

mod client;
mod session;

pub(crate) use session::PostgresSession;
