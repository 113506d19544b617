use proptest::prelude::*;

use super::static_table::STATIC_TABLE;
use super::*;
use crate::Fault;

fn read(block: &[u8]) -> Result<Vec<(String, String)>, Fault> {
    let mut all = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Decoder::default().decode(block, |name, value| all.push((text(name), text(value))))?;
    Ok(all)
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
}

/// Appendix B.1 of RFC 9204: a header block that uses only the static table.
#[test]
fn the_example_of_the_standard_is_read_and_written() {
    let block = b"\0\0\x51\x0b/index.html";
    let headers = pairs(&[(":path", "/index.html")]);
    assert_eq!(read(block).unwrap(), headers);
    assert_eq!((QPACK.blocks)(&headers).plain, block);
}

/// Appendices B.2 to B.4 of RFC 9204: header blocks that need the dynamic table, which was announced with 0 bytes.
#[test]
fn blocks_that_need_the_dynamic_table_are_refused() {
    for block in
        [&b"\x03\x81\x10\x11"[..], b"\x05\0\x80\xc1\x81", b"\0\0\x80", b"\0\0\x40\x01a", b"\0\0\x10", b"\0\0\0\x01a"]
    {
        assert!(read(block).unwrap_err().to_string().contains("dynamic table"), "{block:?}");
    }
}

/// Strings with Huffman coding (RFC 7541, appendix C.4): www.example.com, custom-key and custom-value.
#[test]
fn strings_with_huffman_coding_are_read() {
    let mut block = b"\0\0\x50\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff".to_vec();
    // The name has 8 bytes, and its length begins in the last three bits after the Huffman bit.
    block.extend_from_slice(b"\x2f\x01\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f\x89\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf");
    let headers = pairs(&[(":authority", "www.example.com"), ("custom-key", "custom-value")]);
    assert_eq!(read(&block).unwrap(), headers);
}

#[test]
fn every_entry_of_the_static_table_is_one_reference() {
    for (index, (name, value)) in STATIC_TABLE.iter().enumerate() {
        let mut block = vec![0, 0];
        write_field(&mut block, name, value);
        assert!(block.len() <= 4, "{name} {index}");
        assert_eq!(read(&block).unwrap(), pairs(&[(name, value)]));
    }
    let mut beyond = vec![0, 0];
    crate::http2::hpack::primitives::write_integer(&mut beyond, 0xc0, 6, STATIC_TABLE.len());
    assert_eq!(read(&beyond), Err(INVALID));
}

#[test]
fn incomplete_blocks_and_large_headers_are_refused() {
    for block in [&b""[..], b"\0", b"\0\0\x51\x0b/index", b"\0\0\xff", b"\0\0\x27", b"\0\0\x23abc"] {
        assert_eq!(read(block), Err(INVALID), "{block:?}");
    }
    let mut many = vec![0, 0];
    (0..20).for_each(|_| write_field(&mut many, "x", &"v".repeat(16_000)));
    assert_eq!(read(&many), Err(Fault::Limit("headers of HTTP/3 of more than 256 KiB")));
    let mut long = vec![0, 0];
    write_field(&mut long, "x", &"v".repeat(60_000));
    assert_eq!(read(&long), Ok(pairs(&[("x", &"v".repeat(60_000))])));
    let mut too_long = vec![0, 0];
    write_field(&mut too_long, "x", &"v".repeat(300_000));
    assert_eq!(read(&too_long), Err(Fault::Limit("a header of HTTP/3 of more than 256 KiB")));
}

proptest! {
    #[test]
    fn what_is_written_is_read(headers in proptest::collection::vec(("[a-z:-]{1,20}", "[ -~]{0,300}"), 0..10)) {
        prop_assert_eq!(read(&(QPACK.blocks)(&headers).plain).unwrap(), headers);
    }

    #[test]
    fn any_bytes_are_read_or_refused(block in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&block);
    }
}
