//! Writes the values of placeholders: numbers, UUIDs and percent-encoded texts.

use fastrand::Rng;

/// Appends a number in decimal digits.
pub(crate) fn decimal(mut number: u64, to: &mut Vec<u8>) {
    let (mut digits, mut at) = ([0; 20], 20);
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    to.extend_from_slice(&digits[at..]);
}

/// Hexadecimal digits by value.
const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends a random UUID (RFC 9562, version 4).
pub(super) fn uuid(rng: &mut Rng, to: &mut Vec<u8>) {
    let mut bits = rng.u128(..);
    bits = bits & !(0xf << 76) | 0x4 << 76;
    bits = bits & !(0x3 << 62) | 0x2 << 62;
    for digit in 0..32 {
        if matches!(digit, 8 | 12 | 16 | 20) {
            to.push(b'-');
        }
        to.push(HEX[(bits >> (124 - 4 * digit)) as usize & 0xf]);
    }
}

/// Appends a value to a path. Blanks and control characters become `%HH`, because they would end the path or break the
/// request line (RFC 9112, section 3.2).
pub(super) fn without_blanks(value: &[u8], to: &mut Vec<u8>) {
    for byte in value {
        match byte {
            0..=b' ' | 0x7f => push_escape(*byte, to),
            _ => to.push(*byte),
        }
    }
}

/// Appends a byte as `%HH`.
fn push_escape(byte: u8, to: &mut Vec<u8>) {
    to.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]].map(|c| c.to_ascii_uppercase()));
}

pub(super) fn percent_encoded(text: &str) -> Box<[u8]> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(byte),
            _ => push_escape(byte, &mut out),
        }
    }
    out.into()
}
