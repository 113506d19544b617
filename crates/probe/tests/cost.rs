//! What observing costs is itself observed, and a sample between the edges costs less than one at an edge. Relations within
//! one run; `examples/cost.rs` prints the figures.

use std::net::{TcpListener, TcpStream};

use loadline_probe::{Probe, Scope};

/// Connections of the server that is watched: enough that reading all of them shows.
const SOCKETS: usize = 200;
/// Samples of each kind.
const TURNS: u32 = 40;

#[test]
fn the_series_is_cheaper_than_edges_and_every_reading_is_accounted_for() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = server.local_addr().unwrap();
    let _held: Vec<_> = (0..SOCKETS).map(|_| (TcpStream::connect(addr).unwrap(), server.accept().unwrap())).collect();
    let scope = Scope { processes: vec![std::process::id()], listen: Some(addr.into()), ..Scope::default() };
    let mut probe = Probe::new(scope);
    probe.sample(0.0);
    let (whole, parts) = (probe.cost_us(), probe.costs_us().map(|(_, us)| us).sum::<f64>());
    assert!(parts > 0.0 && parts <= whole, "sources {parts} us, all of them {whole} us");
    let mut cost = |sample: fn(&mut Probe, f64), t_s: f64| {
        let before = probe.cost_us();
        sample(&mut probe, t_s);
        probe.cost_us() - before
    };
    let (mut edges, mut series) = (0.0, 0.0);
    // In turns, so that whatever else the machine does meets both.
    for turn in 1..=TURNS {
        edges += cost(Probe::sample, f64::from(turn));
        series += cost(Probe::sample_series, f64::from(turn) + 0.5);
    }
    println!("an edge {:.0} us, one of the series {:.0} us", edges / f64::from(TURNS), series / f64::from(TURNS));
    assert!(series < 0.8 * edges, "series {series:.0} us, edges {edges:.0} us");
}
