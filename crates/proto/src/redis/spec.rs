//! Entry of Redis in the table of protocols.

use run::Protocol;

use super::ClientPlan;
use crate::ProtoError;
use crate::row::{Flag, FlagValue, ProtocolSpec, Scheme};

pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "redis",
    help: "Redis commands in RESP; any reply is read to its end, an error reply counts as a failure",
    schemes: &[
        Scheme { name: "redis", port: Some(6379), path: false, tls: false },
        Scheme { name: "rediss", port: Some(6379), path: false, tls: true },
    ],
    defaults: || Protocol::Redis {
        command: "PING".into(),
        commands_file: None,
        auth_file: None,
        database: 0,
        resp3: false,
        cluster: Vec::new(),
    },
    flags: &[
        flag(
            "command",
            "COMMAND",
            "redis, memcached: the command of each request [default: PING, version]",
            |plan, text| {
                if let Protocol::Redis { command, .. } = plan {
                    *command = text.into();
                }
            },
        ),
        flag("commands", "FILE", "redis, memcached: file with one command per line, sent in turn", |plan, file| {
            if let Protocol::Redis { commands_file, .. } = plan {
                *commands_file = Some(file.into());
            }
        }),
        flag("auth-file", "FILE", "redis: file with the password, or USER:PASSWORD, for AUTH", |plan, file| {
            if let Protocol::Redis { auth_file, .. } = plan {
                *auth_file = Some(file.into());
            }
        }),
        Flag {
            name: "database",
            short: None,
            requires: None,
            value: "N",
            help: "redis: the database to SELECT",
            set: FlagValue::Number(|plan, number| {
                if let Protocol::Redis { database, .. } = plan {
                    *database = number.into();
                }
            }),
        },
        Flag {
            name: "resp",
            short: None,
            requires: None,
            value: "2|3",
            help: "redis: version of the protocol [default: 2]",
            set: FlagValue::Number(|plan, number| {
                if let Protocol::Redis { resp3, .. } = plan {
                    *resp3 = number == 3;
                }
            }),
        },
    ],
    set_path,
    without_network: |plan| match plan {
        Protocol::Redis { command, commands_file, .. } => {
            let (database, resp3, cluster) = (0, false, Vec::new());
            Protocol::Redis { command, commands_file, auth_file: None, database, resp3, cluster }
        }
        other => other,
    },
    canned: |_, _| b"+OK\r\n".to_vec(),
    ..ProtocolSpec::DEFAULT
};

/// Sets the database from a path such as `/3`, as client libraries do.
fn set_path(plan: &mut Protocol, path: &str) -> Result<(), String> {
    let Protocol::Redis { database, .. } = plan else { return Ok(()) };
    let number = path.trim_start_matches('/').parse::<u16>().map(u32::from);
    let number = number.map_err(|_| format!("{path:?} is not a database; write redis://HOST:PORT/NUMBER"))?;
    if *database > 0 && *database != number {
        return Err(format!("the path {path:?} and --database {database} are two databases; give one of them"));
    }
    *database = number;
    Ok(())
}

const fn flag(name: &'static str, value: &'static str, help: &'static str, set: fn(&mut Protocol, &str)) -> Flag {
    Flag { name, short: None, requires: None, value, help, set: FlagValue::Text(set) }
}

/// Checks the user's settings of Redis, and prepares the settings that its clients share.
pub(crate) fn client(plan: &Protocol) -> Result<ClientPlan, ProtoError> {
    ClientPlan::new(plan)
}
