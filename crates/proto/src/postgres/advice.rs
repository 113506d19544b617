//! Advice for errors of the server.

use super::ServerError;

/// Advice for errors of the server. Each row has beginnings of SQLSTATE codes, and the advice for errors with these
/// codes. If several rows match an error, the first of them gives the advice.
const ADVICE: &[(&[&str], &str)] = &[
    (&["28P01"], "give the right password in the URL, in PGPASSWORD or in ~/.pgpass"),
    (&["28"], "give a user whom its pg_hba.conf lets in, and TLS (postgres+tls://) if it asks for encryption"),
    (&["3D"], "name a database that exists: postgres://USER@HOST/DATABASE"),
    (&["53300"], "raise its max_connections, or give fewer connections"),
    (&["57P03"], "wait until it is ready"),
    (
        &["26000"],
        "a pooler may have changed the backend: leave --prepared out, or let the pooler keep prepared statements",
    ),
    (&["25P02"], "an earlier statement of the same transaction failed: see the first error"),
    (&["25006"], "it is a replica: give the primary as TARGET, or statements that only read"),
    (&["40001", "40P01", "55P03"], "transactions of this load are in each other's way: let them change other rows"),
    (&["42501"], "give a user who may do this"),
    (&["42601"], "correct the statement; with --statements, each line of the file is one whole SQL statement"),
    (&["53100", "53200"], "it has no room left: read its log"),
    (&["57014"], "the statement took longer than the server's time limit: see its statement_timeout"),
    (&["57"], "somebody stopped the server or ended this connection: read its log"),
];

/// Advice for errors of PgBouncer: a text that the error contains, and the advice. PgBouncer reports all of its own
/// errors with one SQLSTATE code (08P01).
const POOLER_ADVICE: &[(&str, &str)] = &[
    ("no more connections allowed", "give fewer connections, or raise max_client_conn of PgBouncer"),
    ("query_wait_timeout", "its pool was used up for too long: raise default_pool_size of PgBouncer"),
    ("prepared statement", "leave --prepared out, or set max_prepared_statements of PgBouncer"),
];

/// Returns the advice for an error, or `otherwise` if no row matches the error.
pub(super) fn advice(error: &ServerError, otherwise: &'static str) -> &'static str {
    let pooler = POOLER_ADVICE.iter().find(|(words, _)| error.sqlstate == "08P01" && error.message.contains(words));
    let begins = |(codes, _): &&(&[&str], &str)| codes.iter().any(|code| error.sqlstate.starts_with(code));
    pooler.map(|row| row.1).or_else(|| ADVICE.iter().find(begins).map(|row| row.1)).unwrap_or(otherwise)
}
