//! Names in `run.json` of the values that this experiment sets or measures.

use run::ValueName;

/// Time in seconds from the start of the load until the last connection opened.
pub(crate) const OPENED_S: ValueName<f64> = ValueName::new("opened_s");
/// Growth in bytes of the generators' resident memory per connection.
pub(crate) const CLIENT_MEMORY_PER_CONNECTION_BYTES: ValueName<f64> =
    ValueName::new("client_memory_per_connection_bytes");
