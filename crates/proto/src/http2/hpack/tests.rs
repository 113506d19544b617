use proptest::prelude::*;

use super::primitives::{write_integer, write_string};
use super::*;

fn read(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<(String, String)>, Fault> {
    let mut all = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    decoder.decode(block, |name, value| all.push((text(name), text(value))))?;
    Ok(all)
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
}

#[test]
fn all_three_blocks_of_a_request_say_the_same() {
    let headers = pairs(&[
        (":method", "GET"),
        (":path", "/a"),
        ("x-long", &"v".repeat(300)),
        ("accept", "x"),
        (":scheme", "https"),
    ]);
    let blocks = Blocks::new(&headers);
    let mut decoder = Decoder::default();
    assert_eq!(read(&mut decoder, &blocks.first).unwrap(), headers);
    assert_eq!(decoder.size, blocks.table);
    for _ in 0..3 {
        assert_eq!(read(&mut decoder, &blocks.later).unwrap(), headers);
        assert!(decoder.repeatable);
    }
    assert!(blocks.later.len() < 8);
    assert_eq!(read(&mut Decoder::default(), &blocks.plain).unwrap(), headers);
}

#[test]
fn the_examples_of_the_standard_are_read() {
    // The test data is from appendix C.6: three responses with Huffman coding. The header table has only 256 bytes, so
    // entries are dropped from it.
    let first = b"\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b\x61\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff\x6e\x91\x9d\x29\xad\x17\x18\x63\xc7\x8f\x0b\x97\xc8\xe9\xae\x82\xae\x43\xd3";
    let mut decoder = Decoder::default();
    decoder.resize(256);
    let date = "Mon, 21 Oct 2013 20:13:21 GMT";
    let expected = |status| {
        pairs(&[
            (":status", status),
            ("cache-control", "private"),
            ("date", date),
            ("location", "https://www.example.com"),
        ])
    };
    assert_eq!(read(&mut decoder, first).unwrap(), expected("302"));
    assert_eq!(decoder.size, 222);
    assert_eq!(read(&mut decoder, b"\x48\x83\x64\x0e\xff\xc1\xc0\xbf").unwrap(), expected("307"));
    assert_eq!((decoder.size, decoder.entries.len()), (222, 4));
}

#[test]
fn a_table_is_never_larger_than_allowed_and_a_bomb_is_refused() {
    let mut decoder = Decoder::default();
    let mut block = vec![];
    for i in 0..400 {
        write_integer(&mut block, 0x40, 6, 0);
        write_string(&mut block, &format!("name-{i}"));
        write_string(&mut block, &"v".repeat(200));
        assert!(decoder.size <= TABLE_BYTES);
    }
    decoder.decode(&block, |_, _| ()).unwrap();
    assert!(decoder.size <= TABLE_BYTES);
    let bomb = vec![0xbe; 4000];
    assert!(matches!(decoder.decode(&bomb, |_, _| ()), Err(Fault::Limit(_))));
    let mut large = Vec::new();
    write_integer(&mut large, 0x20, 5, TABLE_BYTES + 1);
    assert!(decoder.decode(&large, |_, _| ()).is_err());
}

proptest! {
    #[test]
    fn whatever_comes_is_read_or_refused(block in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut decoder = Decoder::default();
        let _ = decoder.decode(&block, |_, _| ());
        prop_assert!(decoder.size <= TABLE_BYTES);
        prop_assert_eq!(decoder.size, decoder.entries.iter().map(Entry::size).sum::<usize>());
    }
}

/// The decoder's table has the default size. In an earlier version, the encoder referred to entries that the decoder
/// had evicted (RFC 7541, section 4.4).
#[test]
fn headers_that_do_not_fit_into_the_table_are_not_referred_to() {
    let headers = pairs(&[(":method", "GET"), ("cookie", &"v".repeat(TABLE_BYTES)), ("accept", "x")]);
    let (blocks, mut decoder) = (Blocks::new(&headers), Decoder::default());
    for block in [&blocks.first, &blocks.later, &blocks.later] {
        assert_eq!(read(&mut decoder, block).unwrap(), headers);
    }
}
