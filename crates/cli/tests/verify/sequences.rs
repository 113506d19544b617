//! Tests of requests that depend on each other, such as a login to a small Python application. loadline replaces
//! placeholders in the requests by new values for each request.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::json as value;
use testkit::{
    Running, alone, assert_logged_in, binary, free_port, json, logged, login_sequence, nginx, num, program, refused,
    skip, total,
};

/// Source of an application with a login. POST /login gets a user name and a password, and returns a token and a
/// cookie. GET /me needs the token and the cookie, and returns the user name.
const APP: &str = r#"
import json, secrets, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
tokens, users = {}, {"ann": "one", "bob": "two", "eve": "three"}
class App(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def say(self, status, body, *headers):
        body = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers: self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if users.get(said["user"]) != said["password"]: return self.say(403, {})
        token, sid = secrets.token_hex(8), secrets.token_hex(8)
        tokens[token] = (sid, said["user"])
        self.say(200, {"auth": {"token": token}, "n": 1}, ("Set-Cookie", "sid=" + sid + "; Path=/; HttpOnly"), ("X-Trace", token[::-1]))
    def do_GET(self):
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        sid, user = tokens.get(token, (None, None))
        good = user and self.headers.get("Cookie") == "sid=" + sid and self.path == "/me?trace=" + token[::-1]
        self.say(200 if good else 401, {"user": user})
    def log_message(self, *_): pass
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), App).serve_forever()
"#;

#[test]
fn a_login_gives_the_next_request_its_token_and_cookie() {
    let _alone = alone();
    let Some(python) = program("python3") else { return skip("sequences", "python3 is not installed") };
    let (port, dir) = (free_port(), tempfile::tempdir().unwrap());
    let file = |name: &str, text: &str| {
        std::fs::write(dir.path().join(name), text).unwrap();
        dir.path().join(name).display().to_string()
    };
    let toml = login_sequence(r#"{"user": "{{user}}", "password": "{{password}}"}"#, r#"expect-text = '"user": "'"#);
    let (app, mix) = (file("app.py", APP), file("mix.toml", &toml));
    let users = file("users.csv", "user,password\nann,one\nbob,two\neve,three\n");
    let mut command = Command::new(python);
    command.args([&app, &port.to_string()]);
    let _server = Running::start(command, port, tempfile::tempdir().unwrap());
    let url = format!("http://127.0.0.1:{port}/");
    let load = |mix: &str, data: &str| {
        let args = ["load", &url, "--requests", mix, "--data", data, "--connections", "3", "--duration", "500ms"];
        json(binary!(), &[&args[..], &["--warmup", "0s", "--at-rest", "0s"]].concat())
    };
    let run = load(&mix, &users);
    let trial = &run["trials"][0];
    assert_eq!((&trial["errors"], num(&trial["unexpected_status"])), (&value!({}), 0.0), "{trial}");
    assert_logged_in(&run, 3);
    // The stored run must contain none of the passwords in the file.
    assert!(!run.to_string().contains("three") && run["plan"]["load"]["requests"]["data"]["columns"][1] == "password");

    // If a JSON pointer finds nothing, or if a placeholder's name is unknown, loadline reports this before any load.
    let wrong = file("wrong.toml", &toml.replace("/auth/token", "/auth/tokn"));
    let said = refused(binary!(), &["load", &url, "--requests", &wrong, "--data", &users]);
    assert!(said.contains("what is captured from it is not in it"), "{said}");
    let typo = file("typo.toml", &toml.replace("{{token}}", "{{tokne}}"));
    let said = refused(binary!(), &["load", &url, "--requests", &typo, "--data", &users]);
    assert!(said.contains("request 2 (me)") && said.contains("did you mean {{token}}?"), "{said}");
}

#[test]
fn placeholders_are_filled_without_repeats_and_zipf_has_its_skew() {
    let _alone = alone();
    let (port, dir) = (free_port(), tempfile::tempdir().unwrap());
    assert!(Command::new("chmod").arg("a+rwx").arg(dir.path()).status().unwrap().success());
    let d = dir.path().display();
    let http = format!(
        "log_format keys '$arg_n $arg_k $arg_u $http_x_row';
         server {{ listen 127.0.0.1:{port} backlog=4096; access_log {d}/log keys; return 200 ok; }}"
    );
    let Some(_server) = nginx(0, "", &http) else { return skip("places", "nginx is not installed") };
    let mix = "[[request]]\npath = \"/?n={{seq}}&k={{zipf 1 50 1.2}}&u={{uuid}}\"\nheaders = { X-Row = \"{{row}}\" }\n";
    std::fs::write(dir.path().join("mix.toml"), mix).unwrap();
    let rows: String = std::iter::once("row\n".to_owned()).chain((0..12_000).map(|row| format!("r{row}\n"))).collect();
    std::fs::write(dir.path().join("rows.csv"), rows).unwrap();
    let (mix, rows) = (format!("{d}/mix.toml"), format!("{d}/rows.csv"));
    let url = format!("http://127.0.0.1:{port}/");
    let args = ["load", &url, "--requests", &mix, "--data", &rows, "--data-order", "unique", "--rate", "2000"];
    let run = json(
        binary!(),
        &[&args[..], &["--threads", "2", "--duration", "1s", "--warmup", "0s", "--at-rest", "0s"]].concat(),
    );
    assert_eq!(run["trials"][0]["errors"], value!({}));
    let completed = total(&run, "completed") as usize;
    let log = dir.path().join("log");
    let text = logged(&log, completed);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.len(), completed);
    for (at, what) in [(0, "numbers"), (2, "UUIDs"), (3, "rows")] {
        assert_eq!(lines.iter().map(|line| line[at]).collect::<BTreeSet<_>>().len(), completed, "{what} repeat");
    }
    let sum: f64 = (1..=50).map(|k| f64::from(k).powf(-1.2)).sum();
    let expected = completed as f64 / sum;
    let first = lines.iter().filter(|line| line[1] == "1").count() as f64;
    assert!((first - expected).abs() < 5.0 * expected.sqrt(), "{first} of {expected} by Zipf's law");
    let said = refused(binary!(), &[&args[..], &["--duration", "60s"]].concat());
    assert!(said.contains("12000 rows of data are too few"), "{said}");
}

/// All hosts are this machine, because the command in `--via` ignores the host's name.
#[test]
fn rows_of_data_are_divided_over_hosts_agents_and_threads_without_repeats() {
    let _alone = alone();
    let (port, dir) = (free_port(), tempfile::tempdir().unwrap());
    assert!(Command::new("chmod").arg("a+rwx").arg(dir.path()).status().unwrap().success());
    let d = dir.path().display();
    let http = format!(
        "log_format rows '$arg_row'; server {{ listen 127.0.0.1:{port} backlog=4096; access_log {d}/log rows; return 200 ok; }}"
    );
    let Some(_server) = nginx(0, "", &http) else { return skip("rows over hosts", "nginx is not installed") };
    let file = |name: &str, text: &str| {
        std::fs::write(dir.path().join(name), text).unwrap();
        format!("{d}/{name}")
    };
    let mix = file("mix.toml", "[[request]]\npath = \"/?row={{row}}\"\n");
    let rows: String = std::iter::once("row\n".to_owned()).chain((0..3000).map(|row| format!("r{row}\n"))).collect();
    let (rows, via) = (file("rows.csv", &rows), format!("sh {} {{host}}", file("via", "shift\nexec sh -c \"$*\"\n")));
    let (url, own) = (format!("http://127.0.0.1:{port}/"), binary!().display().to_string());
    let data = ["load", &url, "--requests", &mix, "--data", &rows, "--data-order", "unique", "--rate", "600"];
    let hosts = ["--client-hosts", "a,b", "--agents-per-host", "2", "--via", &via, "--agent-path", &own];
    let more = ["--threads", "2", "--duration", "1s", "--warmup", "0s", "--at-rest", "0s"];
    let run = json(binary!(), &[&data[..], &hosts, &more].concat());
    assert_eq!(run["trials"][0]["errors"], value!({}));
    let completed = total(&run, "completed") as usize;
    let log = dir.path().join("log");
    let text = logged(&log, completed);
    let (once, all) = (text.lines().collect::<BTreeSet<_>>(), text.lines().count());
    assert!(completed > 100 && all >= completed, "{completed} of {all}");
    assert_eq!(once.len(), all, "each row once");
    // loadline assigns rows to the four agents (generator processes) in turn, so each agent used one of the first four
    // rows.
    assert!((0..4).all(|row| once.contains(format!("r{row}").as_str())), "{once:?}");
}
