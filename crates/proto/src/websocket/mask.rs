//! Masks (RFC 6455, section 5.3): a client XORs its payload with four bytes, which are repeated.

/// Applies a mask to bytes that begin at offset `from` of the payload. A second call with the same arguments removes
/// the mask.
#[inline]
pub(super) fn apply(bytes: &mut [u8], mask: [u8; 4], from: u64) {
    let mut turned = mask;
    turned.rotate_left((from % 4) as usize);
    let [a, b, c, d] = turned;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let mut eights = bytes.chunks_exact_mut(8);
    for eight in &mut eights {
        if let Some(bytes) = eight.first_chunk_mut() {
            *bytes = (u64::from_ne_bytes(*bytes) ^ wide).to_ne_bytes();
        }
    }
    eights.into_remainder().iter_mut().zip(turned.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_are_masked_as_the_whole(bytes in prop::collection::vec(any::<u8>(), 0..100), mask in any::<[u8; 4]>(), cut in 0_usize..100) {
            let expected: Vec<u8> = bytes.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]).collect();
            let cut = cut.min(bytes.len());
            let mut masked = bytes;
            let (first, rest) = masked.split_at_mut(cut);
            apply(first, mask, 0);
            apply(rest, mask, cut as u64);
            prop_assert_eq!(masked, expected);
        }
    }
}
