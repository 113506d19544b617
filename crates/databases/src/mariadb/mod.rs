//! MariaDB: sessions from its process list, and the transactions that block other transactions, from the tables of
//! InnoDB.

mod client;
mod packets;
mod session;

pub(crate) use session::MariadbSession;
