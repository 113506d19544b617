//! Sentences about a resource of this host that ran out, with the present limit and the command that raises the limit.

mod limit;
mod memory;
mod threads;

use std::fs;

use crate::map::{Map, PAGE_BYTES};
use crate::{Errno, limits};

/// Limit on descriptors per process that is high enough for any usual load.
pub const ROOMY_DESCRIPTORS: u64 = 4096;

/// Memory that a new thread needs, bytes: the default stack of the standard library and its guard page.
const THREAD_BYTES: usize = (2 << 20) + PAGE_BYTES;

/// Port range that excludes only the privileged ports.
const WIDEST_PORT_RANGE: (u32, u32) = (1024, 65_535);

/// Returns a sentence for the user: all local ports are in use.
pub fn no_ports() -> String {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut ends = text.split_whitespace().filter_map(|end| end.parse::<u32>().ok());
    match (ends.next(), ends.next()) {
        (Some(low), Some(high)) => ports_of((low, high)),
        _ => "local ports ran out: give more source addresses (--source 127.0.0.2-127.0.0.9)".into(),
    }
}

fn ports_of((low, high): (u32, u32)) -> String {
    let number = high.saturating_sub(low) + 1;
    let (lowest, highest) = WIDEST_PORT_RANGE;
    let remedy = match low > lowest || high < highest {
        true => format!(
            "widen the range with `sysctl -w net.ipv4.ip_local_port_range=\"{lowest} {highest}\"`, or give more source \
             addresses (--source 127.0.0.2-127.0.0.9)"
        ),
        false => "give more source addresses (--source 127.0.0.2-127.0.0.9)".into(),
    };
    format!("local ports ran out: a source address has {number} of them ({low} to {high}); {remedy}")
}

/// Returns a sentence for the user: all descriptors of this process are in use.
pub fn no_descriptors() -> String {
    let (_, hard) = limits::descriptors();
    let more = hard.saturating_mul(2).max(ROOMY_DESCRIPTORS);
    format!(
        "descriptors ran out: a process may have {hard} of them; raise the limit with `ulimit -Hn {more}` as root \
         (LimitNOFILE={more} in a systemd unit)"
    )
}

/// Returns a sentence that explains why a process or a thread was not started. The C library returns EAGAIN both for a
/// lack of memory and for a limit on threads. To distinguish a lack of memory from a limit on threads, this function
/// tries to map as much memory as a thread needs.
pub fn why_not_started(error: &std::io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::AGAIN) => match Map::private(THREAD_BYTES) {
            Err(_) => memory::sentence(THREAD_BYTES as u64),
            Ok(_) => threads::sentence(),
        },
        Some(Errno::NOMEM) => memory::sentence(THREAD_BYTES as u64),
        Some(Errno::MFILE) => no_descriptors(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_ports_and_the_command_that_raises_it_are_said() {
        let narrow = ports_of((33_000, 33_032));
        assert!(narrow.contains("33 of them (33000 to 33032)") && narrow.contains("\"1024 65535\""), "{narrow}");
        let widest = ports_of(WIDEST_PORT_RANGE);
        assert!(widest.contains("64512 of them") && !widest.contains("sysctl"), "{widest}");
    }
}
