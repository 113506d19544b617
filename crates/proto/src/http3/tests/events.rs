//! Answers that are streams of events. Time is virtual, and a datagram takes 1 ms each way.

use run::{HttpPlan, StreamFormat, StreamPlan};

use super::pair::{DELAY_NS, Pages, Pair, client_of, insecure};
use crate::http1::Page;
use crate::{Client, Outcome, Request, Requester, Which};

const MS: u64 = 1_000_000;

/// Times at which the server sends the lines of its answer, nanoseconds.
const LINE_TIMES_NS: [u64; 3] = [1_100 * MS, 1_150 * MS, 1_400 * MS];

fn pair(method: &str) -> Pair {
    let stream = StreamPlan { format: StreamFormat::Ndjson, ..StreamPlan::default() };
    let http = HttpPlan { method: method.into(), ..HttpPlan::default() };
    let client = client_of(http, &insecure()).with_stream(&stream).unwrap().session();
    let page = Page::new(200, "application/x-ndjson", "", b"1\n2\n3\n".to_vec());
    Pair::of_pages(client, Pages { line_times_ns: LINE_TIMES_NS.to_vec(), ..Pages::of(page) }, 10)
}

/// Runs until the client has received further events of the request, and returns their number.
fn next_events(pair: &mut Pair) -> u32 {
    let mut events = 0;
    let before_ns = pair.now_ns;
    while events == 0 {
        let now_ns = pair.now_ns;
        pair.run(|pair| pair.now_ns > now_ns);
        assert!(pair.now_ns < before_ns + 1_000 * MS, "no event came");
        pair.client.each_begun_answer(&mut |which, n| {
            assert_eq!(which, Which::Id(0));
            events += n;
        });
    }
    events
}

#[test]
fn each_event_is_sent_at_its_time() {
    let mut pair = pair("GET");
    pair.run(|pair| pair.client.ready());
    pair.client.begin(Request::default());
    for sent_ns in &LINE_TIMES_NS[..2] {
        assert_eq!(next_events(&mut pair), 1);
        let late_ns = pair.now_ns - sent_ns;
        assert!((DELAY_NS..2 * DELAY_NS).contains(&late_ns), "{late_ns} ns");
    }
    pair.run(|pair| !pair.done.is_empty());
    let (late_ns, done) = (pair.now_ns - LINE_TIMES_NS[2], pair.done[0]);
    assert!((DELAY_NS..2 * DELAY_NS).contains(&late_ns), "{late_ns} ns");
    assert_eq!((done.outcome, done.bytes, done.events), (Outcome::Expected, 6, 1));
}

/// An answer without a body has no events to wait for.
#[test]
fn the_answer_to_head_comes_at_once() {
    let mut pair = pair("HEAD");
    assert_eq!(pair.requests(1, 1).len(), 1);
    assert!(pair.now_ns < LINE_TIMES_NS[0], "{}", pair.now_ns);
}
