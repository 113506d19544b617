//! Text representation of a histogram: an HdrHistogram V2 payload in base64, with or without compression.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
use serde::{Deserialize, Serialize};

use super::narrow::{HEADER_BYTES, narrow};
use super::{DIGITS, HIGHEST_NS, Hist};

/// Histograms of which loadline uses only the summary: the name, and the number of significant digits with which a file
/// stores the histogram. The file also stores the summaries of these histograms, with all digits.
const SUMMARIZED: [(&str, u8); 5] = [("service", 2), ("wait", 2), ("transfer", 2), ("blocked", 1), ("start_error", 1)];
/// Identifier at the start of an uncompressed payload.
const COOKIE: u32 = 0x1c84_9313;
/// Identifier at the start of a compressed payload.
const COMPRESSED_COOKIE: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();
/// Number of bytes before the compressed data of a compressed payload.
const COMPRESSED_HEADER_BYTES: usize = 8;
/// Maximum length of a payload, bytes: 34,816 counts of at most 9 bytes, and the header.
const MAX_PAYLOAD_BYTES: u64 = 320 << 10;

/// Error while reading a stored histogram.
#[derive(Debug, thiserror::Error)]
pub enum HistError {
    /// The text is not valid base64.
    #[error("histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The decoded bytes are not an HdrHistogram V2 payload.
    #[error("histogram is not an HdrHistogram V2 payload: {0}")]
    Payload(String),
}

impl Hist {
    /// Returns the HdrHistogram V2 payload in base64, uncompressed. HdrHistogram logs contain a compressed payload
    /// instead: see the output format `hdr` in the crate `report`.
    pub fn to_base64(&self) -> String {
        let mut bytes = Vec::new();
        // Writing a histogram with the bounds of `Hist` to memory cannot fail.
        let _ = V2Serializer::new().serialize(&self.inner, &mut bytes);
        STANDARD.encode(bytes)
    }

    /// Returns the compressed HdrHistogram V2 payload in base64, with `digits` significant digits.
    pub(super) fn to_short_base64(&self, digits: u8) -> String {
        let coarse = || {
            let mut coarse = Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, digits).ok()?;
            coarse.add(&self.inner).ok()?;
            Some(coarse)
        };
        let coarse = if digits < DIGITS { coarse() } else { None };
        let mut bytes = Vec::new();
        // Writing a histogram with the bounds of `Hist` to memory cannot fail.
        let _ = V2DeflateSerializer::new().serialize(coarse.as_ref().unwrap_or(&self.inner), &mut bytes);
        STANDARD.encode(bytes)
    }

    /// Reads an HdrHistogram V2 payload in base64, compressed or not. The payload does not contain the number of
    /// durations above one hour ([`Hist::saturated()`]).
    pub fn from_base64(text: &str) -> Result<Self, HistError> {
        let bytes = STANDARD.decode(text)?;
        let mut bytes = inflated(&bytes).map_err(HistError::Payload)?.into_owned();
        check_header(&bytes).map_err(HistError::Payload)?;
        narrow(&mut bytes);
        let read: Histogram<u64> =
            Deserializer::new().deserialize(&mut &*bytes).map_err(|e| HistError::Payload(format!("{e:?}")))?;
        if (read.low(), read.sigfig()) == (1, DIGITS) {
            return Ok(Self { inner: read, saturated: 0 });
        }
        let fails = |e: &dyn std::fmt::Display| HistError::Payload(e.to_string());
        let mut inner =
            Histogram::new_with_bounds(1, read.high().clamp(2, HIGHEST_NS), DIGITS).map_err(|e| fails(&e))?;
        inner.add(&read).map_err(|e| fails(&e))?;
        Ok(Self { inner, saturated: 0 })
    }
}

/// Returns the payload after decompression if it was compressed. Because a short compressed text could expand to
/// gigabytes, a payload longer than [`MAX_PAYLOAD_BYTES`] is an error.
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

/// Writes histograms by name as compressed payloads in base64. Writes the histograms of which loadline uses only the
/// summary (such as `service`) with fewer digits.
///
/// # Errors
/// Returns the errors of the serializer.
pub fn short<S: serde::Serializer>(histograms: &BTreeMap<String, Hist>, s: S) -> Result<S::Ok, S::Error> {
    let digits = |name: &str| SUMMARIZED.iter().find(|(known, _)| *known == name).map_or(DIGITS, |(_, digits)| *digits);
    s.collect_map(histograms.iter().map(|(name, hist)| (name, hist.to_short_base64(digits(name)))))
}

/// Checks that a payload's header claims no larger bounds than [`Hist`] has, and no more counts than the payload
/// contains. The library allocates as much memory as the header claims, before it reads further. Without a check of the
/// header, a text of under 200 bytes could make the library allocate gigabytes of memory. For example, the header could
/// claim values of five digits up to 2^62, or 4 GB of counts.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_its_own_text_form() {
        let mut hist = Hist::new();
        (1..=1000).for_each(|i| hist.record_ns(i * 1000));
        let back = Hist::from_base64(&hist.to_base64()).unwrap();
        assert_eq!(back, hist);
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
        for (digits, error) in [(2, 0.01), (1, 0.1)] {
            let coarse = hist.to_short_base64(digits);
            let read = Hist::from_base64(&coarse).unwrap();
            assert_eq!((read.len(), read.to_short_base64(digits)), (hist.len(), coarse.clone()));
            assert!(coarse.len() < text.len() && (read.quantile_us(0.9) / hist.quantile_us(0.9) - 1.0).abs() < error);
        }
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

    /// The fields of an uncompressed payload's header are cookie, payload length, normalizing offset, digits, lowest,
    /// highest and ratio. For a payload length of `u32::MAX`, the library would allocate 4 GB.
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
