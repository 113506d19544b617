//! The first failure of each kind in a shard (generator thread), with its reason. Later failures of the same kind need
//! no reason, so recording them is quick.

use proto::Fault;
use run::{ErrorKind, FailureKind, FirstFailure, MAX_FIRST_FAILURES};

/// Maximum length of a reason, characters.
const MAX_REASON_CHARS: usize = 160;

/// Returns a reason cut to the maximum length.
fn bounded(reason: String) -> String {
    match reason.char_indices().nth(MAX_REASON_CHARS) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason,
    }
}

/// First failures of each kind, in the order in which they happened.
#[derive(Debug, Default)]
pub(crate) struct FirstFailures {
    kept: Vec<FirstFailure>,
    /// Status of the last refused request, if a reason for this status is not yet stored.
    new_status: Option<u16>,
    /// Fault of the last request that failed while its connection continued.
    failed: Option<Fault>,
    /// Statuses for which `kept` has a failure.
    statuses: Vec<u16>,
}

impl FirstFailures {
    /// Records an answer with an unexpected status.
    #[inline]
    pub(crate) fn refused(&mut self, status: u16) {
        // The session stores only the text of the latest refusal, so the text must be fetched before the next refusal.
        let is_new = !self.statuses.contains(&status) && self.statuses.len() < MAX_FIRST_FAILURES;
        self.new_status = is_new.then_some(status);
    }

    /// Records a request that failed while its connection continued: its stream was reset, its body was wrong, or the
    /// server did not process it.
    pub(crate) fn failed(&mut self, fault: Fault) {
        self.failed = Some(fault);
    }

    /// Returns the fault with which the last request failed while its connection continued. A second call for the same
    /// fault returns `None`.
    #[inline]
    pub(crate) fn take_failed(&mut self) -> Option<Fault> {
        self.failed.take()
    }

    /// Returns the status for which a reason must be stored now, or `None`. A second call returns `None`.
    #[inline]
    pub(crate) fn take_new_status(&mut self) -> Option<u16> {
        self.new_status.take()
    }

    /// Stores the first refusal with the status `status`, and its reason.
    pub(crate) fn keep_status(&mut self, at_s: f64, status: u16, reason: String) {
        self.statuses.push(status);
        let name = if status == 0 { String::new() } else { run::status_name(status).into_owned() };
        self.kept.push(FirstFailure { kind: FailureKind::Status(name), at_s, reason: bounded(reason) });
    }

    /// Stores the first failure of a kind, if its reason is known. `reason` is called only if the kind is new.
    pub(crate) fn keep(&mut self, at_s: f64, kind: ErrorKind, reason: impl FnOnce() -> Option<String>) {
        let kind = FailureKind::Error(kind);
        let is_new = !self.kept.iter().any(|kept| kept.kind == kind);
        if let Some(reason) = is_new.then(reason).flatten() {
            self.kept.push(FirstFailure { kind, at_s, reason: bounded(reason) });
        }
    }

    /// Returns all stored failures.
    pub(crate) fn into_vec(self) -> Vec<FirstFailure> {
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_failure_of_a_kind_is_asked_for_its_reason() {
        let mut first = FirstFailures::default();
        for (i, status) in [503, 503, 0, 503].into_iter().enumerate() {
            first.refused(status);
            if let Some(status) = first.take_new_status() {
                first.keep_status(i as f64, status, format!("\"reason {i}\""));
            }
        }
        // A later answer, with a known status, follows in the same received bytes. After both answers, the session
        // contains only the error text of the later answer.
        first.refused(429);
        first.refused(503);
        assert_eq!(first.take_new_status(), None);
        first.keep(5.0, ErrorKind::Reset, || None);
        first.keep(6.0, ErrorKind::Reset, || Some("closed with code 1011".into()));
        first.keep(7.0, ErrorKind::Reset, || unreachable!());
        assert_eq!(bounded("ä".repeat(200)).chars().count(), MAX_REASON_CHARS + 1);
        let told: Vec<_> = first.into_vec().into_iter().map(|f| (f.kind, f.at_s, f.reason)).collect();
        let status = |name: &str| FailureKind::Status(name.into());
        assert_eq!(
            told,
            [
                (status("503"), 0.0, "\"reason 0\"".into()),
                (status(""), 2.0, "\"reason 2\"".into()),
                (FailureKind::Error(ErrorKind::Reset), 6.0, "closed with code 1011".into())
            ]
        );
    }
}
