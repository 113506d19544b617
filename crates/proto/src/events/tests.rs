use super::*;

const SSE: &[u8] = b"\xef\xbb\xbfdata: a\n\n: keep-alive\n\nevent: x\r\ndata: b\r\ndata: c\r\n\r\nid: 7\n\ndata\r\r\
    dat: no\n\ndatab: no\n\ndata:\n\n: [DONE]\n\ndata: [DONE]\n\ndata: cut off";
const NDJSON: &[u8] = b"{\"a\":1}\n\r\n  \n{\"b\":2}\r\n[DONE]\n\n{\"c\":3}";

/// Counts the events of a body that arrives in pieces. Each piece is the end of a chunk. Returns the count of each
/// piece, the count at the end of the body, and false if the body lacks the end marker `end`.
fn counts<'a>(format: StreamFormat, end: &str, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u32>, u32, bool) {
    let plan = StreamPlan { format, end: end.into(), ..StreamPlan::default() };
    let mut events = EventCounter::new(&plan);
    let each = pieces.into_iter().map(|piece| events.read(piece, true)).collect();
    let (last, is_complete) = events.end();
    (each, last, is_complete)
}

fn total(format: StreamFormat, end: &str, pieces: &[&[u8]]) -> (u32, bool) {
    let (each, last, is_complete) = counts(format, end, pieces.iter().copied());
    (each.iter().sum::<u32>() + last, is_complete)
}

#[test]
fn every_split_into_two_reads_gives_the_same_events() {
    for (format, body, all, without_end) in [(StreamFormat::Sse, SSE, 5, 4), (StreamFormat::Ndjson, NDJSON, 4, 3)] {
        for cut in 0..=body.len() {
            let pieces = [&body[..cut], &body[cut..]];
            assert_eq!(total(format, "", &pieces), (all, true), "{format:?} cut at {cut}");
            assert_eq!(total(format, "[DONE]", &pieces), (without_end, true), "{format:?} cut at {cut}");
            assert!(!total(format, "[END]", &pieces).1, "{format:?} cut at {cut}");
        }
    }
}

#[test]
fn single_bytes_give_the_same_events() {
    for (format, body, all) in [(StreamFormat::Sse, SSE, 5), (StreamFormat::Ndjson, NDJSON, 4)] {
        let pieces: Vec<&[u8]> = body.chunks(1).collect();
        assert_eq!(total(format, "", &pieces), (all, true));
    }
}

#[test]
fn an_event_ends_with_the_read_of_its_last_byte() {
    let pieces: [&[u8]; 4] = [b"data: a\n", b"\ndata: b\n\ndata: c\n\n", b": wait\n\n", b"data: d\r\n\r"];
    assert_eq!(counts(StreamFormat::Sse, "", pieces), (vec![0, 3, 0, 1], 0, true));
    // In NDJSON, the last line of the body may lack its line feed.
    let pieces: [&[u8]; 3] = [b"1", b"\n2\n3\n", b"4"];
    assert_eq!(counts(StreamFormat::Ndjson, "", pieces), (vec![0, 3, 0], 1, true));
}

#[test]
fn the_marker_ends_a_stream_only_as_part_of_an_event() {
    let of = |body: &[u8]| total(StreamFormat::Sse, "[DONE]", &[body]);
    assert_eq!(of(b"data: a\n\n: [DONE]\n\n"), (1, false), "a comment");
    assert_eq!(of(b"data: a\n\ndata: [DONE]"), (1, false), "an event that does not end");
    assert_eq!(of(b"data: a\n\ndata:[DONE]\n\n"), (1, true));
    assert_eq!(total(StreamFormat::Chunks, "end", &[b"ab", b"the end"]), (1, true));
}

#[test]
fn only_chunks_with_content_are_events() {
    let mut events = EventCounter::new(&StreamPlan { format: StreamFormat::Chunks, ..StreamPlan::default() });
    let counts = [("ab", false), ("c", true), ("", true), ("d", false), ("", true)];
    assert_eq!(counts.map(|(piece, ends)| events.read(piece.as_bytes(), ends)), [0, 1, 0, 0, 1]);
}

#[test]
fn each_message_of_grpc_is_an_event_wherever_it_is_cut() {
    let body = [0, 0, 0, 0, 3, 7, 8, 9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 5];
    for cut in 0..=body.len() {
        assert_eq!(total(StreamFormat::Grpc, "", &[&body[..cut], &body[cut..]]), (3, true), "cut at {cut}");
    }
}

#[test]
fn another_body_begins_anew() {
    let mut events = EventCounter::new(&StreamPlan { end: "x".into(), ..StreamPlan::default() });
    assert_eq!((events.read(b"data: x\n\ndata: y", true), events.end()), (0, (0, true)));
    assert_eq!((events.read(b"\n\ndata: y\n\n", true), events.end()), (1, (0, false)));
}
