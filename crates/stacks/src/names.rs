//! Makes the names in symbol tables readable.

use std::fmt::{self, Write};
use std::sync::Arc;

use cpp_demangle::DemangleOptions;

/// Longest mangled name that is decoded. Longer names are cut and not decoded.
const MAX_MANGLED_BYTES: usize = 2048;

/// Maximum length of a readable name, characters. Names of C++ templates can have thousands of characters, too many for
/// a table or a chart.
const MAX_NAME_CHARS: usize = 160;

/// Returns the readable and printable form of a symbol's name.
pub(crate) fn readable(name: &[u8]) -> Arc<str> {
    let mangled = (name.len() <= MAX_MANGLED_BYTES).then(|| std::str::from_utf8(name).ok()).flatten();
    match mangled.and_then(demangle) {
        Some(decoded) => printable(&decoded),
        None => printable(&String::from_utf8_lossy(&name[..name.len().min(MAX_MANGLED_BYTES)])),
    }
}

fn demangle(name: &str) -> Option<String> {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        let mut out = Limited(String::new());
        return write!(out, "{rust:#}").ok().map(|()| out.0);
    }
    let symbol = name.starts_with("_Z").then(|| cpp_demangle::Symbol::new(name).ok()).flatten()?;
    let mut out = Limited(String::new());
    // The types of a C++ function's parameters are left out, because they are often longer than its name.
    let options = DemangleOptions::new().no_params().no_return_type();
    symbol.structured_demangle(&mut out, &options).ok().map(|()| out.0)
}

/// Text buffer that refuses to grow beyond [`MAX_MANGLED_BYTES`], because a short mangled name can expand to gigabytes.
struct Limited(String);

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        if self.0.len() > MAX_MANGLED_BYTES { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Removes characters that cannot be shown, replaces the separators of folded stacks, and cuts long text.
pub(crate) fn printable(text: &str) -> Arc<str> {
    let shown = |c: char| if c == ';' { ':' } else { c };
    let visible = text.chars().filter(|c| !c.is_control() && !is_invisible(*c)).map(shown);
    let mut name: String = visible.take(MAX_NAME_CHARS).collect();
    if text.chars().nth(MAX_NAME_CHARS).is_some() {
        name.push('…');
    }
    name.into()
}

/// Returns true for characters that change the direction of text or have no width.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffe}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rust_and_cpp_are_decoded_and_others_kept() {
        assert_eq!(&*readable(b"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
        assert_eq!(&*readable(b"_ZN3foo3barEi"), "foo::bar");
        assert_eq!(&*readable(b"deflate"), "deflate");
        assert_eq!(&*readable(b"a;b\x1b[31m\xff"), "a:b[31m\u{fffd}");
        assert_eq!(readable(&[b'x'; 100_000]).chars().count(), MAX_NAME_CHARS + 1);
    }

    #[test]
    fn a_short_name_that_stands_for_a_long_one_is_bounded() {
        let bomb = format!("_Z1fI{}E", "1AIS_S_".repeat(200));
        assert!(readable(bomb.as_bytes()).chars().count() <= MAX_NAME_CHARS + 1);
    }
}
