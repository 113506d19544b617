//! Tests with a long round-trip time, and small socket buffers at the client or the server. `find` must name the small
//! buffer as the limit, because TCP can send only one receive or send window per round trip. The hosts are network
//! namespaces of a testbed, so root is not needed. These tests need the release binary. A lever is a temporary change
//! that an experiment makes, such as slowing a CPU.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use testkit::{TwoHosts, binary, bottleneck, num, release_binary, verdict};

/// Medium (emulated network). The delay is far longer than any delay of a busy machine, so it determines the round-trip
/// time.
const MEDIUM: &str = "wan:delay=15ms";

fn find(way: &TwoHosts, body: u32) -> Value {
    let flags = ["--budget", "10s", "--connections", "8", "--prove", "off"];
    way.run("find", &["--body-bytes", &body.to_string()], &flags)
}

/// Returns the value of a counter in the evidence for the verdict.
fn evidence(run: &Value, counter: &str) -> f64 {
    let lines = run["findings"]["bottleneck"]["evidence"].as_array().into_iter().flatten();
    lines.filter(|e| e["counter"] == counter).map(|e| num(&e["value"])).next().unwrap_or(f64::NAN)
}

#[test]
fn a_small_buffer_at_either_end_of_a_long_line_is_named_as_the_window() {
    let Some(binary) = release_binary("tcp-window", binary!()) else { return };
    let Some(way) = TwoHosts::up("tcp-window", &binary, MEDIUM) else { return };
    let free = find(&way, 131_072);
    assert_ne!(bottleneck(&free), "tcp-window", "nothing is small yet: {}", verdict(&free));

    // The buffer must be large enough that the experiment can halve it.
    way.small_buffers("client1", "tcp_rmem", 65536);
    let run = find(&way, 131_072);
    assert_eq!(bottleneck(&run), "tcp-window", "{}", verdict(&run));
    assert!(evidence(&run, "connection.peer_window") < 65536.0, "{}", verdict(&run));

    // With half of the window, at most about half of the throughput is possible. The kernel may shrink the window by
    // more than the experiment requests. With a window that is too small, the effect on throughput differs from the
    // prediction, so the experiment supports the verdict without proving it.
    let run = way.run("prove", &["--body-bytes", "131072"], &["--connections", "8", "--budget", "32s"]);
    let proof = &run["findings"]["proof"];
    let ratio = num(&proof["measured"]["ratio"]);
    let outcome = if ratio > 0.4 { "proven" } else { "supported" };
    assert_eq!((bottleneck(&run), &proof["outcome"]), ("tcp-window", &outcome.into()), "{}\n{proof:#}", verdict(&run));
    assert!(ratio < 0.7, "{proof:#}");
    // The effect of the lever `window` must decide the verdict; missing effects of all other levers do not suffice.
    assert_eq!(proof["measured"]["lever"], "window", "{proof:#}");

    way.small_buffers("client1", "tcp_rmem", 4 << 20);
    way.small_buffers("server", "tcp_wmem", 65536);
    // The page is many times as large as the server's socket buffer, whatever the size of the kernel's segments and
    // their overhead.
    let run = find(&way, 524_288);
    assert_eq!(bottleneck(&run), "tcp-window", "{}", verdict(&run));
    assert!(evidence(&run, "connection.write_full") >= 0.5, "{}", verdict(&run));
}
