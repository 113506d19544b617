//! Reads the validity times and the common name of a certificate. Sources: RFC 5280, section 4.1; X.690.

use crate::calendar::days_since_epoch;

/// Validity times and common name of a certificate.
pub(super) struct Facts<'a> {
    /// First moment of the certificate's validity, seconds since the epoch.
    pub(super) begins_s: i64,
    /// Last moment of the certificate's validity, seconds since the epoch.
    pub(super) ends_s: i64,
    /// Common name of the certificate's subject, if there is one.
    pub(super) common_name: Option<&'a [u8]>,
}

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_ID: u8 = 0x06;
/// Tag of the version, which is optional.
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// Object identifier of the common name (2.5.4.3).
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// Reads the fields of a certificate (DER). Returns `None` if the certificate is not encoded as expected.
pub(super) fn facts(certificate: &[u8]) -> Option<Facts<'_>> {
    let (certificate, _) = element(certificate, SEQUENCE)?;
    let (mut rest, _) = element(certificate, SEQUENCE)?;
    if rest.first() == Some(&VERSION) {
        rest = first_element(rest)?.2;
    }
    // Skips the serial number, the signature algorithm and the issuer.
    for _ in 0..3 {
        rest = first_element(rest)?.2;
    }
    let (validity, rest) = element(rest, SEQUENCE)?;
    let (subject, _) = element(rest, SEQUENCE)?;
    let (kind, begin, after) = first_element(validity)?;
    let (end_kind, end, _) = first_element(after)?;
    Some(Facts { begins_s: time(kind, begin)?, ends_s: time(end_kind, end)?, common_name: common_name(subject) })
}

/// Returns the last common name of a subject.
fn common_name(mut subject: &[u8]) -> Option<&[u8]> {
    let mut found = None;
    while let Some((mut set, rest)) = element(subject, SET) {
        while let Some((attribute, more)) = element(set, SEQUENCE) {
            let (name, value) = element(attribute, OBJECT_ID)?;
            if name == COMMON_NAME {
                found = first_element(value).map(|(_, text, _)| text);
            }
            set = more;
        }
        subject = rest;
    }
    found
}

/// Splits the first element from `bytes`, if the element's tag is `tag`. Returns the element's content, and the bytes
/// after the element.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    first_element(bytes).filter(|(found, ..)| *found == tag).map(|(_, content, rest)| (content, rest))
}

/// Splits the first element from `bytes`. Returns the element's tag, its content, and the bytes after the element.
fn first_element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = bytes.split_first_chunk::<2>()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// Parses a time in the form `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ`. The tag determines whether the year has two or four
/// digits. Returns seconds since the epoch.
fn time(tag: u8, text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (year, rest) = text.split_at_checked(if tag == GENERALIZED_TIME { 4 } else { 2 })?;
    let is_time =
        [UTC_TIME, GENERALIZED_TIME].contains(&tag) && rest.len() == 10 && text.bytes().all(|b| b.is_ascii_digit());
    let year: i64 = year.parse().ok().filter(|_| is_time)?;
    let year = match (tag, year) {
        (UTC_TIME, 50..) => 1900 + year,
        (UTC_TIME, _) => 2000 + year,
        _ => year,
    };
    let part = |at: usize| rest.get(at..at + 2)?.parse::<i64>().ok();
    let (month, day) = (part(0)?, part(2)?);
    let in_day = part(4)? * 3600 + part(6)? * 60 + part(8)?;
    (1..=12).contains(&month).then(|| days_since_epoch(year, month, day) * 86_400 + in_day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};

    use super::*;

    fn certificate() -> Vec<u8> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::OrganizationName, "O");
        params.distinguished_name.push(DnType::CommonName, "box.example");
        (params.not_before, params.not_after) = (date_time_ymd(1994, 11, 6), date_time_ymd(2061, 2, 28));
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn times_and_the_common_name_are_read() {
        let certificate = certificate();
        let facts = facts(&certificate).unwrap();
        assert_eq!((facts.begins_s, facts.ends_s), (784_080_000, 2_876_774_400));
        assert_eq!(facts.common_name, Some(&b"box.example"[..]));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80), at in 0_usize..400, byte in any::<u8>()) {
            let _ = facts(&bytes);
            let mut changed = certificate();
            let at = at.min(changed.len() - 1);
            changed[at] = byte;
            let _ = facts(&changed);
            let _ = facts(&changed[..at]);
        }
    }
}
