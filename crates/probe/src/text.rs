//! Parses numbers in the kernel's text files, directly from bytes and without allocation. Text that is not a number
//! gives `None`.

/// Returns the words of a line.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Returns the lines of a file that are not empty.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| *b == b'\n').filter(|line| !line.is_empty())
}

/// Parses a decimal number. Returns `None` for any other text, and for numbers beyond 64 bits.
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    digits(word, 10)
}

/// Parses a hexadecimal number without prefix.
pub(crate) fn hex(word: &[u8]) -> Option<u64> {
    digits(word, 16)
}

fn digits(word: &[u8], base: u32) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0_u64, |sum, b| {
        let digit = char::from(*b).to_digit(base)?;
        sum.checked_mul(u64::from(base))?.checked_add(u64::from(digit))
    })
}

/// Parses a number as [`number`] does and returns it as the value of a reading, which is exact up to 2^53.
pub(crate) fn value(word: &[u8]) -> Option<f64> {
    number(word).map(|n| n as f64)
}

/// Returns the words after `key` on the first line that begins with `key` (`MemTotal:`, `cpu`).
pub(crate) fn after<'a>(text: &'a [u8], key: &str) -> Option<impl Iterator<Item = &'a [u8]>> {
    let mut all = lines(text).map(words);
    all.find_map(|mut line| (line.next() == Some(key.as_bytes())).then_some(line))
}

/// Returns the number after `key`, as in `nr_throttled 5`.
pub(crate) fn keyed(text: &[u8], key: &str) -> Option<f64> {
    after(text, key)?.next().and_then(value)
}

/// Converts a name from the kernel to text. Invalid UTF-8 is replaced.
pub(crate) fn name(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Splits /proc/PID/stat into the name in brackets and the words after it. The name of a process may contain brackets
/// and spaces.
pub(crate) fn stat_fields(text: &[u8]) -> Option<(String, impl Iterator<Item = &[u8]>)> {
    let open = text.iter().position(|b| *b == b'(')?;
    let close = text.iter().rposition(|b| *b == b')')?;
    let comm = text.get(open + 1..close)?;
    // The kernel cuts names after 15 characters, so a name may end with a space.
    Some((name(comm.trim_ascii_end()).into_owned(), words(&text[close + 1..])))
}

/// State of a process, as /proc/PID/stat shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatState {
    pub(crate) letter: u8,
    pub(crate) has_ended: bool,
}

/// Returns the state of a process, from the words that [`stat_fields`] returns. If the first thread of a process has
/// ended, its state letter is `Z`, although other threads may still run. Source: proc_pid_stat(5), fields 3 (state) and
/// 20 (num_threads).
pub(crate) fn stat_state<'a>(mut fields: impl Iterator<Item = &'a [u8]>) -> Option<StatState> {
    let letter = *fields.next()?.first()?;
    let threads = fields.nth(16).and_then(number).unwrap_or(1);
    let has_ended = letter == b'X' || letter == b'Z' && threads <= 1;
    Some(StatState { letter, has_ended })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_goes_on_without_its_first_thread() {
        let ended = |letter: &str, threads: u32| {
            let text = format!("7 (a b) {letter} 5 7 7 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 {threads} 0 99 0 0");
            stat_state(stat_fields(text.as_bytes()).unwrap().1).unwrap().has_ended
        };
        assert!(ended("Z", 1) && ended("X", 1));
        assert!(!ended("Z", 3) && !ended("S", 1) && !ended("T", 2));
        assert_eq!(stat_state(std::iter::empty()), None);
    }

    #[test]
    fn invalid_numbers_are_none() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        for odd in [&b"18446744073709551616"[..], b"-1", b"", b"+5", b"0x10", b"1.5", b"max"] {
            assert_eq!(number(odd), None, "{odd:?}");
        }
        assert_eq!(hex(b"000023c2"), Some(0x23c2));
    }

    #[test]
    fn keys_match_whole_words() {
        let text = b"MemTotalX: 1\nMemTotal:   2 kB\n\nlast";
        assert_eq!(keyed(text, "MemTotal:"), Some(2.0));
        assert_eq!(keyed(text, "last"), None);
        assert_eq!(keyed(text, "none"), None);
    }

    #[test]
    fn names_may_contain_brackets_and_spaces() {
        let (comm, mut rest) = stat_fields(b"7 (a) (b c ) S 1 2").unwrap();
        assert_eq!((comm.as_str(), rest.next()), ("a) (b c", Some(&b"S"[..])));
        assert!(stat_fields(b"7 odd").is_none() && stat_fields(b")(").is_none());
    }
}
