//! Runs the commands in section "Targets" of README.md, one for each protocol. Replaces the hosts and paths in the
//! commands by the hosts and paths of servers that the test starts. Other tests cover the commands for PostgreSQL.

use std::path::Path;

use testkit::has;

use super::pages::{run, script};

/// Shell commands that start servers, and create the files that README's commands read. The Python server speaks HTTP
/// on a Unix socket.
const SET_UP: &str = r#"export TOKEN=secret
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out ca.pem -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
printf 'SET a 1\nGET a\n' > commands.txt
printf '%512s' x > request.bin
printf '{"id": 1}' > order.json
cat > app.py <<'END'
import http.server, socketserver
class App(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok.')
    def log_message(self, *words): pass
socketserver.ThreadingUnixStreamServer('app.sock', App).serve_forever()
END
python3 app.py &
until test -S app.sock; do sleep 0.05; done"#;

/// Commands that start the servers for README's commands.
const SERVERS: &[&str] = &[
    "loadline serve h2 --listen 127.0.0.1:19381 --option tls=1 --option tls_cert=ca.pem --option tls_key=key.pem &",
    "loadline serve grpc --listen 127.0.0.1:19382 &",
    "loadline serve ws --listen 127.0.0.1:19383 &",
    "loadline serve redis --listen 127.0.0.1:19384 &",
    "loadline serve echo --listen 127.0.0.1:19385 &",
    "loadline serve --listen 127.0.0.1:8080 &",
];

/// Parts of README's commands, each with the replacement that fits a server of this test. The WebSocket server sends
/// each message back. A generated message contains all capital letters, so the answer contains `ABC`.
const HERE: &[(&str, &str)] = &[
    ("https://10.0.0.7/path", "https://127.0.0.1:19381/path"),
    ("grpc://10.0.0.7:50051/package.Service/Method", "grpc://127.0.0.1:19382/loadline.Calls/Unary"),
    ("ws://10.0.0.7/socket", "ws://127.0.0.1:19383/socket"),
    ("--expect-text answer", "--expect-text ABC"),
    ("redis://127.0.0.1:6379", "redis://127.0.0.1:19384"),
    ("tcp://10.0.0.7:7000", "tcp://127.0.0.1:19385"),
    ("unix:///run/app.sock:/path", "unix://app.sock:/path"),
];

/// Returns the section "Targets" of README.md.
fn section(readme: &str) -> &str {
    section_of(readme, "Targets").expect("a section about targets")
}

/// Returns the section of a page with the given title; `None` if there is no such section.
pub(super) fn section_of<'p>(page: &'p str, title: &str) -> Option<&'p str> {
    let (_, after) = page.split_once(&format!("\n## {title}\n"))?;
    after.split("\n## ").next()
}

/// Returns the commands of the section, with a short time budget and with the addresses of this test's servers.
fn commands(section: &str) -> Vec<String> {
    let lines = section.lines().filter_map(|line| line.strip_prefix("    "));
    let here = |line: &str| HERE.iter().fold(line.to_owned(), |line, (page, test)| line.replace(page, test));
    let short = |line: String| format!("{line} --budget 3s --prove off --out run --force");
    lines.filter(|line| !line.contains("postgres://")).map(|line| short(here(line))).collect()
}

#[test]
fn the_commands_of_the_targets_run() {
    if ["openssl", "python3"].iter().any(|name| !has("README's targets", name)) {
        return;
    }
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let commands = commands(section(&readme));
    assert_eq!(commands.len(), 7, "{commands:#?}");
    assert!(commands.iter().all(|command| !command.contains("10.0.0.7")), "{commands:#?}");
    let servers = SERVERS.iter().map(|server| (*server).to_owned());
    let all: Vec<String> = [SET_UP.to_owned()].into_iter().chain(servers).chain(commands).collect();
    run(&script(&all)).unwrap_or_else(|why| panic!("{why}"));
}
