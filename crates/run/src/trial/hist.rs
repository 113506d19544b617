//! Histograms of durations: nanoseconds in memory, microseconds in summaries, HdrHistogram V2 on disk.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::skip_empty;
use crate::{LowerBounds, SummaryFigure, TimeFigure};

/// Longest distinct duration, nanoseconds: 1 hour. Longer durations count as 1 hour, and also in [`Hist::saturated`].
const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Three significant digits: values are off by at most 0.1 %.
const DIGITS: u8 = 3;
/// Names of a trial's histograms of which only the summary is used. A file keeps two significant digits of them.
const SUMMARIZED: [&str; 3] = ["service", "blocked", "start_error"];
const SUMMARIZED_DIGITS: u8 = 2;

/// A histogram of durations. Recording a duration never allocates.
#[derive(Clone, Debug, PartialEq)]
pub struct Hist {
    inner: Histogram<u64>,
    saturated: u64,
}

/// Error while reading a stored histogram.
#[derive(Debug, thiserror::Error)]
pub enum HistError {
    /// The text is not valid base64.
    #[error("histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Not an HdrHistogram V2 payload.
    #[error("histogram is not an HdrHistogram V2 payload: {0}")]
    Payload(String),
}

impl Default for Hist {
    fn default() -> Self {
        Self::new()
    }
}

impl Hist {
    /// Longest distinct duration, nanoseconds.
    pub const HIGHEST_NS: u64 = HIGHEST_NS;

    /// Makes an empty histogram. Only this call allocates memory (270 KiB), and it touches all of it.
    pub fn new() -> Self {
        let inner = Histogram::new_with_bounds(1, HIGHEST_NS, DIGITS);
        // The library accepts these constant bounds; the fallback only satisfies the type checker.
        let inner = inner.unwrap_or_else(|_| Histogram::<u64>::new(DIGITS).unwrap_or_else(|_| unreachable!()));
        Self { inner, saturated: 0 }
    }

    /// Records one duration in nanoseconds.
    #[inline]
    pub fn record_ns(&mut self, ns: u64) {
        if ns > HIGHEST_NS {
            self.saturated += 1;
        }
        self.inner.saturating_record(ns.clamp(1, HIGHEST_NS));
    }

    /// Records `count` durations of the same length.
    pub fn record_many_ns(&mut self, ns: u64, count: u64) {
        if ns > HIGHEST_NS {
            self.saturated = self.saturated.saturating_add(count);
        }
        self.inner.saturating_record_n(ns.clamp(1, HIGHEST_NS), count);
    }

    /// Adds all counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        // The bounds are equal on both sides, so this cannot fail.
        let _ = self.inner.add(&other.inner);
        self.saturated = self.saturated.saturating_add(other.saturated);
    }

    /// Adds another histogram and consumes it. An empty histogram takes its place without copying.
    pub fn absorb(&mut self, other: Self) {
        if self.is_empty() && self.saturated == 0 {
            *self = other;
        } else {
            self.merge(&other);
        }
    }

    /// Clears all counts and keeps the memory. Does not touch the memory of an empty histogram.
    pub fn clear(&mut self) {
        if !self.is_empty() {
            self.inner.reset();
        }
        self.saturated = 0;
    }

    /// Returns the number of durations.
    pub fn len(&self) -> u64 {
        self.inner.len()
    }

    /// Returns true if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// Returns the number of durations longer than one hour.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// Returns the `q` quantile (0 to 1) in microseconds; 0 if empty.
    pub fn quantile_us(&self, q: f64) -> f64 {
        self.inner.value_at_quantile(q) as f64 / 1e3
    }

    /// Returns the mean in microseconds; 0 if empty.
    pub fn mean_us(&self) -> f64 {
        self.inner.mean() / 1e3
    }

    /// Returns the share of durations (0 to 1) at or below a duration in nanoseconds; 1 if empty.
    pub fn share_within_ns(&self, ns: u64) -> f64 {
        if self.is_empty() { 1.0 } else { self.inner.count_between(0, ns.min(HIGHEST_NS)) as f64 / self.len() as f64 }
    }

    /// Returns the `q` quantile (0 to 1) of the wait that arrivals at random moments would see, in microseconds.
    /// Assumes that the durations follow each other without a gap, as for one closed-loop client. An arrival in the
    /// middle of a long duration waits until it ends, but a closed-loop client meets each long duration only once.
    pub fn wait_of_arrivals_us(&self, q: f64) -> f64 {
        let steps: Vec<(f64, f64)> =
            self.inner.iter_recorded().map(|v| (v.value_iterated_to() as f64, v.count_at_value() as f64)).collect();
        // Share of arrivals that wait longer than v = sum of (x - v) over all x > v, divided by the sum of all x.
        let beyond = (1.0 - q.clamp(0.0, 1.0)) * steps.iter().map(|(x, n)| x * n).sum::<f64>();
        let (mut longer, mut sum) = (0.0, 0.0);
        for (x, n) in steps.iter().rev() {
            if longer > 0.0 && sum - longer * x >= beyond {
                break;
            }
            (longer, sum) = (longer + n, sum + x * n);
        }
        if longer > 0.0 { ((sum - beyond) / longer).max(0.0) / 1e3 } else { 0.0 }
    }

    /// Returns the summary.
    pub fn summary(&self) -> Summary {
        Summary {
            count: self.len(),
            mean: self.mean_us(),
            min: if self.is_empty() { 0.0 } else { self.inner.min() as f64 / 1e3 },
            p50: self.quantile_us(0.50),
            p90: self.quantile_us(0.90),
            p99: self.quantile_us(0.99),
            p99_9: self.quantile_us(0.999),
            max: self.inner.max() as f64 / 1e3,
            ..Summary::default()
        }
    }

    /// Returns points of the percentile curve: (share of counts, microseconds), denser towards 1.
    pub fn curve_us(&self) -> Vec<(f64, f64)> {
        self.inner.iter_quantiles(5).map(|v| (v.quantile_iterated_to(), v.value_iterated_to() as f64 / 1e3)).collect()
    }

    /// Returns the library's histogram, with values in nanoseconds, for writers of other formats.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.inner
    }

    /// Returns the HdrHistogram V2 payload in base64, uncompressed. HdrHistogram logs hold a compressed payload: see
    /// the hdr form in `report`.
    pub fn to_base64(&self) -> String {
        let mut bytes = Vec::new();
        // Writing a histogram with these bounds to memory cannot fail.
        let _ = V2Serializer::new().serialize(&self.inner, &mut bytes);
        STANDARD.encode(bytes)
    }

    /// Returns the compressed HdrHistogram V2 payload in base64, with this number of significant digits.
    fn to_short_base64(&self, digits: u8) -> String {
        let coarse = || {
            let mut coarse = Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, digits).ok()?;
            coarse.add(&self.inner).ok()?;
            Some(coarse)
        };
        let coarse = if digits < DIGITS { coarse() } else { None };
        let mut bytes = Vec::new();
        // Writing a histogram with these bounds to memory cannot fail.
        let _ = V2DeflateSerializer::new().serialize(coarse.as_ref().unwrap_or(&self.inner), &mut bytes);
        STANDARD.encode(bytes)
    }

    /// Reads an HdrHistogram V2 payload in base64, compressed or not. The format has no count of saturated values.
    pub fn from_base64(text: &str) -> Result<Self, HistError> {
        let bytes = STANDARD.decode(text)?;
        let bytes = inflated(&bytes).map_err(HistError::Payload)?;
        check_header(&bytes).map_err(HistError::Payload)?;
        let read: Histogram<u64> =
            Deserializer::new().deserialize(&mut &*bytes).map_err(|e| HistError::Payload(format!("{e:?}")))?;
        if (read.low(), read.high(), read.sigfig()) == (1, HIGHEST_NS, DIGITS) {
            return Ok(Self { inner: read, saturated: 0 });
        }
        let mut hist = Self::new();
        hist.inner.add(&read).map_err(|e| HistError::Payload(e.to_string()))?;
        Ok(hist)
    }
}

/// Cookie of an uncompressed payload, and number of bytes before its counts.
const COOKIE: u32 = 0x1c84_9313;
const HEADER_BYTES: usize = 40;
/// Cookie of a compressed payload, and number of bytes before the compressed bytes.
const COMPRESSED_COOKIE: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();
const COMPRESSED_HEADER_BYTES: usize = 8;
/// Maximum length of a payload, bytes: 34,816 counts of at most 9 bytes, and the header.
const MAX_PAYLOAD_BYTES: u64 = 320 << 10;

/// Returns the payload without compression. A short text could expand to gigabytes, so the length is bounded.
fn inflated(bytes: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let Some(compressed) = bytes.get(COMPRESSED_HEADER_BYTES..).filter(|_| bytes.starts_with(&COMPRESSED_COOKIE))
    else {
        return Ok(bytes.into());
    };
    let mut payload = Vec::new();
    let read = ZlibDecoder::new(compressed).take(MAX_PAYLOAD_BYTES + 1).read_to_end(&mut payload);
    match read.map_err(|e| format!("it cannot be decompressed: {e}"))? as u64 {
        0..=MAX_PAYLOAD_BYTES => Ok(payload.into()),
        _ => Err(format!("it has more than {MAX_PAYLOAD_BYTES} bytes")),
    }
}

/// Writes the histograms of a trial in a short form.
pub(crate) fn short<S: serde::Serializer>(histograms: &BTreeMap<String, Hist>, s: S) -> Result<S::Ok, S::Error> {
    let digits = |name: &str| if SUMMARIZED.contains(&name) { SUMMARIZED_DIGITS } else { DIGITS };
    s.collect_map(histograms.iter().map(|(name, hist)| (name, hist.to_short_base64(digits(name)))))
}

/// Checks that a payload's header claims no larger bounds than ours, and no more counts than follow. The library
/// allocates memory as the header says before it reads further. A text of under 200 bytes could otherwise take
/// gigabytes: with five digits up to 2^62, or with 4 GB of claimed counts.
fn check_header(bytes: &[u8]) -> Result<(), String> {
    let word = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
    let long = |at: usize| Some(u64::from(word(at)?) << 32 | u64::from(word(at + 4)?));
    let (Some(digits), Some(highest)) = (word(12), long(24)) else { return Err("it is too short".into()) };
    if word(0) != Some(COOKIE) {
        return Err("it does not begin as an uncompressed histogram of version 2".into());
    }
    let (claims, there) = (word(4).map_or(0, |n| n as usize), bytes.len().saturating_sub(HEADER_BYTES));
    if claims > there {
        return Err(format!("its header claims {claims} bytes of counts, and {there} follow"));
    }
    match digits <= u32::from(DIGITS) && highest <= HIGHEST_NS {
        true => Ok(()),
        false => Err(format!(
            "its header claims {digits} digits up to {highest}; at most {DIGITS} and {HIGHEST_NS} are read"
        )),
    }
}

impl Serialize for Hist {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.to_base64())
    }
}

impl<'de> Deserialize<'de> for Hist {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        Self::from_base64(&text).map_err(serde::de::Error::custom)
    }
}

/// Summary of durations, all in microseconds. Requests that were never answered count as longer than every duration; see
/// [`crate::CensoredTimes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Summary {
    /// Number of durations, without unanswered requests.
    pub count: u64,
    /// Mean of all values.
    #[serde(with = "Figure")]
    pub mean: f64,
    /// Shortest value.
    #[serde(with = "Figure")]
    pub min: f64,
    /// Median of all values.
    #[serde(with = "Figure")]
    pub p50: f64,
    /// 90th percentile of all values.
    #[serde(with = "Figure")]
    pub p90: f64,
    /// 99th percentile of all values.
    #[serde(with = "Figure")]
    pub p99: f64,
    /// 99.9th percentile of all values.
    #[serde(with = "Figure")]
    pub p99_9: f64,
    /// Longest value.
    #[serde(with = "Figure")]
    pub max: f64,
    /// Number of requests that were never answered. They affect every figure except `count` and `min`.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub unanswered: u64,
    /// Names of the figures that are lower bounds, because too many requests were not answered.
    #[serde(skip_serializing_if = "LowerBounds::is_empty")]
    pub at_least: LowerBounds,
}

impl Summary {
    /// Returns a figure, or its lower bound.
    pub fn figure(&self, figure: SummaryFigure) -> TimeFigure {
        let mut copy = *self;
        let us = *copy.field(figure);
        match self.at_least.contains(figure) {
            _ if us <= 0.0 && (self.count == 0 || self.at_least.contains(figure)) => TimeFigure::Unknown,
            true => TimeFigure::AtLeast(us),
            false => TimeFigure::Exact(us),
        }
    }

    /// Returns the field of a figure.
    pub(crate) fn field(&mut self, figure: SummaryFigure) -> &mut f64 {
        match figure {
            SummaryFigure::Mean => &mut self.mean,
            SummaryFigure::P50 => &mut self.p50,
            SummaryFigure::P90 => &mut self.p90,
            SummaryFigure::P99 => &mut self.p99,
            SummaryFigure::P999 => &mut self.p99_9,
            SummaryFigure::Max => &mut self.max,
        }
    }

    /// Returns the share of requests that were never answered, 0 to 1.
    pub fn unanswered_share(&self) -> f64 {
        let all = self.count as f64 + self.unanswered as f64;
        if all > 0.0 { self.unanswered as f64 / all } else { 0.0 }
    }

    /// Returns true if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_its_own_text_form() {
        let mut hist = Hist::new();
        (1..=1000).for_each(|i| hist.record_ns(i * 1000));
        let back = Hist::from_base64(&hist.to_base64()).unwrap();
        assert_eq!(back.summary(), hist.summary());
        assert_eq!(back.len(), 1000);
    }

    fn spread() -> Hist {
        let mut hist = Hist::new();
        (1..50_000_u64).for_each(|i| hist.record_ns(i * i));
        hist
    }

    #[test]
    fn survives_its_short_form() {
        let hist = spread();
        let text = hist.to_short_base64(DIGITS);
        assert!(text.len() < hist.to_base64().len());
        assert_eq!(Hist::from_base64(&text).unwrap(), hist);
        let coarse = hist.to_short_base64(SUMMARIZED_DIGITS);
        let read = Hist::from_base64(&coarse).unwrap();
        assert_eq!((read.len(), read.to_short_base64(SUMMARIZED_DIGITS)), (hist.len(), coarse.clone()));
        assert!(coarse.len() < text.len() && (read.quantile_us(0.9) / hist.quantile_us(0.9) - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_compressed_payload_has_a_maximum_length() {
        let compressed = |payload: &[u8]| {
            let mut bytes = [COMPRESSED_COOKIE, [0; 4]].concat();
            let mut encoder = flate2::write::ZlibEncoder::new(&mut bytes, flate2::Compression::best());
            std::io::Write::write_all(&mut encoder, payload).unwrap();
            encoder.finish().unwrap();
            Hist::from_base64(&STANDARD.encode(bytes)).unwrap_err().to_string()
        };
        assert!(compressed(&vec![0; 50 << 20]).contains("more than 327680 bytes"));
        assert!(compressed(&[0; 100]).contains("does not begin"));
        let broken = STANDARD.encode([&COMPRESSED_COOKIE[..], &[1; 20]].concat());
        assert!(Hist::from_base64(&broken).unwrap_err().to_string().contains("cannot be decompressed"));
    }

    #[test]
    fn merging_equals_recording_in_one() {
        let (mut a, mut b, mut both) = (Hist::new(), Hist::new(), Hist::new());
        for i in 1..500u64 {
            if i % 2 == 0 {
                a.record_ns(i * 977)
            } else {
                b.record_ns(i * 977)
            }
            both.record_ns(i * 977);
        }
        a.merge(&b);
        assert_eq!(a, both);
    }

    #[test]
    fn arrivals_meet_a_duration_in_proportion_to_its_length() {
        let mut even = Hist::new();
        (0..1000).for_each(|_| even.record_ns(100_000));
        // Arrivals spread evenly over durations of 100 us: 1 % wait longer than 99 us.
        assert!((even.wait_of_arrivals_us(0.99) - 99.0).abs() < 0.5, "{}", even.wait_of_arrivals_us(0.99));
        // One stall of 50 ms after 100 ms of work covers a third of all moments.
        even.record_ns(50_000_000);
        let wait = even.wait_of_arrivals_us(0.99);
        assert!((wait - 48_500.0).abs() < 100.0 && even.quantile_us(0.99) < 101.0, "{wait}");
        assert_eq!(Hist::new().wait_of_arrivals_us(0.99), 0.0);
    }

    #[test]
    fn durations_above_an_hour_are_counted_as_saturated() {
        let mut hist = Hist::new();
        hist.record_ns(u64::MAX);
        assert_eq!((hist.len(), hist.saturated()), (1, 1));
    }

    /// Fields: cookie, payload length, normalizing offset, digits, lowest, highest, ratio. The library would allocate 4
    /// GB for this header.
    #[test]
    fn a_header_that_claims_more_memory_than_ours_is_refused_before_the_library_sees_it() {
        let whole = |cookie: u32, counts: u32, digits: u32, highest: u64| {
            let mut bytes = cookie.to_be_bytes().to_vec();
            [counts, 0, digits].iter().for_each(|word| bytes.extend(word.to_be_bytes()));
            [1, highest, 1.0_f64.to_bits()].iter().for_each(|long: &u64| bytes.extend(long.to_be_bytes()));
            bytes.push(0);
            Hist::from_base64(&STANDARD.encode(bytes)).map(|hist| hist.len()).map_err(|e| e.to_string())
        };
        let header = |digits, highest| whole(COOKIE, 1, digits, highest);
        assert_eq!(header(3, HIGHEST_NS), Ok(0));
        let claims = whole(COOKIE, u32::MAX, 3, HIGHEST_NS).unwrap_err();
        assert!(claims.contains("claims 4294967295 bytes of counts, and 1 follow"), "{claims}");
        // A compressed payload has a different cookie.
        assert!(whole(0x1c84_9312, 1, 3, HIGHEST_NS).unwrap_err().contains("does not begin as"));
        for (digits, highest) in [(5, 1 << 62), (3, 1 << 62), (5, HIGHEST_NS), (u32::MAX, 1)] {
            assert!(header(digits, highest).unwrap_err().contains("its header claims"), "{digits} {highest}");
        }
    }

    #[test]
    fn rubbish_is_an_error_and_not_a_panic() {
        assert!(Hist::from_base64("%%%").is_err());
        assert!(Hist::from_base64("AAAA").is_err());
    }
}
