//! Words of HTTP, such as methods and names of headers. Source: RFC 9110, section 5.6.2.

/// Returns true if a text can be a method or the name of a header.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}
