//! Names of values in `run.json`, which the experiments with the event API set or measure.

use run::ValueName;

/// Maximum number of events that a timed call may return.
pub(crate) const ARRAY_MAX: ValueName<u32> = ValueName::new("array_max");
/// Maximum number of events that a timed call may return. The value is set only in trials in which every call returns
/// exactly the maximum number of events.
pub(crate) const FULL: ValueName<u32> = ValueName::new("full");
/// Number of arrivals (pieces of data) per event.
pub(crate) const ARRIVALS: ValueName<u32> = ValueName::new("arrivals");
/// True if the plain system call is timed instead of the library.
pub(crate) const BARE: ValueName<bool> = ValueName::new("bare");
/// True if clients fetch the small file of Banga, Mogul and Druschel.
pub(crate) const SMALL_FILE: ValueName<bool> = ValueName::new("small_file");
/// Name of the backend that delivers events, such as `epoll` or `uring unchecked`.
pub(crate) const BACKEND: ValueName<String> = ValueName::new("backend");
/// Mean time per call, microseconds.
pub(crate) const CALL_US: ValueName<f64> = ValueName::new("call_us");
/// Median time per call, microseconds.
pub(crate) const MEDIAN_US: ValueName<f64> = ValueName::new("median_us");
/// 99th percentile of the time per call, microseconds.
pub(crate) const P99_US: ValueName<f64> = ValueName::new("p99_us");
/// Mean time per call without the fastest and the slowest 5 % of the calls, microseconds.
pub(crate) const TRIMMED_US: ValueName<f64> = ValueName::new("trimmed_us");
/// Mean number of events per call.
pub(crate) const RETURNED: ValueName<f64> = ValueName::new("returned");
/// Number of timed calls.
pub(crate) const CALLS: ValueName<f64> = ValueName::new("calls");
/// Number of calls that would have blocked. All other values about calls leave these calls out.
pub(crate) const REJECTED: ValueName<f64> = ValueName::new("rejected");
/// Number of rounds that were rejected because one of their calls would have blocked.
pub(crate) const REJECTED_ROUNDS: ValueName<f64> = ValueName::new("rejected_rounds");
/// True if there was a round in which no call would have blocked.
pub(crate) const SATURATED: ValueName<bool> = ValueName::new("saturated");
/// Total time per event, microseconds: sending the data, the event's share of the call's time, and reading the data.
pub(crate) const WHOLE_US: ValueName<f64> = ValueName::new("whole_us");
/// Time of a call divided by the number of events that it returned, microseconds.
pub(crate) const EVENT_US: ValueName<f64> = ValueName::new("event_us");
/// Time of declaring interest in a descriptor, microseconds.
pub(crate) const DECLARE_US: ValueName<f64> = ValueName::new("declare_us");
/// Time of revoking interest in a descriptor, microseconds.
pub(crate) const REVOKE_US: ValueName<f64> = ValueName::new("revoke_us");
/// Time of declaring interest if the library also returns the descriptor's current state, microseconds.
pub(crate) const DECLARE_WITH_STATE_US: ValueName<f64> = ValueName::new("declare_with_state_us");
/// Time of adding a descriptor with the system call epoll_ctl, microseconds.
pub(crate) const BARE_ADD_US: ValueName<f64> = ValueName::new("bare_add_us");
/// Time of deleting a descriptor with the system call epoll_ctl, microseconds.
pub(crate) const BARE_DELETE_US: ValueName<f64> = ValueName::new("bare_delete_us");
/// Time of declaring interest while S-Clients fetch a small file, microseconds.
pub(crate) const SMALL_DECLARE_US: ValueName<f64> = ValueName::new("small_declare_us");
/// Time of revoking interest while S-Clients fetch a small file, microseconds.
pub(crate) const SMALL_REVOKE_US: ValueName<f64> = ValueName::new("small_revoke_us");
/// Number of declarations that were timed while S-Clients fetched a small file.
pub(crate) const DECLARED: ValueName<f64> = ValueName::new("declared");
/// Number of revocations that were timed while S-Clients fetched a small file.
pub(crate) const REVOKED: ValueName<f64> = ValueName::new("revoked");
