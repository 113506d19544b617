//! Servers within TLS that no connection can be had with: each is one clear sentence, and no hang.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};

use testkit::{Held, binary, eventually, free_port, has, loadline};

const MAKE: &str =
    "openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj /CN=localhost 2>/dev/null";

/// `openssl s_server` with further arguments; whatever is asked is answered by a page.
fn server(dir: &Path, port: u16, more: &[&str]) -> Held {
    let mut command = Command::new("openssl");
    command.args([
        "s_server",
        "-accept",
        &format!("127.0.0.1:{port}"),
        "-cert",
        "cert",
        "-key",
        "key",
        "-www",
        "-quiet",
    ]);
    command.args(more).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut held = Held::start(&mut command);
    eventually(|| {
        assert!(held.runs(), "openssl {more:?} ended at once");
        std::net::TcpStream::connect(("127.0.0.1", port)).ok()
    });
    held
}

#[test]
fn what_stands_against_a_handshake_is_said() {
    if !has("refusals within TLS", "openssl") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    assert!(Command::new("sh").args(["-ec", MAKE]).current_dir(&dir).status().unwrap().success());
    let cases: [(&[&str], &[&str], &str); 3] = [
        // A cipher without forward secrecy, which is not spoken here.
        (&["-tls1_2", "-cipher", "AES128-SHA256"], &[], "no cipher in common"),
        (&["-tls1_2"], &["--tls", "1.3"], "leave --tls out"),
        (&["-tls1_3"], &["--tls", "1.2"], "leave --tls out"),
    ];
    for (at, ours, words) in cases {
        let port = free_port();
        let _server = server(dir.path(), port, at);
        let url = format!("https://localhost:{port}/");
        let args = ["load", &url, "--insecure", "--duration", "100ms", "--timeout", "2s"];
        let output = loadline(binary!(), &[&args[..], ours].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{at:?}: {said}");
        assert!(said.contains(words) && said.lines().count() <= 4, "{at:?}: {said}");
    }
}
