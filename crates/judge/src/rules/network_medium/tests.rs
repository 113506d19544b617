use crate::planted::{PlantedRun, Who};

/// Returns the verdict's ID on a closed loop through a hub that is 80 % used. A fifth of the segments is sent
/// again. The hub's queue drops `drops` frames per request.
fn verdict(drops: f64) -> String {
    let mut run = PlantedRun::new(3000.0, 2000.0)
        .steps(&[64])
        .rates(&[])
        .per_s(Who::Server, "tcp.retrans_segs", "", |p| p.x * 0.2)
        .per_s(Who::Server, "connection.retrans", "", |p| p.x * 0.4 / p.n)
        .per_s(Who::Server, "medium.drops", "hub", move |p| p.x * drops)
        .per_s(Who::Server, "medium.bytes", "hub", |_| 10e6)
        .level(Who::Server, "medium.rate", "hub", 12.5e6)
        .level(Who::Server, "connection.rtt", "", 20_000.0)
        .run();
    crate::judge(&mut run);
    run.findings.bottleneck.id
}

#[test]
fn a_medium_whose_queue_overflows_is_full_and_not_lossy() {
    assert_eq!(verdict(0.2), "network-medium");
    assert_eq!(verdict(0.01), "network-loss");
}

/// A server has four workers. Round trips of the radio link in front of the server take 45 ms on average and 14 ms at
/// least, whatever the load is. If a link queues packets, its round trips grow with the number of clients.
#[test]
fn round_trips_that_vary_at_every_load_show_no_full_link() {
    let behind_radio = |unread: f64, queues: bool| {
        let mut planted = PlantedRun::new(65_000.0, 200.0).level(Who::Server, "connection.receive_queue", "", unread);
        for who in [Who::Client, Who::Server] {
            planted = planted
                .per_s(who, "connection.rtt", "", move |p| if queues { 0.7 * p.r_us } else { 45_000.0 })
                .level(who, "connection.min_rtt", "", 14_000.0);
        }
        planted.change(|t, _| t.measured.tally.bytes_sent = 64 * t.measured.tally.sent).verdict()
    };
    assert_eq!(behind_radio(60.0, false).id, "server-concurrency", "requests wait unread at the server");
    let unseen = behind_radio(0.0, false);
    assert_ne!(unseen.id, "network-medium", "{unseen:#?}");
    let is_missing = unseen.missing.iter().any(|line| line.contains("connection.rtt"));
    assert!(!is_missing, "the run has the round trips: {:?}", unseen.missing);
    let full = behind_radio(0.0, true);
    assert!(full.id == "network-medium" && full.sentence.contains("on the path"), "{full:#?}");
}

/// A link of 20 Mbit/s between the hosts carries 250 answers per second, and queues the answers of all clients. Two
/// clients fill the link, but their queue is short. The round trip grows with each further client.
#[test]
fn a_far_link_whose_queue_only_many_clients_fill_is_full() {
    let far = |queues: bool| {
        let rtt_us = move |p: &crate::planted::Point| if queues { 300.0 + (p.r_us - 5000.0) } else { 300.0 };
        PlantedRun::new(5000.0, 250.0)
            .per_s(Who::Server, "connection.rtt", "", rtt_us)
            .level(Who::Server, "connection.min_rtt", "", 300.0)
            .change(|t, _| t.measured.tally.bytes_received = 10_000 * t.measured.tally.completed)
            .verdict()
    };
    let full = far(true);
    assert!(full.id == "network-medium" && full.sentence.contains("on the path"), "{full:#?}");
    assert_ne!(far(false).id, "network-medium");
}

/// A single client fills its own switch port and the server's port. With five clients, each client fills a fifth of
/// its own port, and together the clients fill the server's port.
#[test]
fn of_two_full_wires_the_one_that_all_clients_share_is_named() {
    let bytes = 12.4e6;
    let mut run = PlantedRun::new(200.0, 5000.0)
        .steps(&[1, 2, 3, 4, 5])
        .rates(&[])
        .level(Who::Server, "connection.rtt", "", 2000.0)
        .level(Who::Server, "medium.rate", "server to switch", 12.5e6)
        .level(Who::Server, "medium.rate", "switch to client1", 12.5e6)
        .per_s(Who::Server, "medium.bytes", "server to switch", move |_| bytes)
        .per_s(Who::Server, "medium.bytes", "switch to client1", move |p| (bytes + 1e4) / p.n)
        .run();
    crate::judge(&mut run);
    let b = &run.findings.bottleneck;
    assert!(b.id == "network-medium" && b.evidence[0].text.starts_with("server to switch"), "{b:#?}");
}
