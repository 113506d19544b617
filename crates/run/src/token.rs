//! Words of HTTP, such as methods and names of headers. Source: RFC 9110, section 5.6.2.

/// Returns true if a text can be a method or the name of a header.
pub fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// Returns true for a byte that a method or the name of a header may contain.
#[inline]
pub fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_word_without_separators() {
        assert!(["GET", "x-a", "M-SEARCH", "a~b"].into_iter().all(is_token));
        assert!(["", "FETCH IT", "a:b", "é", "a\n"].into_iter().all(|text| !is_token(text)));
    }
}
