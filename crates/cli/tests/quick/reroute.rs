//! Tests of `--connect-to` and `--resolve`: connections go to another address, but requests name the host of the URL.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use testkit::{binary, eventually, json, refused, reporting, total};

const SHORT: [&str; 8] = ["--connections", "1", "--duration", "200ms", "--warmup", "0s", "--at-rest", "0s"];

#[test]
fn a_name_that_nobody_knows_is_loaded_elsewhere_under_its_own_name() {
    let (addr, heads) = reporting();
    let port = addr.port();
    for (url, flag, value) in [
        ("http://shop.invalid/", "--connect-to", format!("shop.invalid:80:127.0.0.1:{port}")),
        ("http://shop.invalid/", "--connect-to", format!("::127.0.0.1:{port}")),
        (&*format!("http://shop.invalid:{port}/"), "--resolve", format!("shop.invalid:{port}:127.0.0.1")),
        (&*format!("http://shop.invalid:{port}/"), "--resolve", format!("*:{port}:[::1],127.0.0.1")),
    ] {
        let run = json(binary!(), &[&["load", url, flag, &value], &SHORT[..]].concat());
        assert!(total(&run, "completed") > 0, "{value}");
        let host = url.trim_start_matches("http://").trim_end_matches('/');
        let all: Vec<String> = heads.try_iter().collect();
        assert!(!all.is_empty() && all.iter().all(|head| head.contains(&format!("Host: {host}\r\n"))), "{all:?}");
    }
}

#[test]
fn a_given_address_outside_private_networks_needs_permission_too() {
    let said = refused(binary!(), &["load", "http://127.0.0.1/", "--connect-to", "::192.0.2.1:80"]);
    assert!(said.contains("192.0.2.1") && said.contains("--authorized"), "{said}");
    let said = refused(binary!(), &["load", "http://127.0.0.1/", "--resolve", "a:b"]);
    assert!(said.contains("HOST:PORT:ADDRESS"), "{said}");
}

/// Starts two servers with the same port at two addresses. The second server answers after 20 ms. Returns the port of
/// both servers.
fn two_servers() -> u16 {
    // At the second address, another test may use the port.
    let (first, second, port) = eventually(|| {
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = first.local_addr().unwrap().port();
        Some((first, TcpListener::bind(("127.0.0.2", port)).ok()?, port))
    });
    for (listener, delay_ms) in [(first, 0), (second, 20)] {
        std::thread::spawn(move || {
            for client in listener.incoming() {
                std::thread::spawn(move || {
                    let (mut client, mut piece) = (client.unwrap(), [0; 4096]);
                    while let Ok(1..) = client.read(&mut piece) {
                        std::thread::sleep(std::time::Duration::from_millis(delay_ms));
                        client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
                    }
                });
            }
        });
    }
    port
}

#[test]
fn all_addresses_get_connections_in_turn_and_the_slow_one_is_named() {
    let port = two_servers();
    let (url, addresses) = (format!("http://shop.invalid:{port}/"), format!("shop.invalid:{port}:127.0.0.1,127.0.0.2"));
    for io in ["epoll", "auto"] {
        let args = ["load", &url, "--resolve", &addresses, "--addresses", "all", "--io", io, "--connections", "4"];
        let run = json(binary!(), &[&args[..], &["--duration", "600ms", "--warmup", "0s", "--at-rest", "0s"]].concat());
        let parts = run["trials"][0]["addresses"].as_array().unwrap();
        let part = |at: usize| (parts[at]["connections"].as_u64().unwrap(), parts[at]["requests"]["name"].clone());
        assert_eq!((part(0).0, part(1).0), (2, 2), "{io}");
        assert_eq!([part(0).1, part(1).1], ["127.0.0.1", "127.0.0.2"].map(|ip| format!("{ip}:{port}")));
        let sum: u64 = parts.iter().map(|part| part["requests"]["total"]["completed"].as_u64().unwrap()).sum();
        // The counts of the two addresses do not include the test request before the load.
        assert!((total(&run, "completed") - 1..=total(&run, "completed")).contains(&sum), "{sum}");
        let warnings = run["findings"]["trust"]["warnings"].to_string();
        assert!(warnings.contains("the addresses differ: the median is"), "{io}: {warnings}");
        assert!(warnings.contains(&format!("at 127.0.0.2:{port}")), "{warnings}");
    }
}
