//! Tests of HTTP/3 against loadline's own server. loadline's counts must equal those of the server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

use serde_json::{Value, json as value};
use testkit::{ServedOverUdp, alone, binary, json, loadline, total};

fn serve(more: &[&str]) -> ServedOverUdp {
    let mut command = Command::new(binary!());
    command.args(["serve", "h3"]).args(more);
    ServedOverUdp::start(command)
}

fn load(url: &str, more: &[&str]) -> Value {
    let mut args = vec!["load", url, "--insecure", "--duration", "400ms", "--warmup", "0s"];
    args.extend(["--at-rest", "0s"]);
    if !more.contains(&"--rate") {
        args.extend(["--connections", "3"]);
    }
    args.extend(more);
    json(binary!(), &args)
}

/// The test covers both drivers, few and many streams, a body that is larger than a group of datagrams, and one
/// connection per request. The server's counts of requests and connections include the test request that precedes each
/// load.
#[test]
fn counts_equal_those_of_the_server() {
    let _alone = alone();
    let server = serve(&["--body-bytes", "20000"]);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("body"), vec![b'b'; 40_000]).unwrap();
    let (body, url) = (dir.path().join("body").display().to_string(), format!("https://{}/page", server.addr));
    let (mut requests, mut handshakes, mut attempted) = (0, 0, 0);
    for more in [
        &["--io", "epoll", "--streams", "10"][..],
        &["--io", "auto", "--streams", "10"],
        &["--streams", "4", "--body", &body],
        &["--new-connections"],
        // The first handshake tells the client how many streams the server allows. Until the first handshake ends, each
        // request opens its own connection.
        &["--rate", "200", "--max-connections", "2"],
    ] {
        let run = load(&url, &[&["--http3"], more].concat());
        let [completed, sent] = ["completed", "sent"].map(|count| total(&run, count));
        assert_eq!((&run["trials"][0]["errors"], sent), (&value!({}), completed), "{more:?}");
        assert!(completed > 5 && total(&run, "bytes_received") > completed * 20_000, "{more:?}: {completed}");
        assert!(run["trials"][0]["quic"]["rtt_us"].as_f64().is_some_and(|rtt_us| rtt_us > 0.0), "{}", run["trials"][0]);
        requests += completed;
        handshakes += total(&run, "handshakes");
        attempted += total(&run, "attempted");
    }
    let (connections, answered) = server.stop();
    assert_eq!(answered, requests);
    // If the load ends during the handshake of a connection, the server may or may not count this connection.
    assert!((handshakes..=attempted).contains(&connections), "{connections} of {handshakes} to {attempted}");
}

#[test]
fn a_resumed_handshake_is_counted_apart() {
    let _alone = alone();
    let server = serve(&[]);
    let run = load(&format!("h3://{}/", server.addr), &["--new-connections", "--resume", "on"]);
    let [handshakes, resumed] = ["handshakes", "handshakes_resumed"].map(|count| total(&run, count));
    // The first handshakes are full, because the client has no session ticket of an earlier connection yet.
    assert!(
        resumed > 0 && resumed < handshakes && handshakes - resumed < handshakes.div_ceil(2),
        "{resumed} {handshakes}"
    );
}

/// Each request has its own connection. The test request of the load has no session to resume.
#[test]
fn early_data_is_counted_apart_and_exact() {
    let _alone = alone();
    let more = ["--new-connections", "--resume", "on", "--early-data"];
    for accepts in [true, false] {
        let server = serve(if accepts { &["--option", "early_data=1"] } else { &[] });
        let run = load(&format!("h3://{}/", server.addr), &more);
        let counts =
            ["completed", "handshakes", "handshakes_resumed", "handshakes_early", "early_requests", "early_resent"];
        let [completed, handshakes, resumed, early, requests, resent] = counts.map(|count| total(&run, count));
        assert_eq!(run["trials"][0]["errors"], value!({}));
        let about = format!("{completed} {handshakes} {resumed} {early} {requests} {resent}");
        match accepts {
            // The first three connections have no session to resume.
            true => assert!(early > handshakes / 2 && early <= resumed && requests == early && resent == 0, "{about}"),
            false => assert!(resumed > 0 && early + requests + resent == 0, "{about}"),
        }
        assert_eq!(server.stop().1, completed, "{about}");
    }
    let refused = |args: &[&str], words: &str| {
        let output = loadline(binary!(), &[args, &["--early-data", "--duration", "100ms"]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("--early-data") && said.contains(words), "{said}");
    };
    refused(&["load", "https://127.0.0.1:1/", "--resume", "on"], "only HTTP/3 has early data");
    refused(&["load", "h3://127.0.0.1:1/"], "give --resume, too");
    refused(&["load", "http://127.0.0.1:1/"], "over TLS");
}

#[test]
fn what_a_user_did_wrong_is_said() {
    let _alone = alone();
    let refused = |url: &str, more: &[&str]| {
        let args = [&["load", url, "--duration", "200ms"], more].concat();
        let output = loadline(binary!(), &args);
        assert!(!output.status.success(), "{url}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let server = serve(&[]);
    let url = format!("h3://{}/", server.addr);
    let untrusted = refused(&url, &[]);
    assert!(untrusted.contains("certificate") && untrusted.contains("--insecure"), "{untrusted}");
    let plain = refused(&format!("http://{}/", server.addr), &["--http3"]);
    assert!(plain.contains("https://"), "{plain}");
    server.stop();
    let gone = refused(&url, &["--insecure"]);
    assert!(gone.contains("nothing listens on this UDP port"), "{gone}");
    // A UDP socket that receives datagrams but never answers.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let silence = refused(&format!("h3://{}/", silent.local_addr().unwrap()), &["--insecure", "--timeout", "1s"]);
    assert!(silence.contains("no handshake of QUIC"), "{silence}");
}
