//! What these experiments set and measure besides what every trial has, by names in `run.json`.

use run::ValueName;

/// Room for events of a timed call.
pub(crate) const ARRAY_MAX: ValueName<u32> = ValueName::new("array_max");
/// Room for events of a timed call that always finds as many.
pub(crate) const FULL: ValueName<u32> = ValueName::new("full");
/// Arrivals behind each event.
pub(crate) const ARRIVALS: ValueName<u32> = ValueName::new("arrivals");
/// Whether the bare system call is timed, not the library's.
pub(crate) const BARE: ValueName<bool> = ValueName::new("bare");
/// Whether clients fetch the source's small file.
pub(crate) const SMALL_FILE: ValueName<bool> = ValueName::new("small_file");
/// What delivers events (`epoll`, `uring unchecked`).
pub(crate) const BACKEND: ValueName<String> = ValueName::new("backend");
/// Mean time of a timed call, microseconds.
pub(crate) const CALL_US: ValueName<f64> = ValueName::new("call_us");
/// Median time of a timed call, microseconds.
pub(crate) const MEDIAN_US: ValueName<f64> = ValueName::new("median_us");
/// 99th percentile of the time of a call, microseconds.
pub(crate) const P99_US: ValueName<f64> = ValueName::new("p99_us");
/// Mean without the dearest and the cheapest twentieth, microseconds.
pub(crate) const TRIMMED_US: ValueName<f64> = ValueName::new("trimmed_us");
/// Events that a call returned, mean.
pub(crate) const RETURNED: ValueName<f64> = ValueName::new("returned");
/// Calls that were timed.
pub(crate) const CALLS: ValueName<f64> = ValueName::new("calls");
/// Calls that would have blocked; in no figure.
pub(crate) const REJECTED: ValueName<f64> = ValueName::new("rejected");
/// Rounds that are left out because a call in them would have blocked.
pub(crate) const REJECTED_ROUNDS: ValueName<f64> = ValueName::new("rejected_rounds");
/// Whether there is a round in which no call would have blocked.
pub(crate) const SATURATED: ValueName<bool> = ValueName::new("saturated");
/// Time of everything around an event (its arrival, its share of the call, reading it), microseconds.
pub(crate) const WHOLE_US: ValueName<f64> = ValueName::new("whole_us");
/// Time of a call over its events, microseconds.
pub(crate) const EVENT_US: ValueName<f64> = ValueName::new("event_us");
/// Time of a declaration of interest, microseconds.
pub(crate) const DECLARE_US: ValueName<f64> = ValueName::new("declare_us");
/// Time of a revocation of interest, microseconds.
pub(crate) const REVOKE_US: ValueName<f64> = ValueName::new("revoke_us");
/// Time of a declaration with an initial state, microseconds.
pub(crate) const DECLARE_WITH_STATE_US: ValueName<f64> = ValueName::new("declare_with_state_us");
/// Time of epoll_ctl add alone, microseconds.
pub(crate) const BARE_ADD_US: ValueName<f64> = ValueName::new("bare_add_us");
/// Time of epoll_ctl delete alone, microseconds.
pub(crate) const BARE_DELETE_US: ValueName<f64> = ValueName::new("bare_delete_us");
/// Time of a declaration while clients fetch a small file, microseconds.
pub(crate) const SMALL_DECLARE_US: ValueName<f64> = ValueName::new("small_declare_us");
/// Time of a revocation meanwhile, microseconds.
pub(crate) const SMALL_REVOKE_US: ValueName<f64> = ValueName::new("small_revoke_us");
/// Declarations that were timed then.
pub(crate) const DECLARED: ValueName<f64> = ValueName::new("declared");
/// Revocations that were timed then.
pub(crate) const REVOKED: ValueName<f64> = ValueName::new("revoked");
