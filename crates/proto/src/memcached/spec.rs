//! Entry of memcached in the table of protocols.

use run::Protocol;

use super::ClientPlan;
use crate::ProtoError;
use crate::row::{Flag, FlagValue, ProtocolSpec, Scheme};

pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "memcached",
    help: "memcached's text protocol: get, set and the like; an error reply counts as a failure",
    schemes: &[Scheme { name: "memcached", port: Some(11211), path: false, tls: false }],
    defaults: || Protocol::Memcached { command: "version".into(), commands_file: None },
    flags: &[
        flag("command", "COMMAND", |plan, text| {
            if let Protocol::Memcached { command, .. } = plan {
                *command = text.into();
            }
        }),
        flag("commands", "FILE", |plan, file| {
            if let Protocol::Memcached { commands_file, .. } = plan {
                *commands_file = Some(file.into());
            }
        }),
    ],
    canned: |_, _| b"VERSION 1\r\n".to_vec(),
    ..ProtocolSpec::DEFAULT
};

const fn flag(name: &'static str, value: &'static str, set: fn(&mut Protocol, &str)) -> Flag {
    let help = "The command of each request, or a file of them";
    Flag { name, short: None, requires: None, value, help, set: FlagValue::Text(set) }
}

/// Checks the user's settings of memcached, and prepares the settings that its clients share.
pub(crate) fn client(plan: &Protocol) -> Result<ClientPlan, ProtoError> {
    ClientPlan::new(plan)
}
