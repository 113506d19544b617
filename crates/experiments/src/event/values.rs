//! Names in `run.json` of the values that the experiments with the event API set or measure.

use run::ValueName;

/// Maximum number of events per timed call.
pub(crate) const ARRAY_MAX: ValueName<u32> = ValueName::new("array_max");
/// Maximum number of events per timed call, for calls that always find this many.
pub(crate) const FULL: ValueName<u32> = ValueName::new("full");
/// Number of arrivals per event.
pub(crate) const ARRIVALS: ValueName<u32> = ValueName::new("arrivals");
/// True if the plain system call is timed instead of the library.
pub(crate) const BARE: ValueName<bool> = ValueName::new("bare");
/// True if clients fetch the paper's small file.
pub(crate) const SMALL_FILE: ValueName<bool> = ValueName::new("small_file");
/// Backend that delivers events (`epoll`, `uring unchecked`).
pub(crate) const BACKEND: ValueName<String> = ValueName::new("backend");
/// Mean time per call, microseconds.
pub(crate) const CALL_US: ValueName<f64> = ValueName::new("call_us");
/// Median time per call, microseconds.
pub(crate) const MEDIAN_US: ValueName<f64> = ValueName::new("median_us");
/// 99th percentile of the time per call, microseconds.
pub(crate) const P99_US: ValueName<f64> = ValueName::new("p99_us");
/// Mean time in microseconds without the slowest and the fastest twentieth.
pub(crate) const TRIMMED_US: ValueName<f64> = ValueName::new("trimmed_us");
/// Mean number of events per call.
pub(crate) const RETURNED: ValueName<f64> = ValueName::new("returned");
/// Number of timed calls.
pub(crate) const CALLS: ValueName<f64> = ValueName::new("calls");
/// Number of calls that would have blocked. Such calls are not included in any other figure.
pub(crate) const REJECTED: ValueName<f64> = ValueName::new("rejected");
/// Number of rounds that were rejected because a call in them would have blocked.
pub(crate) const REJECTED_ROUNDS: ValueName<f64> = ValueName::new("rejected_rounds");
/// True if no call would have blocked in at least one round.
pub(crate) const SATURATED: ValueName<bool> = ValueName::new("saturated");
/// Time per event in microseconds, including its arrival, its share of the call, and reading the data.
pub(crate) const WHOLE_US: ValueName<f64> = ValueName::new("whole_us");
/// Time of a call divided by its events, microseconds.
pub(crate) const EVENT_US: ValueName<f64> = ValueName::new("event_us");
/// Time of a declaration of interest, microseconds.
pub(crate) const DECLARE_US: ValueName<f64> = ValueName::new("declare_us");
/// Time of a revocation of interest, microseconds.
pub(crate) const REVOKE_US: ValueName<f64> = ValueName::new("revoke_us");
/// Time in microseconds of a declaration that also returns the state.
pub(crate) const DECLARE_WITH_STATE_US: ValueName<f64> = ValueName::new("declare_with_state_us");
/// Time in microseconds of adding a descriptor by epoll_ctl.
pub(crate) const BARE_ADD_US: ValueName<f64> = ValueName::new("bare_add_us");
/// Time in microseconds of deleting a descriptor by epoll_ctl.
pub(crate) const BARE_DELETE_US: ValueName<f64> = ValueName::new("bare_delete_us");
/// Time of a declaration while clients fetch a small file, microseconds.
pub(crate) const SMALL_DECLARE_US: ValueName<f64> = ValueName::new("small_declare_us");
/// Time of a revocation while clients fetch a small file, microseconds.
pub(crate) const SMALL_REVOKE_US: ValueName<f64> = ValueName::new("small_revoke_us");
/// Declarations timed while clients fetch a small file.
pub(crate) const DECLARED: ValueName<f64> = ValueName::new("declared");
/// Revocations timed while clients fetch a small file.
pub(crate) const REVOKED: ValueName<f64> = ValueName::new("revoked");
