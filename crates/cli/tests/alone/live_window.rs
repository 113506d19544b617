//! Small buffers behind a long way, named by `find`: a window a round trip is the limit, whichever end's buffer makes it.
//! Needs no root: the hosts are a testbed's. Takes the release binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use testkit::{TwoHosts, binary, bottleneck, num, release_binary, verdict};

/// Much longer than what a busy machine adds, so that the round trip stays that of the way.
const MEDIUM: &str = "wan:delay=15ms";

fn find(way: &TwoHosts, body: u32) -> Value {
    way.run("find", &["--body-bytes", &body.to_string()], &["--budget", "16s", "--connections", "8"])
}

/// The figure of the verdict's evidence from this counter.
fn evidence(run: &Value, counter: &str) -> f64 {
    let lines = run["findings"]["bottleneck"]["evidence"].as_array().into_iter().flatten();
    lines.filter(|e| e["counter"] == counter).map(|e| num(&e["value"])).next().unwrap_or(f64::NAN)
}

#[test]
fn a_small_buffer_at_either_end_of_a_long_way_is_a_window() {
    let Some(binary) = release_binary("tcp-window", binary!()) else { return };
    let Some(way) = TwoHosts::up("tcp-window", &binary, MEDIUM) else { return };
    let free = find(&way, 131_072);
    assert_ne!(bottleneck(&free), "tcp-window", "nothing is small yet: {}", verdict(&free));

    // Of half as much no half could be taken away below.
    way.small_buffers("client1", "tcp_rmem", 65536);
    let run = find(&way, 131_072);
    assert_eq!(bottleneck(&run), "tcp-window", "{}", verdict(&run));
    assert!(evidence(&run, "connection.peer_window") < 65536.0, "{}", verdict(&run));

    // Half of the window, half of the throughput: that is what a window does and a full link does not.
    let run = way.run("prove", &["--body-bytes", "131072"], &["--connections", "8", "--budget", "48s"]);
    let proof = &run["findings"]["proof"];
    assert_eq!((bottleneck(&run), &proof["outcome"]), ("tcp-window", &"proven".into()), "{}\n{proof:#}", verdict(&run));
    // By the lever itself, and not by others that did nothing.
    assert_eq!(proof["measured"]["lever"], "window", "{proof:#}");

    way.small_buffers("client1", "tcp_rmem", 4 << 20);
    way.small_buffers("server", "tcp_wmem", 65536);
    // Many buffers, whether a segment of its bytes takes 2 KiB of it (no offloads) or the kernel's pieces are larger.
    let run = find(&way, 524_288);
    assert_eq!(bottleneck(&run), "tcp-window", "{}", verdict(&run));
    assert!(evidence(&run, "connection.write_full") >= 0.5, "{}", verdict(&run));
}
