//! Names of values in `run.json`, which `lab connections` sets or measures.

use run::ValueName;

/// Time from the start of the load until the last connection was open, seconds.
pub(crate) const OPENED_S: ValueName<f64> = ValueName::new("opened_s");
/// Growth of the generators' resident memory per additional connection, bytes.
pub(crate) const CLIENT_MEMORY_PER_CONNECTION_BYTES: ValueName<f64> =
    ValueName::new("client_memory_per_connection_bytes");
