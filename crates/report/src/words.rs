//! Small changes to sentences that other crates wrote.

/// Returns the sentence with a capital first letter, unless the sentence begins with a name such as `p99`,
/// `io_uring` or `loadline`.
pub(crate) fn capital(sentence: &str) -> String {
    let is_name = |word: &str| word == "loadline" || word.contains(|c: char| c.is_ascii_digit() || c == '_');
    let is_name = sentence.split(' ').next().is_some_and(is_name);
    let mut chars = sentence.chars();
    match chars.next() {
        Some(first) if !is_name => first.to_uppercase().chain(chars).collect(),
        _ => sentence.into(),
    }
}

/// Formats a time such as `2026-11-21T05:39:13.5Z` as `2026-11-21 05:39 UTC`. Returns a text in any other format
/// unchanged.
pub(crate) fn minute(time: &str) -> String {
    let utc = time.is_ascii() && time.len() > 16 && time.ends_with('Z') && time.as_bytes().get(10) == Some(&b'T');
    if utc { format!("{} {} UTC", &time[..10], &time[11..16]) } else { time.into() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_keep_their_first_letter() {
        let said = ["loadline only watched", "io_uring is not allowed", "other programs ran"].map(super::capital);
        assert_eq!(said, ["loadline only watched", "io_uring is not allowed", "Other programs ran"]);
    }
}
