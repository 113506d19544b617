//! Entry of the record protocol in the table of protocols.

use run::Protocol;

use super::{ClientPlan, MAX_BYTES};
use crate::ProtoError;
use crate::row::{Flag, FlagValue, ProtocolSpec, Scheme};

pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "record",
    help: "reads records of a file: a request of 60 bytes, an answer of 60 bytes and the record; long records are split as in source 3",
    schemes: &[Scheme { name: "record", port: None, path: false, tls: false }],
    defaults: || Protocol::Record { record_bytes: 2048 },
    flags: &[Flag {
        name: "record-bytes",
        short: None,
        requires: None,
        value: "SIZE",
        help: "record: bytes per record",
        set: FlagValue::Bytes(|plan, n| {
            if let Protocol::Record { record_bytes } = plan {
                *record_bytes = n;
            }
        }),
    }],
    canned: |plan, _| client(plan).map_or_else(|_| Vec::new(), |client| client.canned_answer()),
    ..ProtocolSpec::DEFAULT
};

/// Checks the user's settings of the protocol `record`, and prepares the settings that its clients share.
pub(crate) fn client(plan: &Protocol) -> Result<ClientPlan, ProtoError> {
    let Protocol::Record { record_bytes } = plan else { return Err(ProtoError::Unknown(plan.name())) };
    let fits = u32::try_from(*record_bytes).ok().filter(|n| (1..=MAX_BYTES).contains(n));
    let wrong = || ProtoError::Invalid {
        what: "a record of bytes",
        value: record_bytes.to_string(),
        advice: "give 1 byte to 1 MiB",
    };
    fits.map(ClientPlan::new).ok_or_else(wrong)
}
