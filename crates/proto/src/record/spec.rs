//! The row of the table.

use run::Protocol;

use super::{ClientPlan, MOST_BYTES};
use crate::ProtoError;
use crate::row::{Flag, ProtocolSpec, Scheme, Set};

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
        help: "record: bytes a record",
        set: Set::Bytes(|plan, n| {
            if let Protocol::Record { record_bytes } = plan {
                *record_bytes = n;
            }
        }),
    }],
    canned: |plan, _| client(plan).map_or_else(|_| Vec::new(), |client| client.canned_answer()),
    ..ProtocolSpec::BASE
};

/// The client half of a plan.
pub(crate) fn client(plan: &Protocol) -> Result<ClientPlan, ProtoError> {
    let Protocol::Record { record_bytes } = plan else { return Err(ProtoError::Unknown(plan.name())) };
    let fits = u32::try_from(*record_bytes).ok().filter(|n| (1..=MOST_BYTES).contains(n));
    let wrong = || ProtoError::Invalid {
        what: "a record of bytes",
        value: record_bytes.to_string(),
        advice: "give 1 byte to 1 MiB",
    };
    fits.map(ClientPlan::new).ok_or_else(wrong)
}
