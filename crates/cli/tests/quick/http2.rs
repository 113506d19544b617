//! Tests of HTTP/2 against nginx, without TLS (with prior knowledge) and over TLS. loadline's counts must equal the
//! counts in the server's log.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json as value};
use tempfile::TempDir;
use testkit::{Running, alone, binary, free_port, json, loadline, logged_by_nginx, nginx, skip, total};

/// Size of the page, bytes.
const PAGE: u64 = 50_000;

/// nginx with HTTP/2 on a port without TLS, and on a port with TLS. Each line of nginx's log contains the protocol, the
/// status and the number of the connection.
struct Server {
    nginx: Running,
    plain: u16,
    tls: u16,
    dir: TempDir,
}

impl Server {
    fn start(test: &str, directives: &str) -> Option<Self> {
        if !testkit::has(test, "openssl") {
            return None;
        }
        let (plain, tls, dir) = (free_port(), free_port(), tempfile::tempdir().unwrap());
        std::fs::write(dir.path().join("log"), "").unwrap();
        testkit::self_signed(dir.path());
        std::fs::write(dir.path().join("page"), vec![b'x'; PAGE as usize]).unwrap();
        let d = dir.path().display();
        let http = format!(
            "log_format two '$server_protocol $status $connection';
             server {{ listen 127.0.0.1:{plain} http2 backlog=4096; listen 127.0.0.1:{tls} ssl http2 backlog=4096;
               ssl_certificate {d}/cert; ssl_certificate_key {d}/key; ssl_protocols TLSv1.2 TLSv1.3;
               access_log {d}/log two; {directives}
               location / {{ root {d}; }} location /post {{ client_max_body_size 10m; return 200 ok; }} }}"
        );
        let nginx = nginx(0, "", &http);
        if nginx.is_none() {
            skip(test, "nginx is not installed");
        }
        Some(Self { nginx: nginx?, plain, tls, dir })
    }

    /// Returns the lines that the log has gained since the last call. Waits until there are `expected` new lines.
    fn logged(&self, expected: u64) -> Vec<Vec<String>> {
        logged_by_nginx(&self.nginx, &self.dir.path().join("log"), expected)
    }
}

fn load(url: &str, more: &[&str]) -> Value {
    let mut args = vec!["load", url, "--http2", "--connections", "4", "--duration", "500ms", "--warmup", "0s"];
    args.extend(["--at-rest", "0s"]);
    args.extend(more);
    json(binary!(), &args)
}

#[test]
fn requests_on_many_streams_equal_the_server_s_log() {
    let _alone = alone();
    let Some(server) = Server::start("HTTP/2", "keepalive_requests 10000000;") else { return };
    let plain = format!("http://127.0.0.1:{}/page", server.plain);
    let tls = format!("https://127.0.0.1:{}/page", server.tls);
    for (url, io, streams) in
        [(&plain, "epoll", "10"), (&plain, "auto", "1"), (&tls, "epoll", "10"), (&tls, "auto", "10")]
    {
        let mut more = vec!["--io", io, "--streams", streams];
        more.extend((url == &tls).then_some("--insecure"));
        let run = load(url, &more);
        assert_eq!(run["trials"][0]["errors"], value!({}), "{url} {io}");
        let completed = total(&run, "completed");
        let lines = server.logged(completed);
        assert_eq!(lines.len() as u64, completed, "{url} {io}");
        assert!(completed > 50 && lines.iter().all(|line| line[..2] == ["HTTP/2.0", "200"]), "{:?}", lines[0]);
        assert!(total(&run, "bytes_received") > completed * PAGE);
        let connections: std::collections::BTreeSet<_> = lines.iter().map(|line| &line[2]).collect();
        assert_eq!(connections.len() as u64, total(&run, "handshakes"));
    }
}

#[test]
fn bodies_are_sent_and_a_closed_connection_is_replaced() {
    let _alone = alone();
    let Some(server) = Server::start("HTTP/2 GOAWAY", "keepalive_requests 50;") else { return };
    let plain = format!("http://127.0.0.1:{}/post", server.plain);
    let body = server.dir.path().join("page").display().to_string();
    let run = load(&plain, &["--body", &body]);
    assert_eq!(run["trials"][0]["errors"], value!({}));
    let completed = total(&run, "completed");
    let lines = server.logged(completed);
    assert_eq!(lines.len() as u64, completed);
    let connections: std::collections::BTreeSet<_> = lines.iter().map(|line| &line[2]).collect();
    assert!(connections.len() as u64 >= completed / 51, "{} of {completed}", connections.len());
    // nginx may answer before it has read the whole body of a request. If nginx has already answered, loadline does not
    // send the rest of the body.
    assert!(total(&run, "bytes_sent") > completed * 16_000);
}

/// The server closes a connection after 50 requests (GOAWAY). At the time of the GOAWAY, the server has not processed
/// some of the requests in flight on the connection's streams.
#[test]
fn unprocessed_requests_are_repeated_on_the_next_connection() {
    let _alone = alone();
    let Some(server) = Server::start("HTTP/2 GOAWAY with streams", "keepalive_requests 50;") else { return };
    let plain = format!("http://127.0.0.1:{}/page", server.plain);
    let tls = format!("https://127.0.0.1:{}/page", server.tls);
    let open = ["load", &plain, "--http2", "--rate", "300", "--duration", "600ms", "--warmup", "0s", "--at-rest", "0s"];
    let loads: [(&str, &dyn Fn() -> Value); 4] = [
        ("plain", &|| load(&plain, &["--streams", "20"])),
        ("epoll", &|| load(&plain, &["--streams", "20", "--io", "epoll"])),
        ("TLS", &|| load(&tls, &["--streams", "20", "--insecure"])),
        ("open loop", &|| json(binary!(), &open)),
    ];
    for (what, made) in loads {
        let run = made();
        let [completed, sent] = ["completed", "sent"].map(|count| total(&run, count));
        assert_eq!((&run["trials"][0]["errors"], total(&run, "unanswered")), (&value!({}), 0), "{what}");
        assert_eq!(sent, completed, "{what}");
        let lines = server.logged(completed);
        assert_eq!(lines.len() as u64, completed, "each once: {what}");
        assert!(lines.iter().all(|line| line[1] == "200"));
        let connections: std::collections::BTreeSet<_> = lines.iter().map(|line| &line[2]).collect();
        assert!(connections.len() as u64 >= completed / 50, "{} of {completed}", connections.len());
        let left = run["trials"][0]["unprocessed"].as_u64().unwrap_or(0);
        assert!(left > 0 || what == "open loop" || completed < 400, "{what}: {left} of {completed}");
    }
}

#[test]
fn the_server_s_stream_limit_is_kept_and_reported() {
    let _alone = alone();
    let Some(server) = Server::start("HTTP/2 limit of streams", "http2_max_concurrent_streams 3;") else { return };
    let run = load(&format!("http://127.0.0.1:{}/page", server.plain), &["--streams", "9"]);
    let completed = total(&run, "completed");
    assert_eq!((&run["trials"][0]["stream_limit"], &run["trials"][0]["errors"]), (&value!(3), &value!({})));
    assert_eq!((server.logged(completed).len() as u64, total(&run, "sent")), (completed, completed));
}

/// Each connection has both requests in flight at the same time, so pieces of their responses alternate.
#[test]
fn an_expected_text_is_searched_only_in_its_own_response() {
    let _alone = alone();
    let Some(server) = Server::start("expected texts", "keepalive_requests 10000000;") else { return };
    let request = |name: &str, text: &str| {
        format!("[[request]]\nname = \"{name}\"\npath = \"/page\"\nexpect-text = \"{text}\"\n\n")
    };
    let mix = server.dir.path().join("mix.toml");
    std::fs::write(&mix, request("right", &"x".repeat(PAGE as usize)) + &request("wrong", "xy")).unwrap();
    let (plain, tls) = (format!("http://127.0.0.1:{}", server.plain), format!("https://127.0.0.1:{}", server.tls));
    for (url, more) in [(plain, &[][..]), (tls, &["--insecure"])] {
        let run = load(&url, &[&["--requests", &mix.display().to_string(), "--streams", "6"], more].concat());
        let trial = &run["trials"][0];
        let class = |at: usize, what: &str| trial["classes"][at]["total"][what].as_u64().unwrap_or(0);
        let (right, wrong) = (class(0, "completed"), class(1, "failed"));
        assert!(right > 10 && wrong > 10 && class(0, "failed") == 0 && class(1, "completed") == 0, "{trial}");
        assert_eq!(trial["errors"], value!({ "wrong_body": wrong }));
        assert_eq!(server.logged(right + wrong).len() as u64, right + wrong);
    }
}

#[test]
fn a_server_without_http2_is_named() {
    let Some(server) = Server::start("HTTP/2 refused", "") else { return };
    let output = loadline(binary!(), &["load", &format!("http://{}/file", server.nginx.addr), "--http2"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("HTTP/1.1") && said.contains("--http2"), "{said}");
    let output = loadline(binary!(), &["load", "echo://127.0.0.1:7", "--http2"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--http2 needs a target with http://"));
}

#[test]
fn a_redirect_is_mentioned_once_with_its_target() {
    let _alone = alone();
    let Some(server) =
        Server::start("a redirect of HTTP/2", "location /moved { return 301 /elsewhere?token=Planted; }")
    else {
        return;
    };
    let plain = format!("http://127.0.0.1:{}/moved", server.plain);
    let tls = format!("https://localhost:{}/moved", server.tls);
    for (url, more) in [(plain, &[][..]), (tls, &["--insecure"])] {
        let quick = ["load", &url, "--http2", "--connections", "1", "--duration", "200ms", "--warmup", "0s"];
        let output = loadline(binary!(), &[&quick[..], &["--at-rest", "0s", "--json"], more].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), errors.matches("/elsewhere").count()), (Some(0), 1), "{url}: {errors}");
        assert!(!errors.contains("Planted"), "{errors}");
    }
}
