//! Trace contexts of requests. Source: W3C Trace Context (Recommendation, November 2021), section 3.2.

/// Name of the header with the trace context.
pub(crate) const NAME: &str = "traceparent";
/// Length of the header's value in characters: version, trace ID (16 bytes), span ID (8 bytes) and flags, in
/// hexadecimal digits and separated by hyphens.
const VALUE_BYTES: usize = 55;
/// The header as a line of HTTP/1, with zeros for both IDs.
const LINE: [u8; LINE_BYTES] = *b"traceparent: 00-00000000000000000000000000000000-0000000000000000-01\r\n";
pub(crate) const LINE_BYTES: usize = 70;
const VALUE_AT: usize = NAME.len() + 2;

/// Trace context of a request: a sampled trace whose first span is the request. The trace ID and the span ID are
/// computed from one number, so only this number is stored for a request in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trace(u64);

impl Trace {
    /// A request without a trace context.
    pub const NONE: Self = Self(0);

    /// Creates the trace context for a number, which must not be 0. Different numbers give trace contexts with
    /// different IDs.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns true if the request has a trace context.
    #[inline]
    pub const fn is_some(self) -> bool {
        self.0 != 0
    }

    /// Returns the trace ID and the span ID.
    pub const fn ids(self) -> (u128, u64) {
        let [high, low, span] = [spread(self.0 ^ 1 << 63), spread(self.0), spread(self.0 ^ 1 << 62)];
        // In a trace context, an ID of 0 is not valid.
        ((high as u128) << 64 | low as u128 | (low == 0) as u128, span | (span == 0) as u64)
    }

    /// Returns the value of the header.
    pub(crate) fn value(self) -> [u8; VALUE_BYTES] {
        let line = self.line();
        std::array::from_fn(|at| line[VALUE_AT + at])
    }

    /// Returns the header as a line of HTTP/1.
    pub(crate) fn line(self) -> [u8; LINE_BYTES] {
        let (mut line, (trace, span)) = (LINE, self.ids());
        hex(trace, &mut line[VALUE_AT + 3..VALUE_AT + 35]);
        hex(u128::from(span), &mut line[VALUE_AT + 36..VALUE_AT + 52]);
        line
    }
}

/// Spreads a number over 64 bits. Different numbers give different results (the last step of SplitMix64).
const fn spread(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn hex(number: u128, to: &mut [u8]) {
    let digits = to.len();
    for (at, digit) in to.iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(number >> (4 * (digits - 1 - at)) & 0xf) as usize];
    }
}

/// Inserts a line into a message at position `at`, and copies the result, from its position `from` on, to `out`.
/// Returns the number of copied bytes.
pub(crate) fn copy_with_line(message: &[u8], (at, line): (usize, &[u8]), from: usize, out: &mut [u8]) -> usize {
    let (mut done, mut begin) = (0, 0);
    for piece in [&message[..at], line, &message[at..]] {
        let rest = piece.get((from + done).saturating_sub(begin)..).unwrap_or_default();
        let n = rest.len().min(out.len() - done);
        out[done..done + n].copy_from_slice(&rest[..n]);
        done += n;
        begin += piece.len();
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_both_ids_and_the_flag_for_sampled_traces() {
        let trace = Trace::new(7);
        let ((id, span), value) = (trace.ids(), trace.value());
        assert_eq!(std::str::from_utf8(&value).unwrap(), format!("00-{id:032x}-{span:016x}-01"));
        assert_eq!(trace.line().strip_suffix(b"\r\n").unwrap().strip_prefix(b"traceparent: "), Some(&value[..]));
        let all: std::collections::BTreeSet<_> = (1..1000).map(|number| Trace::new(number).ids()).collect();
        assert!(all.len() == 999 && all.iter().all(|(id, span)| *id > 0 && *span > 0));
        assert!(!Trace::NONE.is_some() && Trace::default() == Trace::NONE);
    }

    #[test]
    fn a_line_is_put_into_pieces_of_any_size() {
        for size in 1..12 {
            let (mut all, mut piece) = (Vec::new(), vec![0; size]);
            while let n @ 1.. = copy_with_line(b"headbody", (4, &b"LINE"[..]), all.len(), &mut piece) {
                all.extend_from_slice(&piece[..n]);
            }
            assert_eq!(all, b"headLINEbody", "{size}");
        }
    }
}
