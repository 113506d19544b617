//! A stored histogram gets memory only for the durations that it contains.

use super::{DIGITS, HIGHEST_NS};

/// Number of bytes before the counts of an uncompressed payload.
pub(super) const HEADER_BYTES: usize = 40;

/// Lowers the maximum duration in a payload's header to the end of the range that the payload's counts cover. The
/// library allocates memory for all durations up to the maximum in the header, and writes to all of it. A histogram
/// whose maximum is a few milliseconds needs about a third of the memory of one whose maximum is an hour. The caller
/// must have checked the payload's header.
pub(super) fn narrow(payload: &mut [u8]) {
    let (header, counts) = payload.split_at_mut(HEADER_BYTES.min(payload.len()));
    if header.get(16..24) != Some(&1_u64.to_be_bytes()) {
        return;
    }
    let (Some(digits), Some(highest)) = (header.get(15).copied(), header.get_mut(24..32)) else { return };
    // The library divides the durations into ranges. The first range has `first` counts, and each further range has
    // half as many counts. The end of each further range is twice the end of the range before.
    let first = 2 * 10_u64.pow(u32::from(digits.min(DIGITS))).next_power_of_two();
    let further = (number_of_counts(counts) as u64).saturating_sub(first).div_ceil(first / 2);
    let needed = u32::try_from(further).ok().and_then(|doublings| first.checked_shl(doublings));
    if let Some(end_ns) = needed.filter(|end_ns| (first..HIGHEST_NS).contains(end_ns)) {
        highest.copy_from_slice(&(end_ns - 1).to_be_bytes());
    }
}

/// Returns the number of counts in the body of a payload. Each number in it is a count or, if negative, the length of a
/// sequence of zeros (HdrHistogram's encoding: ZigZag, then LEB128 of at most 9 bytes).
fn number_of_counts(body: &[u8]) -> usize {
    let (mut counts, mut left) = (0_usize, body);
    while !left.is_empty() {
        let last = left.iter().take(8).position(|byte| byte & 0x80 == 0).unwrap_or(8).min(left.len() - 1);
        let (number, rest) = left.split_at(last + 1);
        let bits = number.iter().enumerate().fold(0_u64, |sum, (at, byte)| {
            let kept = if at < 8 { byte & 0x7f } else { *byte };
            sum | u64::from(kept) << (7 * at)
        });
        let zeros = if bits & 1 == 1 { (bits >> 1).saturating_add(1) } else { 1 };
        counts = counts.saturating_add(usize::try_from(zeros).unwrap_or(usize::MAX));
        left = rest;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::super::Hist;
    use super::*;

    /// The library's ranges end at powers of two, so the longest duration of each histogram is close to a power of two.
    #[test]
    fn a_read_histogram_has_memory_for_its_own_durations_and_takes_any_other() {
        for longest_ns in (2..=41).flat_map(|bit| [(1 << bit) - 1, 1_u64 << bit, (1 << bit) + 1]) {
            let mut hist = Hist::new();
            [3, 3, longest_ns / 2, longest_ns].iter().for_each(|ns| hist.record_ns(*ns));
            for digits in [1, 2, DIGITS] {
                let read = Hist::from_base64(&hist.to_short_base64(digits)).unwrap();
                assert_eq!(read.len(), 4, "{longest_ns} {digits}");
                assert!(read.inner.high() < longest_ns.max(1 << 11) * 4, "{longest_ns}: {}", read.inner.high());
            }
            let mut read = Hist::from_base64(&hist.to_base64()).unwrap();
            assert_eq!(read, hist);
            let mut longer = Hist::new();
            longer.record_ns(HIGHEST_NS);
            let mut merged = read.clone();
            merged.merge(&longer);
            merged.take_back(&longer);
            assert_eq!(merged, hist, "{longest_ns}");
            read.take_back(&longer);
            assert_eq!(read, hist, "{longest_ns}: an hour was never recorded");
            read.record_ns(u64::MAX);
            hist.record_ns(u64::MAX);
            assert_eq!(read, hist, "{longest_ns}");
        }
    }
}
