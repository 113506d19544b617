//! Tests of a server that allows fewer streams on a connection than the load asks for.

use run::{HttpPlan, Intensity, LoadPlan, Protocol, ThinkTime};

use super::test_wire::Fixture;

const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
/// Flags of a response that ends with its headers.
const END: u8 = 5;
/// Header block with the single field `:status: 200`.
const OK: &[u8] = &[0x88];

/// Builds an HTTP/2 frame.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// The client has two requests in flight, and the server allows one stream. The second request is sent 10 ms after its
/// start, and is answered after another 20 ms.
#[test]
fn service_time_begins_when_a_request_gets_its_stream() {
    let intensity = Intensity::Closed { connections: 1, pipeline: 2, think: ThinkTime::default() };
    let plan = LoadPlan { protocol: Protocol::Http2(HttpPlan::default()), intensity, ..LoadPlan::default() };
    let client = proto::client(&plan.protocol, None, None).unwrap();
    let mut fixture = Fixture::loading(&plan, &*client);
    fixture.up();
    fixture.hear(&frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]));
    fixture.at_ms(10);
    fixture.hear(&frame(HEADERS, END, 1, OK));
    fixture.at_ms(30);
    fixture.hear(&frame(HEADERS, END, 3, OK));
    let part = fixture.part();
    let times = |name: &str| {
        let hist = &part.histograms[name];
        [0.0, 1.0].map(|share| (hist.quantile_us(share) / 1e3).round())
    };
    assert_eq!((times("response"), times("service")), ([10.0, 30.0], [10.0, 20.0]));
    assert_eq!((part.stream_limit, part.total.completed), (Some(1), 2));
}
