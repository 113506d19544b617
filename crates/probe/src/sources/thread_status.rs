//! Status of a thread: /proc/PID/task/TID/status. Source: proc_pid_status(5).

use crate::text::{hex, number, value, words};

/// Status of a thread. The status of the first thread is also the status of its process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Status {
    /// State letter: `R`, `S`, `D`, `T`, …
    pub(super) state: u8,
    /// Numbers of voluntary and of involuntary context switches.
    pub(super) switches: Option<(u64, u64)>,
    /// Number of allowed CPUs, and their bit mask if all CPU numbers are below 52.
    pub(super) cpus: Option<(u32, Option<u64>)>,
    /// True for a worker created by io_uring.
    pub(super) io_worker: bool,
    /// Values of the fields VmRSS, VmLck, VmPin and VmPTE in kB, and of the field Threads.
    pub(super) levels: [Option<f64>; 5],
}

/// Parses a status file in one pass.
pub(super) fn status(text: &[u8]) -> Status {
    let mut out = Status::default();
    let (mut voluntary, mut involuntary) = (None, None);
    for line in crate::text::lines(text) {
        let Some(colon) = line.iter().position(|b| *b == b':') else { continue };
        let (key, rest) = (&line[..colon], &line[colon + 1..]);
        let first = || words(rest).next().unwrap_or_default();
        match key {
            b"Name" => out.io_worker = first().starts_with(b"iou-wrk"),
            b"State" => out.state = first().first().copied().unwrap_or_default(),
            b"VmRSS" => out.levels[0] = value(first()),
            b"VmLck" => out.levels[1] = value(first()),
            b"VmPin" => out.levels[2] = value(first()),
            b"VmPTE" => out.levels[3] = value(first()),
            b"Threads" => out.levels[4] = value(first()),
            b"Cpus_allowed" => out.cpus = mask(first()),
            b"voluntary_ctxt_switches" => voluntary = number(first()),
            b"nonvoluntary_ctxt_switches" => involuntary = number(first()),
            _ => {}
        }
    }
    out.switches = voluntary.zip(involuntary);
    out
}

/// Parses a mask such as `ffffffff,00000003`. Returns the number of set bits, and the value of the mask if it is below
/// 2^52. Readings are `f64` values, which cannot represent all larger integers exactly.
fn mask(word: &[u8]) -> Option<(u32, Option<u64>)> {
    let (mut count, mut low) = (0, Some(0_u64));
    for group in word.split(|b| *b == b',') {
        let bits = hex(group)?;
        count += bits.count_ones();
        low = low.and_then(|low| low.checked_mul(1 << 32)?.checked_add(bits)).filter(|low| *low < 1 << 52);
    }
    Some((count, low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_counted_and_kept_if_exact() {
        assert_eq!(mask(b"3"), Some((2, Some(3))));
        assert_eq!(mask(b"00000001,00000000"), Some((1, Some(1 << 32))));
        assert_eq!(mask(b"ffffffff,ffffffff"), Some((64, None)));
        assert_eq!(mask(b"ffffffff,ffffffff,ffffffff"), Some((96, None)));
        assert_eq!((mask(b""), mask(b"3,x")), (None, None));
    }

    #[test]
    fn a_status_is_read_in_one_pass() {
        let s = status(
            b"Name:\tiou-wrk-12\nState:\tD (disk sleep)\nVmRSS:\t 12 kB\nThreads:\t3\nCpus_allowed:\t2\n\
            voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\nodd\n",
        );
        assert_eq!((s.state, s.io_worker, s.switches), (b'D', true, Some((5, 6))));
        assert_eq!((s.cpus, s.levels), (Some((1, Some(2))), [Some(12.0), None, None, None, Some(3.0)]));
    }
}
