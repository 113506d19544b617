//! Names in `run.json` of the values that these experiments set or measure.

use run::ValueName;

/// Maximum events per timed call.
pub(crate) const ARRAY_MAX: ValueName<u32> = ValueName::new("array_max");
/// Maximum events per timed call that always finds this many.
pub(crate) const FULL: ValueName<u32> = ValueName::new("full");
/// Arrivals per event.
pub(crate) const ARRIVALS: ValueName<u32> = ValueName::new("arrivals");
/// Whether the bare system call is timed instead of the library's.
pub(crate) const BARE: ValueName<bool> = ValueName::new("bare");
/// Whether clients fetch the source's small file.
pub(crate) const SMALL_FILE: ValueName<bool> = ValueName::new("small_file");
/// Back end that delivers events (`epoll`, `uring unchecked`).
pub(crate) const BACKEND: ValueName<String> = ValueName::new("backend");
/// Mean time per call, microseconds.
pub(crate) const CALL_US: ValueName<f64> = ValueName::new("call_us");
/// Median time per call, microseconds.
pub(crate) const MEDIAN_US: ValueName<f64> = ValueName::new("median_us");
/// 99th percentile of the time per call, microseconds.
pub(crate) const P99_US: ValueName<f64> = ValueName::new("p99_us");
/// Mean without the slowest and the fastest twentieth, microseconds.
pub(crate) const TRIMMED_US: ValueName<f64> = ValueName::new("trimmed_us");
/// Mean number of events per call.
pub(crate) const RETURNED: ValueName<f64> = ValueName::new("returned");
/// Number of timed calls.
pub(crate) const CALLS: ValueName<f64> = ValueName::new("calls");
/// Calls that would have blocked; excluded from all figures.
pub(crate) const REJECTED: ValueName<f64> = ValueName::new("rejected");
/// Rounds excluded because a call in them would have blocked.
pub(crate) const REJECTED_ROUNDS: ValueName<f64> = ValueName::new("rejected_rounds");
/// Whether in some round no call would have blocked.
pub(crate) const SATURATED: ValueName<bool> = ValueName::new("saturated");
/// Time per event including its arrival, its share of the call, and reading it, microseconds.
pub(crate) const WHOLE_US: ValueName<f64> = ValueName::new("whole_us");
/// Time of a call divided by its events, microseconds.
pub(crate) const EVENT_US: ValueName<f64> = ValueName::new("event_us");
/// Time of a declaration of interest, microseconds.
pub(crate) const DECLARE_US: ValueName<f64> = ValueName::new("declare_us");
/// Time of a revocation of interest, microseconds.
pub(crate) const REVOKE_US: ValueName<f64> = ValueName::new("revoke_us");
/// Time of a declaration with an initial state, microseconds.
pub(crate) const DECLARE_WITH_STATE_US: ValueName<f64> = ValueName::new("declare_with_state_us");
/// Time of a bare epoll_ctl add, microseconds.
pub(crate) const BARE_ADD_US: ValueName<f64> = ValueName::new("bare_add_us");
/// Time of a bare epoll_ctl delete, microseconds.
pub(crate) const BARE_DELETE_US: ValueName<f64> = ValueName::new("bare_delete_us");
/// Time of a declaration while clients fetch a small file, microseconds.
pub(crate) const SMALL_DECLARE_US: ValueName<f64> = ValueName::new("small_declare_us");
/// Time of a revocation while clients fetch a small file, microseconds.
pub(crate) const SMALL_REVOKE_US: ValueName<f64> = ValueName::new("small_revoke_us");
/// Declarations timed while clients fetch a small file.
pub(crate) const DECLARED: ValueName<f64> = ValueName::new("declared");
/// Revocations timed while clients fetch a small file.
pub(crate) const REVOKED: ValueName<f64> = ValueName::new("revoked");
