//! Tests of common client programs with loadline's servers. The client and the server must count the same number of
//! requests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Output};

use testkit::{Running, binary, has, served};

fn serve(args: &[&str]) -> Running {
    let mut command = Command::new(binary!());
    command.arg("serve").args(args);
    served(command)
}

fn ran(program: &str, args: &[&str]) -> String {
    let Output { status, stdout, stderr } = Command::new(program).args(args).output().unwrap();
    assert!(status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8_lossy(&stdout).into_owned()
}

#[test]
fn curl_is_answered_by_http2() {
    if !has("curl against serve h2", "curl") {
        return;
    }
    let (plain, tls) = (serve(&["h2", "--body-bytes", "100000"]), serve(&["h2", "--tls"]));
    let what = "%{http_version} %{http_code} %{size_download}\n";
    let body = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(body.path(), vec![b'b'; 300_000]).unwrap();
    let data = format!("@{}", body.path().display());
    let url = format!("http://{}/a%20b?c", plain.addr);
    let get = ["-s", "-o", "/dev/null", "-w", what, "--http2-prior-knowledge", &url];
    assert_eq!(ran("curl", &get), "2 200 100000\n");
    let post = ["-s", "-o", "/dev/null", "-w", what, "--http2-prior-knowledge", "--data-binary", &data, &url];
    assert_eq!(ran("curl", &post), "2 200 100000\n");
    let head = ["-sI", "-o", "/dev/null", "-w", what, "--http2-prior-knowledge", &url];
    assert_eq!(ran("curl", &head), "2 200 0\n");
    let by_alpn = format!("https://localhost:{}/", tls.addr.port());
    // The second request must use the connection of the first request.
    let what = "%{http_version} %{http_code} %{size_download} %{num_connects}\n";
    let two = ["-sk", "-o", "/dev/null", "-o", "/dev/null", "-w", what, "--http2", &by_alpn, &by_alpn];
    assert_eq!(ran("curl", &two), "2 200 1294 1\n2 200 1294 0\n");
}

#[test]
fn h2load_is_answered_on_every_stream() {
    if !has("h2load against serve h2", "h2load") {
        return;
    }
    for model in ["auto", "blocking", "epoll"] {
        let server = serve(&["h2", "--model", model, "--body-bytes", "70000", "--option", "streams=7"]);
        let url = format!("http://{}/", server.addr);
        let said = ran("h2load", &["-n", "500", "-c", "4", "-m", "7", &url]);
        assert!(said.contains("500 succeeded, 0 failed, 0 errored"), "{model}: {said}");
    }
}

#[test]
fn redis_clients_are_answered() {
    if !has("redis-cli against serve redis", "redis-cli") || !has("redis-benchmark", "redis-benchmark") {
        return;
    }
    let server = serve(&["redis"]);
    let port = server.addr.port().to_string();
    let cli = |args: &[&str]| ran("redis-cli", &[&["-p", &port], args].concat()).trim().to_owned();
    assert_eq!(cli(&["SET", "key", "a value"]), "OK");
    assert_eq!(cli(&["GET", "key"]), "a value");
    assert_eq!(
        (cli(&["INCR", "n"]), cli(&["INCR", "n"]), cli(&["-3", "GET", "none"])),
        ("1".into(), "2".into(), "".into())
    );
    assert!(cli(&["INCR", "key"]).contains("not an integer"));
    let benchmark = ["-p", &port, "-t", "ping,set,get,incr", "-n", "2000", "-c", "8", "-P", "4", "--csv"];
    let said = ran("redis-benchmark", &benchmark);
    for test in ["PING_INLINE", "PING_MBULK", "SET", "GET", "INCR"] {
        assert!(said.contains(&format!("\"{test}\",")), "{said}");
    }
    // redis-benchmark sends 2000 commands in each of its tests. One of the tests of redis-benchmark sends INCR
    // commands.
    assert_eq!(cli(&["GET", "counter:__rand_int__"]), "2000");
}

#[test]
fn tls_clients_are_answered() {
    let test = "clients of serve --tls";
    if ["openssl", "wrk", "h2load", "curl"].iter().any(|name| !has(test, name)) {
        return;
    }
    let (https, h2) = (serve(&["http", "--tls"]), serve(&["h2", "--tls"]));
    let (at, url) = (https.addr.to_string(), format!("https://localhost:{}/", https.addr.port()));
    for version in ["-tls1_2", "-tls1_3"] {
        // The first handshake is full, and the second handshake resumes the session of the first.
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("session").display().to_string();
        let ask = "(printf 'GET / HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n'; sleep 1) \
                   | openssl s_client -connect $0 -ign_eof";
        let first = ran("sh", &["-c", &format!("{ask} {version} -sess_out {session} 2>&1"), &at]);
        assert!(first.contains("HTTP/1.1 200 OK") && first.contains("New, TLSv1"), "{version}: {first}");
        let again = ran("sh", &["-c", &format!("{ask} {version} -sess_in {session} 2>&1"), &at]);
        assert!(again.contains("HTTP/1.1 200 OK") && again.contains("Reused, TLSv1"), "{version}: {again}");
    }
    let what = "%{http_version} %{http_code} %{size_download}\n";
    let both = ["--tlsv1.2", "--tlsv1.3"];
    for version in both {
        let get = ["-sk", version, "-o", "/dev/null", "-w", what, &url];
        assert_eq!(ran("curl", &get), "1.1 200 1294\n", "{version}");
    }
    let said = ran("wrk", &["-t1", "-c8", "-d1s", &url]);
    assert!(said.contains("requests in") && !said.contains("Non-2xx") && !said.contains("Socket errors"), "{said}");
    let said = ran("h2load", &["-n", "300", "-c", "3", "-m", "5", &format!("https://localhost:{}/", h2.addr.port())]);
    assert!(said.contains("300 succeeded, 0 failed, 0 errored") && said.contains("protocol: h2"), "{said}");
}
