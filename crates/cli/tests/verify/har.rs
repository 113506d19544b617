//! Test with the HAR file of a real browser: loadline must read the file's requests and send them again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;
use testkit::{binary, json, loadline, program, python_server, skip, total};

/// Returns the number of times that the server has received each request. Two requests count as different if their
/// method, path, body, or the value of a header that the page sets differs.
fn asked(addr: SocketAddr) -> BTreeMap<String, u64> {
    let (mut stream, mut text) = (TcpStream::connect(addr).unwrap(), String::new());
    write!(stream, "GET /asked HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n").unwrap();
    stream.read_to_string(&mut text).unwrap();
    serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn requests_of_chromium_are_made_again() {
    let Some(python) = program("python3") else { return skip("a HAR of Chromium", "python3 is not installed") };
    let Some(chromium) = program("chromium") else { return skip("a HAR of Chromium", "chromium is not installed") };
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (har, profile) = (path("page.har"), path("profile"));
    let args = [&chromium.display().to_string(), har.as_str(), profile.as_str()];
    let (_server, addr) = python_server(&python, include_str!("har.py"), &args);
    let before = asked(addr);
    let post = "POST /api/search?q=a%20b page {\"term\":\"café\"}";
    assert_eq!(before.get(post), Some(&1), "{before:?}");

    let toml = String::from_utf8(loadline(binary!(), &["import", &har]).stdout).unwrap();
    for part in ["path = \"/style.css\"", "class = \"stylesheet\"", "class = \"document\"", "method = \"POST\"", "café"]
    {
        assert!(toml.contains(part), "{part}: {toml}");
    }
    // Sends the requests in two loads: from the HAR file, and from the TOML file that loadline makes from the HAR file.
    std::fs::write(path("page.toml"), &toml).unwrap();
    for (file, at) in [(har, 0), (path("page.toml"), 1)] {
        let url = format!("http://{addr}/");
        let before = asked(addr);
        let load = ["load", &url, "--requests", &file, "--order", "shuffle", "--connections", "1"];
        let run = json(binary!(), &[&load[..], &["--duration", "2s", "--warmup", "0s", "--at-rest", "0s"]].concat());
        assert_eq!(run["trials"][0]["errors"], Value::Object(serde_json::Map::new()), "{at}");
        assert_eq!(run["trials"][0]["unexpected_status"], 0, "{at}");
        let after = asked(addr);
        let more: BTreeMap<&String, u64> =
            after.iter().map(|(key, n)| (key, n - before.get(key).copied().unwrap_or_default())).collect();
        assert_eq!(more.values().sum::<u64>(), total(&run, "completed"), "{more:?}");
        let (least, most) = (more.values().min().unwrap(), more.values().max().unwrap());
        assert!(*least > 0 && most - least <= 2, "each of them about equally often, byte by byte: {more:?}");
    }
}
