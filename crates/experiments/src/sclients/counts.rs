//! Counts of connection requests (SYNs) in a whole trial, by the generator and by the server's kernel.

use run::{ErrorKind, Trial};

use super::values::{OPENS_KERNEL, SYNS_KERNEL};

/// Returns the number of connection requests that the generator sent. The number excludes connect attempts for which no
/// port or descriptor was free.
pub(super) fn syns_sent(trial: &Trial) -> f64 {
    let errors = &trial.tally.errors.0;
    let never_left = [ErrorKind::ClientPorts, ErrorKind::ClientFds].map(|kind| errors.get(&kind).copied().unwrap_or(0));
    trial.tally.attempted.saturating_sub(never_left.into_iter().sum()) as f64
}

/// Stores the number of connections that the server's kernel opened, and the number of SYNs that it received (`opens`
/// plus `drops`). If the kernel has answered SYNs with cookies, the number of SYNs is not stored. The kernel counts a
/// SYN that it answered with a cookie only when the client's acknowledgement arrives, so `opens` plus `drops` would be
/// too small.
pub(super) fn put_kernel(trial: &mut Trial, opens: Option<f64>, drops: Option<f64>, cookies: Option<f64>) {
    trial.results.put(OPENS_KERNEL, opens);
    match cookies.filter(|n| *n > 0.0) {
        Some(n) => {
            trial.notes.push(format!("the kernel's count of SYNs is left out: it answered {n} of them with cookies"));
        }
        None => trial.results.put(SYNS_KERNEL, opens.zip(drops).map(|(opens, drops)| opens + drops)),
    }
}
