//! Tests of HTTP/2 against servers of other projects: node, and Apache with mod_http2. loadline's counts must equal the
//! server's own counts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json as value};
use testkit::{
    ChildProcess, Running, alone, assert_logged_in, binary, eventually, first_line, free_port, has, json, logged,
    login_sequence, program, refused, skip, total,
};

/// Source of a node server that speaks HTTP/2 without TLS (prior knowledge). Every 20 ms, the server writes its count
/// of requests to a file.
const NODE: &str = r#"
const http2 = require("node:http2"), fs = require("node:fs"), dir = process.argv[1];
let asked = 0;
const server = http2.createServer({ settings: { maxConcurrentStreams: 6 } }, (request, response) => {
  asked += 1;
  request.resume();
  request.on("end", () => response.end("x".repeat(3000)));
});
setInterval(() => { fs.writeFileSync(dir + "/new", String(asked)); fs.renameSync(dir + "/new", dir + "/asked"); }, 20);
server.listen(0, "127.0.0.1", () => console.log("127.0.0.1:" + server.address().port));
"#;

fn load(url: &str, more: &[&str]) -> Value {
    let mut args = vec!["load", url, "--http2", "--connections", "3", "--duration", "400ms", "--warmup", "0s"];
    args.extend(more);
    json(binary!(), &args)
}

#[test]
fn counts_equal_those_of_node() {
    let _alone = alone();
    if !has("node's HTTP/2", "node") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut server =
        ChildProcess::start(Command::new("node").args(["-e", NODE]).arg(dir.path()).stdout(Stdio::piped()));
    let url = format!("http://{}/page", first_line(&mut server.0));
    let body = dir.path().join("body");
    std::fs::write(&body, vec![b'b'; 40_000]).unwrap();
    let (asked, body) = (dir.path().join("asked"), body.display().to_string());
    let mut seen = 0;
    // The server allows six streams per connection. The second load plans twelve streams, but the server must not
    // refuse any request.
    for more in [&["--streams", "1"][..], &["--streams", "12"], &["--streams", "4", "--body", &body]] {
        let run = load(&url, more);
        let [completed, sent] = ["completed", "sent"].map(|count| total(&run, count));
        assert_eq!((&run["trials"][0]["errors"], sent), (&value!({}), completed), "{more:?}");
        assert_eq!(run["trials"][0]["stream_limit"], value!(6));
        assert!(completed > 5 && total(&run, "bytes_received") > completed * 3000, "{more:?}: {completed}");
        seen += completed;
        assert_eq!(counted(&asked, seen), seen, "{more:?}");
    }
}

/// Waits until the number in a file is at least `expected`, and returns this number.
fn counted(file: &Path, expected: u64) -> u64 {
    eventually(|| std::fs::read_to_string(file).ok()?.trim().parse().ok().filter(|n| *n >= expected))
}

/// Starts Apache with mod_http2 on a port without TLS. Each line of Apache's log contains the protocol and the status.
fn apache() -> Option<Running> {
    let (port, dir) = (free_port(), tempfile::tempdir().unwrap());
    let modules = "/usr/lib/apache2/modules";
    if !Path::new(modules).join("mod_http2.so").exists() {
        skip("Apache's HTTP/2", "apache2 with mod_http2 is not installed");
        return None;
    }
    let d = dir.path().display().to_string();
    std::fs::write(dir.path().join("page"), vec![b'x'; 3000]).unwrap();
    assert!(Command::new("chmod").args(["755", &d]).status().unwrap().success());
    let config = format!(
        "ServerRoot {d}\nDefaultRuntimeDir {d}\nPidFile {d}/pid\nServerName localhost\nListen 127.0.0.1:{port}\n\
         LoadModule mpm_event_module {modules}/mod_mpm_event.so\nLoadModule authz_core_module {modules}/mod_authz_core.so\n\
         LoadModule http2_module {modules}/mod_http2.so\nProtocols h2c http/1.1\nH2MaxSessionStreams 9\n\
         User nobody\nGroup nogroup\nStartServers 1\nServerLimit 1\nThreadsPerChild 25\nMaxRequestWorkers 25\n\
         MaxKeepAliveRequests 0\nDocumentRoot {d}\nErrorLog {d}/error\nLogFormat \"%H %>s\" t\nCustomLog {d}/access t\n"
    );
    std::fs::write(dir.path().join("conf"), config).unwrap();
    let mut command = Command::new(program("apache2")?);
    command.arg("-f").arg(dir.path().join("conf")).arg("-DFOREGROUND");
    Some(Running::start(command, port, dir))
}

#[test]
fn counts_equal_the_log_of_apache() {
    let _alone = alone();
    if !has("Apache's HTTP/2", "apache2") {
        return;
    }
    let Some(server) = apache() else { return };
    let (url, log) = (format!("http://{}/page", server.addr), server.dir.path().join("access"));
    let mut seen = 0;
    for streams in ["1", "20"] {
        let run = load(&url, &["--streams", streams]);
        let [completed, sent] = ["completed", "sent"].map(|count| total(&run, count));
        assert_eq!((&run["trials"][0]["errors"], sent), (&value!({}), completed), "{streams}");
        assert_eq!(run["trials"][0]["stream_limit"], value!(9));
        assert!(completed > 5 && total(&run, "bytes_received") > completed * 3000, "{streams}: {completed}");
        seen += completed as usize;
        let text = logged(&log, seen);
        assert_eq!(text.lines().count(), seen, "{streams}");
        assert!(text.lines().all(|line| line == "HTTP/2.0 200"), "{:?}", text.lines().find(|l| *l != "HTTP/2.0 200"));
    }
}

/// Source of a node server with a login. POST /login returns a token in the body, a second token in a header, and two
/// cookies. GET /me must send the two tokens and the two cookies from the answer to POST /login.
const LOGIN: &str = r#"
const http2 = require("node:http2"), crypto = require("node:crypto"), known = new Map();
const server = http2.createServer((request, response) => {
  let body = "";
  request.on("data", piece => body += piece);
  request.on("end", () => {
    if (request.method === "POST") {
      const [token, trace, sid] = [0, 0, 0].map(() => crypto.randomBytes(8).toString("hex"));
      known.set(token, { trace, sid, user: JSON.parse(body).user });
      response.writeHead(200, { "set-cookie": ["sid=" + sid + "; Path=/", "lang=en"], "x-trace": trace });
      return response.end(JSON.stringify({ auth: { token } }));
    }
    const of = known.get((request.headers.authorization || "").slice(7));
    const good = of && request.headers.cookie === "sid=" + of.sid + "; lang=en" && request.url === "/me?trace=" + of.trace;
    response.statusCode = good ? 200 : 401;
    response.end(good ? of.user : "no");
  });
});
server.listen(0, "127.0.0.1", () => console.log("127.0.0.1:" + server.address().port));
"#;

#[test]
fn a_sequence_sends_captured_tokens_and_cookies() {
    let _alone = alone();
    if !has("sequences over HTTP/2", "node") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut server = ChildProcess::start(Command::new("node").args(["-e", LOGIN]).stdout(Stdio::piped()));
    let url = format!("http://{}/", first_line(&mut server.0));
    let file = |name: &str, text: &str| {
        std::fs::write(dir.path().join(name), text).unwrap();
        dir.path().join(name).display().to_string()
    };
    let toml = login_sequence(r#"{"user": "user {{seq}}"}"#, "");
    let mix = file("mix.toml", &toml);
    let run = load(&url, &["--requests", &mix]);
    let trial = &run["trials"][0];
    // A GET /me without the right tokens and cookies would have an unexpected status.
    assert_eq!((&trial["errors"], total(&run, "unexpected_status")), (&value!({}), 0), "{trial}");
    assert_logged_in(&run, 3);

    // If a JSON pointer finds nothing, loadline reports this before any load. loadline refuses to send a sequence with
    // several requests in flight, because each request needs the answer to the previous request.
    let wrong = file("wrong.toml", &toml.replace("/auth/token", "/auth/tokn"));
    for (mix, more, says) in [
        (&wrong, &[][..], "what is captured from it is not in it"),
        (&mix, &["--streams", "4"], "leave --pipeline (--streams) out"),
    ] {
        let said = refused(binary!(), &[&["load", &url, "--http2", "--requests", mix], more].concat());
        assert!(said.contains(says), "{said}");
    }
}
