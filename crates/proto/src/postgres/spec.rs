//! Entry of PostgreSQL in the table of protocols.

use run::{Protocol, Target};

use crate::row::{BeforeTls, Flag, FlagValue, ProtocolSpec, Scheme};

pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "postgres",
    help: "PostgreSQL statements, as text or prepared; any result is read to its end, an ERROR counts as a failure",
    schemes: &[
        Scheme { name: "postgres", port: Some(5432), path: true, tls: false },
        Scheme { name: "postgresql", port: Some(5432), path: true, tls: false },
        Scheme { name: "postgres+tls", port: Some(5432), path: true, tls: true },
    ],
    defaults: || Protocol::Postgres {
        user: String::new(),
        database: String::new(),
        password: String::new(),
        prepared: false,
        local: false,
    },
    flags: &[Flag {
        name: "prepared",
        short: None,
        requires: None,
        value: "",
        help: "postgres: prepare each statement once per connection, with {{places}} as parameters",
        set: FlagValue::Switch(|plan| {
            if let Protocol::Postgres { prepared, .. } = plan {
                *prepared = true;
            }
        }),
    }],
    set_target,
    before_tls: Some(BeforeTls {
        // SSLRequest message: its length (8), and its code (80877103).
        request: &[0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f],
        accepted: b'S',
        advice: "the server refuses TLS: write postgres:// without sslmode, or turn its setting ssl on",
    }),
    without_network: |plan| match plan {
        Protocol::Postgres { local, .. } => Protocol::Postgres {
            user: String::new(),
            database: String::new(),
            password: String::new(),
            prepared: false,
            local,
        },
        other => other,
    },
    // This prepared answer has only the last messages of a complete answer: CommandComplete and ReadyForQuery.
    canned: |_, _| b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I".to_vec(),
    ..ProtocolSpec::DEFAULT
};

/// Takes the database from the URL's path, unless the user's settings already name one. Records in the settings whether
/// the target server is on this machine.
fn set_target(plan: &mut Protocol, authority: &str, path: &str) {
    let Protocol::Postgres { database, local, .. } = plan else { return };
    *local = Target { url: authority.into(), ..Target::default() }.loopback() == Some(true);
    if database.is_empty() {
        *database = path.split('?').next().unwrap_or_default().trim_matches('/').into();
    }
}
