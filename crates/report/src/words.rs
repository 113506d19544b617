//! Small changes to sentences of other crates.

/// Returns the sentence with a capital first letter, unless it begins with a name such as `p99`.
pub(crate) fn capital(sentence: &str) -> String {
    let is_name = sentence.split(' ').next().is_some_and(|word| word.contains(|c: char| c.is_ascii_digit()));
    let mut chars = sentence.chars();
    match chars.next() {
        Some(first) if !is_name => first.to_uppercase().chain(chars).collect(),
        _ => sentence.into(),
    }
}
