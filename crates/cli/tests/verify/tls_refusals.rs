//! Tests of TLS servers with which no handshake succeeds, or that request renegotiation. Reasons for a failed handshake
//! are that there is no common version or cipher, or that the certificate chain is too long. For each of these TLS
//! servers, loadline must print one clear sentence or count an error, and must end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use testkit::{ChildProcess, Watched, alone, binary, free_port, has, json, total, watched};

/// Maximum memory of a loadline process, KiB. Even 16 connections that each stored a certificate chain of 1 MiB twice
/// would need slightly less memory.
const MAX_MEMORY_KIB: u64 = 64 * 1024;

const MAKE: &str =
    "openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj /CN=localhost 2>/dev/null";

/// Starts `openssl s_server` with the additional arguments in `more`, in the folder with its certificate.
fn server(dir: &Path, port: u16, more: &[&str]) -> ChildProcess {
    let mut command = Command::new("openssl");
    command.args(["s_server", "-accept", &format!("127.0.0.1:{port}"), "-cert", "cert", "-key", "key"]);
    command.args(more).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    ChildProcess::listening(&mut command, port)
}

/// Makes a folder with a certificate. Skips the test and returns `None` if openssl is missing.
fn folder(test: &str) -> Option<tempfile::TempDir> {
    if !has(test, "openssl") {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    assert!(Command::new("sh").args(["-ec", MAKE]).current_dir(&dir).status().unwrap().success());
    Some(dir)
}

/// Runs `load` against a server that loadline cannot measure, and returns the error.
fn refused(port: u16, more: &[&str]) -> String {
    let url = format!("https://localhost:{port}/");
    let args = ["load", &url, "--insecure", "--duration", "100ms", "--timeout", "5s"];
    let said = testkit::refused(binary!(), &[&args[..], more].concat());
    assert!(said.lines().count() <= 4, "{more:?}: {said}");
    said
}

#[test]
fn each_reason_for_a_failed_handshake_is_named() {
    let Some(dir) = folder("refusals within TLS") else { return };
    let cases: [(&[&str], &[&str], &str); 3] = [
        // The server allows only a cipher without forward secrecy, which loadline does not support.
        (&["-tls1_2", "-cipher", "AES128-SHA256"], &[], "no cipher in common"),
        (&["-tls1_2"], &["--tls", "1.3"], "leave --tls out"),
        (&["-tls1_3"], &["--tls", "1.2"], "leave --tls out"),
    ];
    for (at, ours, words) in cases {
        let port = free_port();
        let _server = server(dir.path(), port, &[&["-www", "-quiet"], at].concat());
        let said = refused(port, ours);
        assert!(said.contains(words), "{at:?}: {said}");
    }
}

/// For the page `/reneg`, OpenSSL requests a second handshake, and continues if the client refuses.
#[test]
fn a_server_that_requests_renegotiation_is_refused_and_answers() {
    let _alone = alone();
    let Some(dir) = folder("renegotiation of TLS 1.2") else { return };
    let port = free_port();
    let server = server(dir.path(), port, &["-www", "-tls1_2", "-msg", "-msgfile", "messages"]);
    let url = format!("https://localhost:{port}/reneg");
    for io in ["auto", "epoll"] {
        let args =
            ["load", &url, "--insecure", "--io", io, "--connections", "2", "--duration", "300ms", "--warmup", "0s"];
        let run = json(binary!(), &args);
        // openssl serves only one connection at a time, and closes each connection after its request. The end of the
        // load may cut a request, so the test checks only completed requests.
        assert!(total(&run, "completed") > 0, "{io}: {}", run["trials"][0]["errors"]);
        assert_eq!(run["trials"][0]["errors"].as_object().map(|errors| errors.len()), Some(0), "{io}");
    }
    drop(server);
    let messages = std::fs::read_to_string(dir.path().join("messages")).unwrap();
    assert!(messages.contains("HelloRequest") && messages.contains("no_renegotiation"), "{messages}");
}

/// After a certain line on its standard input, OpenSSL requests a second handshake while the client waits for an
/// answer. If the client refuses the second handshake, OpenSSL ends the connection.
#[test]
fn a_server_that_insists_on_renegotiating_is_named() {
    let Some(dir) = folder("renegotiation that is insisted on") else { return };
    let port = free_port();
    let mut command = Command::new("openssl");
    command.args(["s_server", "-accept", &format!("127.0.0.1:{port}"), "-cert", "cert", "-key", "key", "-tls1_2"]);
    command.current_dir(dir.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = ChildProcess::listening(&mut command, port);
    let (mut stdin, mut stdout) = (server.0.stdin.take().unwrap(), server.0.stdout.take().unwrap());
    let asks = std::thread::spawn(move || {
        let (mut said, mut piece) = (Vec::new(), [0; 4096]);
        while !said.windows(6).any(|bytes| bytes == b"GET / ") {
            match stdout.read(&mut piece).unwrap() {
                0 => return,
                n => said.extend_from_slice(&piece[..n]),
            }
        }
        stdin.write_all(b"R\n").unwrap();
        let _ = std::io::copy(&mut stdout, &mut std::io::sink());
    });
    let said = refused(port, &[]);
    assert!(said.contains("renegotiation") && said.contains("TLS 1.3"), "{said}");
    drop(server);
    asks.join().unwrap();
}

/// Starts a forwarder, and returns its port. The first connection goes to the port `first`, and all others go to the
/// port `others`.
fn first_to(first: u16, others: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for (at, here) in listener.incoming().flatten().enumerate() {
            let there = TcpStream::connect(("127.0.0.1", if at == 0 { first } else { others })).unwrap();
            let ends = [(here.try_clone().unwrap(), there.try_clone().unwrap()), (there, here)];
            for (mut from, mut to) in ends {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
    port
}

#[test]
fn a_certificate_chain_of_1_mib_is_refused_and_not_kept() {
    let _alone = alone();
    let Some(dir) = folder("a certificate chain of 1 MiB") else { return };
    let certificate = std::fs::read_to_string(dir.path().join("cert")).unwrap();
    // The file `chain` repeats one certificate. The file is in base64 (PEM), so the server sends only three quarters of
    // the file's size.
    std::fs::write(dir.path().join("chain"), certificate.repeat((1 << 20) * 4 / 3 / certificate.len() + 1)).unwrap();
    for (version, io) in [("-tls1_2", "epoll"), ("-tls1_3", "auto")] {
        let (good, long) = (free_port(), free_port());
        let _good = server(dir.path(), good, &["-www", "-quiet"]);
        let _long = server(dir.path(), long, &["-www", "-quiet", version, "-cert_chain", "chain"]);
        let said = refused(long, &[]);
        assert!(said.contains("more than 64 KiB") && said.contains("certificate chain"), "{version}: {said}");
        let url = format!("https://localhost:{}/", first_to(good, long));
        let args = ["load", &url, "--insecure", "--connections", "16", "--io", io, "--duration", "2s"];
        // The server is a child of this test. Reading the server's symbols would take more memory than all data that
        // the server sends, so the load samples no stacks.
        let Watched { run, peak_kib, generators } =
            watched(binary!(), &[&args[..], &["--warmup", "0s", "--no-stacks"]].concat());
        let errors = run.unwrap()["trials"][0]["errors"].clone();
        println!("{version} {io}: {peak_kib} KiB at most, {errors}");
        assert!(generators > 0 && errors["handshake_failed"].as_u64().unwrap_or(0) > 0, "{version} {io}: {errors}");
        assert!(peak_kib > 0 && peak_kib < MAX_MEMORY_KIB, "{version} {io}: {peak_kib} KiB");
    }
}
