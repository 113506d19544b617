//! Strings with Huffman coding (RFC 7541, section 5.2 and appendix B). The code is canonical: the lengths of the
//! codewords are enough to compute the codewords.

use crate::Fault;

/// Fault for a name or value that is longer than all headers of a block may be.
pub(crate) const TOO_LONG: Fault = Fault::Limit("a header of HTTP/2 of more than 256 KiB");

/// Length of the codeword of each byte, bits. The last entry is for the codeword that marks the end of a string.
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12,
    10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6,
    5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22,
    22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20,
    22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28,
    27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28,
    27, 27, 27, 27, 27, 26, 30,
];
const MIN_CODE_BITS: usize = 5;
const MAX_CODE_BITS: usize = 30;
const END_OF_STRING: u16 = 256;

/// The codewords sorted by length. For each length, `first` is the first codeword, and `begin` is the index of its
/// symbol in `symbols`.
struct Code {
    first: [u32; MAX_CODE_BITS + 2],
    begin: [u16; MAX_CODE_BITS + 2],
    symbols: [u16; 257],
}

const CODE: Code = code();

const fn code() -> Code {
    let mut code = Code { first: [0; MAX_CODE_BITS + 2], begin: [0; MAX_CODE_BITS + 2], symbols: [0; 257] };
    let (mut next, mut sorted, mut length) = (0_u32, 0_u16, MIN_CODE_BITS);
    while length <= MAX_CODE_BITS {
        code.first[length] = next;
        code.begin[length] = sorted;
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == length {
                code.symbols[sorted as usize] = symbol as u16;
                sorted += 1;
                next += 1;
            }
            symbol += 1;
        }
        next <<= 1;
        length += 1;
    }
    code.begin[MAX_CODE_BITS + 1] = sorted;
    code
}

pub(crate) const INVALID: Fault = Fault::Malformed("a Huffman-coded string of HPACK is wrong");

/// Appends the decoded string. Returns an error if `to` would get longer than `most` bytes.
pub(crate) fn decode(coded: &[u8], to: &mut Vec<u8>, most: usize) -> Result<(), Fault> {
    let (mut value, mut length) = (0_u32, 0_usize);
    for byte in coded {
        for bit in (0..8).rev() {
            value = value << 1 | u32::from(byte >> bit & 1);
            length += 1;
            if length < MIN_CODE_BITS {
                continue;
            }
            if length > MAX_CODE_BITS {
                return Err(INVALID);
            }
            let count = u32::from(CODE.begin[length + 1] - CODE.begin[length]);
            let offset = value.wrapping_sub(CODE.first[length]);
            if offset < count {
                let symbol = CODE.symbols[usize::from(CODE.begin[length]) + offset as usize];
                if symbol == END_OF_STRING {
                    return Err(INVALID);
                }
                if to.len() >= most {
                    return Err(TOO_LONG);
                }
                to.push(symbol as u8);
                (value, length) = (0, 0);
            }
        }
    }
    // The remaining bits must be the beginning of the codeword for the end of a string: fewer than eight bits, all of
    // them ones.
    if length < 8 && value == (1 << length) - 1 { Ok(()) } else { Err(INVALID) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(coded: &[u8]) -> Result<String, Fault> {
        let mut to = Vec::new();
        decode(coded, &mut to, 100).map(|()| String::from_utf8(to).unwrap())
    }

    #[test]
    fn the_examples_of_the_standard_are_read() {
        let www = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(decoded(&www).unwrap(), "www.example.com");
        assert_eq!(decoded(&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]).unwrap(), "no-cache");
        assert_eq!(decoded(&[0x64, 0x02]).unwrap(), "302");
        assert_eq!(decoded(&[]).unwrap(), "");
    }

    #[test]
    fn wrong_padding_and_the_end_of_string_are_refused() {
        for wrong in [&[0x00][..], &[0xff], &[0xff, 0xff, 0xff, 0xff], &[0x64, 0x02, 0xff]] {
            assert!(decoded(wrong).is_err(), "{wrong:?}");
        }
        let mut to = Vec::new();
        assert_eq!(decode(&[0; 100], &mut to, 10), Err(TOO_LONG));
    }
}
