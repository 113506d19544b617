//! Tests of servers that send a greeting first. loadline must not send a request on a connection before the greeting
//! has arrived.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use testkit::{binary, json, refused, total};

/// Starts a server that sends a greeting in two pieces, and answers each line with `ok`. Returns the server's address,
/// and a counter of the server's answers.
fn greeting_server() -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (addr, answers) = (listener.local_addr().unwrap(), Arc::new(AtomicU64::new(0)));
    let count = answers.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = count.clone();
            std::thread::spawn(move || talk(stream, &count));
        }
    });
    (addr, answers)
}

fn talk(stream: TcpStream, answers: &AtomicU64) {
    let mut writer = stream.try_clone().unwrap();
    for piece in ["220 hel", "lo\r\n"] {
        std::thread::sleep(Duration::from_millis(20));
        let _ = writer.write_all(piece.as_bytes());
    }
    for _ in BufReader::new(stream).lines().map_while(Result::ok) {
        answers.fetch_add(1, Ordering::Relaxed);
        if writer.write_all(b"ok").is_err() {
            return;
        }
    }
}

#[test]
fn a_server_that_speaks_first_is_loaded_after_its_greeting() {
    let (addr, answers) = greeting_server();
    let ask = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(ask.path(), b"ask\n").unwrap();
    let (url, ask) = (format!("tcp://{addr}"), ask.path().display().to_string());
    let args = ["load", &url, "--send-file", &ask, "--expect-bytes", "2", "--connections", "2"];
    let args = [&args[..], &["--duration", "300ms", "--warmup", "0s", "--at-rest", "0s"]].concat();
    for until in ["line", "220 hello\r\n", "11"] {
        let before = answers.load(Ordering::Relaxed);
        let run = json(binary!(), &[&args[..], &["--read-first", until]].concat());
        let completed = total(&run, "completed");
        assert!(completed > 2 && total(&run, "handshakes") >= 2, "{until}: {completed}");
        assert_eq!(answers.load(Ordering::Relaxed) - before, completed, "{until}");
    }
    let said = refused(binary!(), &args);
    assert!(said.contains("give --read-first line"), "{said}");
    let said = refused(binary!(), &[&args[..], &["--read-first", "0"]].concat());
    assert!(said.contains("--read-first"), "{said}");
}
