//! Times at which cookies end: the values of `Max-Age` and `Expires`. Source: RFC 6265, sections 5.1.1 and 5.2.2.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::calendar::days_since_epoch;

/// Parses the value of `Max-Age`, seconds (section 5.2.2). A number beyond the range of `i64` becomes the nearest
/// `i64`.
pub(super) fn seconds(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let bound = if text.starts_with(b"-") { i64::MIN } else { i64::MAX };
    is_number.then(|| std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(bound))
}

/// Parses the date of `Expires` (section 5.1.1): a time, a day, a month and a year, in any order. Each part of the date
/// is tried as a time, then as a day, as a month and as a year. Returns seconds since 1970.
pub(super) fn date(text: &[u8]) -> Option<i64> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let text = std::str::from_utf8(text).ok()?.to_ascii_lowercase();
    let is_delimiter = |c: char| !(c.is_ascii_alphanumeric() || c == ':');
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        let digits = token.bytes().take_while(u8::is_ascii_digit).count();
        let number = || token[..digits].parse::<i64>().ok();
        if time.is_none() && token.contains(':') {
            time = clock(token);
        } else if day.is_none() && (1..=2).contains(&digits) {
            day = number();
        } else if month.is_none() && MONTHS.iter().any(|name| token.starts_with(name)) {
            month = MONTHS.iter().position(|name| token.starts_with(name));
        } else if year.is_none() && (2..=4).contains(&digits) {
            year = number().map(|year| match year {
                70..=99 => year + 1900,
                0..70 => year + 2000,
                year => year,
            });
        }
    }
    let (day, month, year) = (day?, month? as i64 + 1, year?);
    let is_date = (1..=31).contains(&day) && year >= 1601;
    is_date.then_some(days_since_epoch(year, month, day) * 86_400 + time?)
}

/// Parses `hh:mm:ss` to seconds.
fn clock(token: &str) -> Option<i64> {
    let mut parts = token.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    (hour < 24 && minute < 60 && second < 60).then_some(hour * 3600 + minute * 60 + second)
}

/// Returns the current time, seconds since 1970.
pub(super) fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}
