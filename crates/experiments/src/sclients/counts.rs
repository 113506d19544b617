//! Counts of connection requests in a whole trial, from the generator and from the server's kernel.

use run::{ErrorKind, Trial};

use super::values::{OPENS_KERNEL, SYNS_KERNEL};

/// Returns the number of connection requests that the generator sent.
pub(super) fn syns_sent(trial: &Trial) -> f64 {
    let errors = &trial.tally.errors.0;
    let never_left = [ErrorKind::ClientPorts, ErrorKind::ClientFds].map(|kind| errors.get(&kind).copied().unwrap_or(0));
    trial.tally.attempted.saturating_sub(never_left.into_iter().sum()) as f64
}

/// Stores the number of connection requests that the server's kernel accepted, dropped and answered with a cookie. The
/// kernel's SYN count is exact only without cookies. A request that was answered with a cookie is counted only when its
/// acknowledgement arrives.
pub(super) fn put_kernel(trial: &mut Trial, opens: Option<f64>, drops: Option<f64>, cookies: Option<f64>) {
    trial.results.put(OPENS_KERNEL, opens);
    match cookies.filter(|n| *n > 0.0) {
        Some(n) => {
            trial.notes.push(format!("the kernel's count of SYNs is left out: it answered {n} of them with cookies"));
        }
        None => trial.results.put(SYNS_KERNEL, opens.zip(drops).map(|(opens, drops)| opens + drops)),
    }
}
