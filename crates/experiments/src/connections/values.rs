//! What these experiments set and measure besides what every trial has, by names in `run.json`.

use run::ValueName;

/// Until the last of the connections was up, seconds since the load began.
pub(crate) const OPENED_S: ValueName<f64> = ValueName::new("opened_s");
/// Growth of the generators' resident memory over their connections, bytes.
pub(crate) const CLIENT_MEMORY_PER_CONNECTION_BYTES: ValueName<f64> =
    ValueName::new("client_memory_per_connection_bytes");
