//! Parses the times in access logs. All functions return seconds since 1 January 1970.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime;

/// Formats of a time with a time zone.
const ZONED: &[&str] = &["%d/%b/%Y:%H:%M:%S%.f %z", "%d/%b/%Y:%H:%M:%S %z"];
/// Formats of a time without a time zone: the format of HAProxy, and the formats of programs in Python and Java.
/// loadline reads times without a zone as UTC. A replay uses only differences of times, so the zone does not matter.
const LOCAL: &[&str] =
    &["%d/%b/%Y:%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y/%m/%d %H:%M:%S%.f"];
/// Smallest number in a line of text that counts as a time, seconds since the epoch (September 2001). Smaller numbers
/// may be process IDs, sizes or durations. In a log whose times are mostly later, no earlier time counts.
pub(super) const MIN_EPOCH_S: f64 = 1e9;
/// Number of words at the beginning of a line in which loadline looks for a time, if no time is in brackets.
const MAX_WORDS: usize = 16;

/// Finds the time in a line of text. The first time in brackets takes precedence. Next is the first word that is a
/// time, and then the first pair of neighbouring words that is a time. A number outside brackets must have a decimal
/// point to count as a time. Returns `None` if the line contains no time.
pub(super) fn in_text(text: &str) -> Option<f64> {
    let brackets = text.match_indices('[').filter_map(|(open, _)| {
        let inside = &text[open + 1..];
        Some(&inside[..inside.find(']')?])
    });
    let words: Vec<&str> = text.split([' ', '\t', '|']).take(MAX_WORDS).map(|word| word.trim_matches('"')).collect();
    let pairs = words.windows(2).filter(|two| two[0].len() == "2000-10-10".len()).map(|two| two.join(" "));
    let found = brackets.clone().find_map(date).or_else(|| brackets.clone().find_map(late_number));
    let word = || words.iter().find_map(|word| date(word));
    found.or_else(word).or_else(|| pairs.into_iter().find_map(|two| date(&two))).or_else(|| {
        let exact = |word: &&&str| word.contains('.');
        words.iter().filter(exact).find_map(|word| late_number(word))
    })
}

/// Parses the value of a JSON field: a date, or a number of seconds, milliseconds, microseconds or nanoseconds.
pub(super) fn of_field(text: &str) -> Option<f64> {
    number(text).or_else(|| date(text))
}

fn late_number(text: &str) -> Option<f64> {
    number(text).filter(|at| *at >= MIN_EPOCH_S)
}

fn number(text: &str) -> Option<f64> {
    let number = text.parse::<f64>().ok()?;
    // A log's time of 1e11 or more is in a unit smaller than seconds. 1e11 seconds are in the year 5138, and 1e11
    // milliseconds in the year 1973.
    let factor = [1.0, 1e-3, 1e-6, 1e-9].into_iter().find(|factor| number * factor < 1e11)?;
    Some(number * factor).filter(|s| s.is_finite() && *s >= 0.0)
}

/// Parses a date with a time, such as `10/Oct/2000:13:55:36 -0700` or a time of RFC 3339.
fn date(text: &str) -> Option<f64> {
    if !text.contains(':') {
        return None;
    }
    // A comma separates the fraction in ISO 8601 and in Python's logs.
    let text = &text.replace(',', ".");
    let zoned = |format: &&str| strtime::parse(format, text).ok()?.to_timestamp().ok();
    let local = |format: &&str| {
        let time: DateTime = strtime::parse(format, text).ok()?.to_datetime().ok()?;
        time.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    };
    let stamp = text.parse::<Timestamp>().ok().or_else(|| ZONED.iter().find_map(zoned));
    let stamp = stamp.or_else(|| LOCAL.iter().find_map(local))?;
    Some(stamp.as_nanosecond() as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_read_from_a_bracket_or_a_word() {
        for (text, at) in [
            ("[2001:db8::2] - - [10/Oct/2000:13:55:36 -0700]", 971_211_336.0),
            ("Oct 10 13:55:36 h nginx[812]: 1.2.3.4 - - [10/Oct/2000:13:55:36.250 -0700]", 971_211_336.25),
            ("h haproxy[4711]: [2001:db8::2]:31 [10/Oct/2000:20:55:36.655] fe be/s", 971_211_336.655),
            ("[2000-10-10T20:55:36.5Z]", 971_211_336.5),
            ("<134>1 2000-10-10T20:55:36Z h p 4711 -", 971_211_336.0),
            ("2000-10-10 20:55:36,750 INFO", 971_211_336.75),
            ("2000-10-10T20:55:36.750 INFO", 971_211_336.75),
            ("[4711] [1700000000.123]", 1_700_000_000.123),
            ("1700000000.123 h", 1_700_000_000.123),
        ] {
            let read = in_text(text).unwrap_or_else(|| panic!("{text}"));
            assert!((read - at).abs() < 1e-3, "{text}: {read}");
        }
        for text in ["h haproxy[4711]: - -", "[2001:db8::2] - -", "[-] 300 12.5", ""] {
            assert_eq!(in_text(text), None, "{text}");
        }
        assert_eq!(of_field("971211336000"), Some(971_211_336.0), "milliseconds");
        assert_eq!(of_field("4.5"), Some(4.5), "since the start");
    }
}
