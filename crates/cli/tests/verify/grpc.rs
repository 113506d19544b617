//! Tests of gRPC against grpcio (the C core, used from Python). loadline's counts must equal the counts of the grpcio
//! server. A grpcio client must get answers from loadline's server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json as value};
use testkit::{
    ChildProcess, alone, binary, eventually, json, loadline, python_server, python_with, served, status, total,
};

/// Python program of a server whose answers repeat the request's message. Every third call of the method `Third` fails,
/// and the server has no method `None`. A thread writes the count of calls to a file.
const SERVER: &str = r#"
import grpc, os, sys, threading, time
from concurrent import futures
count = 0
def call_of(name):
    def call(message, context):
        global count
        count += 1
        if name.endswith("/Third") and count % 3 == 0:
            context.abort(grpc.StatusCode.UNAVAILABLE, "not now")
        return message * 2
    return call
class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        if details.method.endswith("/None"):
            return None
        return grpc.unary_unary_rpc_method_handler(call_of(details.method))
def write():
    while True:
        with open(sys.argv[1] + "/count.new", "w") as f: f.write(str(count))
        os.rename(sys.argv[1] + "/count.new", sys.argv[1] + "/count")
        time.sleep(0.02)
server = grpc.server(futures.ThreadPoolExecutor(1))
server.add_generic_rpc_handlers((Handler(),))
if len(sys.argv) > 2:
    pair = [open(sys.argv[1] + "/" + name, "rb").read() for name in ("key", "cert")]
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
else:
    port = server.add_insecure_port("127.0.0.1:0")
server.start()
threading.Thread(target=write, daemon=True).start()
print("127.0.0.1:%d" % port, flush=True)
server.wait_for_termination()
"#;

struct Server {
    _held: ChildProcess,
    addr: SocketAddr,
    dir: tempfile::TempDir,
    seen: u64,
}

impl Server {
    fn start(test: &str, tls: bool) -> Option<Self> {
        let (python, dir) = (python_with(test, "grpc")?, tempfile::tempdir().unwrap());
        let path = dir.path().display().to_string();
        if tls {
            testkit::self_signed(dir.path());
        }
        std::fs::write(dir.path().join("message"), vec![7; 300]).unwrap();
        let args: &[&str] = if tls { &[&path, "tls"] } else { &[&path] };
        let (held, addr) = python_server(&python, SERVER, args);
        Some(Self { _held: held, addr, dir, seen: 0 })
    }

    /// Waits until the server has counted `expected` new calls. Returns the number of calls since the previous count.
    fn counted(&mut self, expected: u64) -> u64 {
        let read = || std::fs::read_to_string(self.dir.path().join("count")).ok()?.parse::<u64>().ok();
        let count = eventually(|| read().filter(|count| *count >= self.seen + expected));
        count - std::mem::replace(&mut self.seen, count)
    }

    fn load(&self, url: &str, more: &[&str]) -> Value {
        let body = self.dir.path().join("message").display().to_string();
        let mut args = vec!["load", url, "--connections", "4", "--duration", "1s", "--warmup", "0s", "--body", &body];
        args.extend(more);
        let run = json(binary!(), &args);
        assert_eq!(run["trials"][0]["errors"], value!({}), "{more:?}");
        run
    }
}

#[test]
fn call_counts_equal_those_of_the_server() {
    let _alone = alone();
    let Some(mut server) = Server::start("gRPC", false) else { return };
    let url = |method: &str| format!("grpc://{}/a.Service/{method}", server.addr);
    let (twice, third) = (url("Twice"), url("Third"));
    for more in [["--io", "epoll", "--streams", "4"], ["--io", "auto", "--streams", "1"]] {
        let run = server.load(&twice, &more);
        let completed = total(&run, "completed");
        assert_eq!(server.counted(completed), completed, "{more:?}");
        assert_eq!((status(&run, "OK"), total(&run, "unexpected_status")), (completed, 0));
        assert!(completed > 50 && total(&run, "bytes_received") > completed * 600, "{completed}");
    }
    // Every third call fails, but the first call of a load must succeed. The test repeats loads until the first call of
    // the next load will succeed.
    while server.seen % 3 == 2 {
        let run = server.load(&twice, &[]);
        server.counted(total(&run, "completed"));
    }
    let failing = |from: u64, to: u64| to / 3 - from / 3;
    for (more, wrong) in [(vec![], true), (vec!["--expect-status", "14"], false)] {
        let before = server.seen;
        let run = server.load(&third, &more);
        let completed = total(&run, "completed");
        assert_eq!(server.counted(completed), completed);
        let failed = failing(before, server.seen);
        assert!(failed > 10);
        assert_eq!((status(&run, "UNAVAILABLE"), status(&run, "OK")), (failed, completed - failed));
        assert_eq!(total(&run, "unexpected_status"), if wrong { failed } else { 0 });
        while server.seen % 3 == 2 {
            let run = server.load(&twice, &[]);
            server.counted(total(&run, "completed"));
        }
    }
}

#[test]
fn within_tls_call_counts_equal_those_of_the_server() {
    let _alone = alone();
    if !testkit::has("gRPC within TLS", "openssl") {
        return;
    }
    let Some(mut server) = Server::start("gRPC within TLS", true) else { return };
    let run =
        server.load(&format!("grpcs://localhost:{}/a.B/C", server.addr.port()), &["--insecure", "--streams", "4"]);
    let completed = total(&run, "completed");
    assert!(completed > 20);
    assert_eq!((server.counted(completed), status(&run, "OK")), (completed, completed));
}

#[test]
fn a_wrong_method_or_path_is_named() {
    let Some(server) = Server::start("gRPC refused", false) else { return };
    let says = |url: &str| {
        let output = loadline(binary!(), &["load", url]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = says(&format!("grpc://{}/a.B/None", server.addr));
    assert!(said.contains("UNIMPLEMENTED (12)") && said.contains("--expect-status 12"), "{said}");
    let said = says(&format!("grpc://{}/", server.addr));
    assert!(said.contains("package.Service/Method"), "{said}");
}

fn client(python: &PathBuf, url: &str) -> String {
    const CLIENT: &str = r#"
import grpc, sys
call = grpc.insecure_channel(sys.argv[1]).unary_unary("/a.B/C")
try:
    print(*[len(call(b"x" * n, timeout=20)) for n in (0, 10, 100000)])
except grpc.RpcError as e:
    print(e.code().name)
"#;
    let output = Command::new(python).args(["-c", CLIENT, url]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn a_python_client_is_answered() {
    let Some(python) = python_with("a gRPC client", "grpc") else { return };
    for (more, expected) in [
        (["--model", "auto", "--body-bytes", "70000"], "70000 70000 70000"),
        (["--model", "blocking", "--body-bytes", "0"], "0 0 0"),
        (["--model", "epoll", "--option", "status=8"], "RESOURCE_EXHAUSTED"),
    ] {
        let mut command = Command::new(binary!());
        command.args(["serve", "grpc"]).args(more);
        let server = served(command);
        assert_eq!(client(&python, &server.addr.to_string()), expected, "{more:?}");
    }
}

#[test]
fn a_request_set_with_placeholders_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mix.toml");
    std::fs::write(&file, "[[request]]\npath = \"/a.B/C\"\nbody = \"{{seq}}\"\n").unwrap();
    let output = loadline(binary!(), &["load", "grpc://127.0.0.1:1/a.B/C", "--requests", &file.display().to_string()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("not for grpc"), "{said}");
    assert!(said.contains("{{seq}}") && said.contains("give one whole message instead"), "{said}");
}
