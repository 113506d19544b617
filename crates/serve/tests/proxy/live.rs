//! The proxy in front of a real nginx, with curl and wrk as clients.

use std::process::Command;

use testkit::{eventually, has, nginx, skip};

use super::common::{BACKENDS, proxy, sockets_of, text};

const TEST: &str = "serves_curl_and_wrk_in_front_of_nginx";

/// Fetches a small file, and a file that is larger than any buffer.
fn curl(url: &str) -> String {
    let (file, large) = (format!("{url}/file"), format!("{url}/large"));
    let mut command = Command::new("curl");
    command.args(["-sS", "--max-time", "20", "-w", "%{http_code} %{size_download}\n"]);
    let out = command.args(["-o", "/dev/null", "-o", "/dev/null"]).args([file, large]).output().unwrap();
    text(&out.stdout) + &text(&out.stderr)
}

/// Runs wrk and checks that it reports no errors. Returns the number of answered requests.
fn wrk(url: &str) -> u64 {
    let out = Command::new("wrk").args(["-t1", "-c40", "-d1s", &format!("{url}/file")]).output().unwrap();
    let shown = text(&out.stdout);
    assert!(!shown.contains("Non-2xx") && !shown.contains("Socket errors"), "{shown}");
    let line = shown.lines().find(|l| l.contains("requests in"));
    line.and_then(|l| l.trim().split(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("{shown}"))
}

#[test]
fn serves_curl_and_wrk_in_front_of_nginx() {
    // nginx closes each connection after 100 requests. The proxy's upstream connections are therefore both reused and
    // replaced.
    let Some(nginx) = nginx(0, "keepalive_requests 100;", "") else { return skip(TEST, "nginx is not installed") };
    std::fs::write(nginx.dir.path().join("large"), vec![b'x'; 5_000_000]).unwrap();
    let listeners = sockets_of(nginx.addr.port());
    let (has_curl, has_wrk) = (has(TEST, "curl"), has(TEST, "wrk"));
    for events in BACKENDS {
        let server = proxy(nginx.addr, events, &[]);
        let url = format!("http://{}", server.local_addr());
        if has_curl {
            assert_eq!(curl(&url), "200 1294\n200 5000000\n", "{events}");
        }
        if has_wrk {
            let done = wrk(&url);
            assert!(done > 200 && server.stats().requests >= done, "{events}: {done}");
        }
        let port = server.local_addr().port();
        server.stop();
        assert_eq!(server.failures(), Vec::<String>::new(), "{events}");
        let stats = server.join();
        assert_eq!(stats.threads, 0);
        // Only nginx's own listening sockets may be left.
        eventually(|| (sockets_of(port) == 0 && sockets_of(nginx.addr.port()) == listeners).then_some(()));
    }
}
