//! A large load on loadline's own HTTP/3 server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

use serde_json::json as value;
use testkit::{ServedOverUdp, alone, binary, json, total};

/// The server's counts of requests and connections include the test request that precedes the load.
#[test]
fn counts_are_exact_with_a_thousand_connections_of_ten_streams() {
    let _alone = alone();
    let mut command = Command::new(binary!());
    command.args(["serve", "h3", "--threads", "2"]);
    let server = ServedOverUdp::start(command);
    let url = format!("h3://{}/", server.addr);
    let mut args = vec!["load", &url, "--insecure", "--connections", "1000", "--streams", "10"];
    args.extend([
        "--duration",
        "6s",
        "--warmup",
        "0s",
        "--at-rest",
        "0s",
        "--timeout",
        "60s",
        "--connect-timeout",
        "60s",
    ]);
    let run = json(binary!(), &args);
    let [completed, sent, handshakes] = ["completed", "sent", "handshakes"].map(|count| total(&run, count));
    let trial = &run["trials"][0];
    assert_eq!((&trial["errors"], sent), (&value!({}), completed), "{}", trial["first_failures"]);
    assert_eq!((trial["unanswered"].as_u64(), handshakes), (Some(0), 1001), "{trial}");
    assert!(completed > 10_001, "{completed}: each stream had a request");
    assert_eq!(server.stop(), (handshakes, completed));
}
