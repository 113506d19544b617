//! Tests of WebSocket. loadline's counts must equal the counts of a Python server, and loadline's server must answer a
//! Python client.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::SocketAddr;
use std::process::Command;

use serde_json::{Value, json as value};
use testkit::{ChildProcess, alone, binary, eventually, json, loadline, python_server, python_with, served, total};

/// Source of a server that sends every message back. On each connection, the server first sends a ping and waits for
/// the pong. The server writes its counts to a file.
const SERVER: &str = r#"
import asyncio, os, ssl, sys, websockets
count, sent_as = 0, {str: 0, bytes: 0}
def write():
    with open(sys.argv[1] + ".new", "w") as f: f.write(f"{count} {sent_as[str]}")
    os.rename(sys.argv[1] + ".new", sys.argv[1])
async def serve(ws, *_):
    global count
    try:
        await (await ws.ping())
        async for message in ws:
            count += 1
            sent_as[type(message)] += 1
            await ws.send([message[:1], message[1:]] if len(message) > 1 else message)
    except websockets.ConnectionClosed:
        pass
    write()
async def main():
    tls = None
    if len(sys.argv) > 2:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(sys.argv[2] + "/cert", sys.argv[2] + "/key")
    server = await websockets.serve(serve, "127.0.0.1", 0, ssl=tls, max_size=None)
    print("127.0.0.1:%d" % server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Future()
asyncio.run(main())
"#;

struct Server {
    _held: ChildProcess,
    addr: SocketAddr,
    dir: tempfile::TempDir,
}

impl Server {
    fn start(test: &str, tls: bool) -> Option<Self> {
        let (python, dir) = (python_with(test, "websockets")?, tempfile::tempdir().unwrap());
        let path = dir.path().display().to_string();
        let count = format!("{path}/count");
        let args: &[&str] = if tls { &[&count, &path] } else { &[&count] };
        if tls {
            testkit::self_signed(dir.path());
        }
        let (held, addr) = python_server(&python, SERVER, args);
        Some(Self { _held: held, addr, dir })
    }

    /// Waits until the server has counted `expected` messages. Returns the number of all messages, and the number of
    /// text messages.
    fn counted(&self, expected: u64) -> (u64, u64) {
        let read = || std::fs::read_to_string(self.dir.path().join("count")).unwrap_or_default();
        let pair = || {
            let text = read();
            let (all, of_text) = text.split_once(' ')?;
            Some((all.parse::<u64>().ok()?, of_text.parse::<u64>().ok()?))
        };
        eventually(|| pair().filter(|(all, _)| *all >= expected))
    }
}

fn load(url: &str, more: &[&str]) -> Value {
    let mut args = vec!["load", url, "--connections", "4", "--duration", "1s", "--warmup", "0s"];
    args.extend(more);
    let run = json(binary!(), &args);
    assert_eq!(run["trials"][0]["errors"], value!({}), "{more:?}");
    run
}

#[test]
fn message_counts_equal_those_of_the_server() {
    let _alone = alone();
    let Some(server) = Server::start("WebSocket", false) else { return };
    let url = format!("ws://{}/chat", server.addr);
    let binary_file = server.dir.path().join("message");
    std::fs::write(&binary_file, vec![0xff; 70_000]).unwrap();
    let (file, mut before) = (binary_file.display().to_string(), 0);
    let cases: [&[&str]; 3] = [&["--io", "epoll", "--messages", "10"], &["--pipeline", "4"], &["--body", &file]];
    for more in cases {
        let run = load(&url, more);
        let (completed, connections) = (total(&run, "completed"), total(&run, "connected"));
        let (all, text) = server.counted(before + completed);
        assert_eq!(all - before, completed, "{more:?}");
        assert_eq!(text == all, !more.contains(&"--body"), "{more:?}");
        // The handshakes of the last connections may be incomplete when the load ends.
        let shaken = total(&run, "handshakes");
        assert!(
            completed > 20 && (connections - 4..=connections).contains(&shaken),
            "{completed} {connections} {shaken}"
        );
        if more.contains(&"--messages") {
            assert!(connections >= completed / 10, "{connections} connections for {completed} messages");
        }
        before = all;
    }
    let run = load(&url, &["--new-connections"]);
    let (completed, shaken) = (total(&run, "completed"), total(&run, "handshakes"));
    assert!(completed > 10 && (completed..=completed + 4).contains(&shaken), "{completed} {shaken}");
}

#[test]
fn within_tls_message_counts_equal_those_of_the_server() {
    let _alone = alone();
    if !testkit::has("WebSocket within TLS", "openssl") {
        return;
    }
    let Some(server) = Server::start("WebSocket within TLS", true) else { return };
    let run = load(&format!("wss://localhost:{}/", server.addr.port()), &["--insecure", "--messages", "20"]);
    let completed = total(&run, "completed");
    assert!(completed > 20);
    assert_eq!(server.counted(completed).0, completed);
}

#[test]
fn a_python_client_is_answered() {
    const CLIENT: &str = r#"
import asyncio, sys, websockets
async def main():
    async with websockets.connect(sys.argv[1], max_size=None) as ws:
        for message in ["text", b"bytes" * 1000, "x" * 200000, ""]:
            await ws.send(message)
            assert await ws.recv() == message
        await ws.send(["in", "par", "ts"])
        assert await ws.recv() == "inparts"
        await (await ws.ping(b"hello"))
    print(ws.close_code)
asyncio.run(main())
"#;
    let Some(python) = python_with("a WebSocket client", "websockets") else { return };
    for model in ["auto", "blocking", "epoll"] {
        let mut command = Command::new(binary!());
        command.args(["serve", "ws", "--model", model]);
        let server = served(command);
        let output = Command::new(&python).args(["-c", CLIENT, &format!("ws://{}/", server.addr)]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1000", "{model} {output:?}");
    }
}

#[test]
fn a_server_without_websocket_is_named() {
    let mut command = Command::new(binary!());
    command.args(["serve", "http"]);
    let server = served(command);
    let output = loadline(binary!(), &["load", &format!("ws://{}/chat", server.addr)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("refuses the handshake") && said.contains("200 OK") && said.contains("--header"), "{said}");
}
