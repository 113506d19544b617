//! Advice for error replies.

/// Advice for error replies. Each row has beginnings of error replies, as in the documentation of Redis, and the advice
/// for them.
const ADVICE: &[(&[&str], &str)] = &[
    (
        &["ERR max number of clients"],
        "it has no free connection: give fewer --connections, end other clients, or raise its maxclients",
    ),
    (&["ERR AUTH ", "ERR Client sent AUTH"], "it wants no password: leave --auth-file out"),
    (&["NOAUTH", "WRONGPASS", "NOPERM"], "give the password of a user who may do this with --auth-file FILE"),
    (&["DENIED"], "it is in protected mode: run loadline on its host, or give it a password"),
    (
        &["MOVED", "ASK", "CROSSSLOT", "CLUSTERDOWN"],
        "it is a node of a cluster: give the node that holds the key as TARGET, or another key",
    ),
    (&["LOADING", "BUSY", "MASTERDOWN"], "wait until it is ready"),
    (&["READONLY"], "it is a replica: give the primary as TARGET, or commands that only read"),
    (&["OOM"], "its memory is full: delete keys, or raise its maxmemory"),
    (&["MISCONF"], "it cannot save its data, and refuses writes: read its log"),
    (&["NOREPLICAS"], "it has fewer replicas than it needs for a write: see its min-replicas-to-write"),
    (&["WRONGTYPE"], "this key has a value of another type: give another key"),
];

/// Returns the advice for an error reply, or `otherwise` if no row of [`ADVICE`] matches the reply.
pub(super) fn advice(words: &str, otherwise: &'static str) -> &'static str {
    let row = ADVICE.iter().find(|(begins, _)| begins.iter().any(|begin| words.starts_with(begin)));
    row.map_or(otherwise, |row| row.1)
}
