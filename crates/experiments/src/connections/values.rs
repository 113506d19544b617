//! Names in `run.json` of the values that this experiment sets or measures.

use run::ValueName;

/// Time until the last connection opened, seconds since the load began.
pub(crate) const OPENED_S: ValueName<f64> = ValueName::new("opened_s");
/// Growth of the generators' resident memory per connection, bytes.
pub(crate) const CLIENT_MEMORY_PER_CONNECTION_BYTES: ValueName<f64> =
    ValueName::new("client_memory_per_connection_bytes");
