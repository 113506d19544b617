//! Tests of servers that fail in odd ways. loadline must name the true kind of each failure, and quote the server's own
//! words.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{binary, json, loadline};

/// Time that the server waits before each answer. Because of the answer time, there are only few requests.
const ANSWER_TIME: Duration = Duration::from_millis(2);

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Starts a server. `answer` gets the number of a request (from 1) and the time since the first request. `answer`
/// returns the bytes of the answer, and true if the connection closes after them.
fn start(
    is_request: fn(&str) -> bool,
    answer: impl Fn(u64, Duration) -> (String, bool) + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let (answer, count, begin) = (Arc::new(answer), Arc::new(AtomicU64::new(0)), Arc::new(OnceLock::new()));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (answer, count, begin) = (answer.clone(), count.clone(), begin.clone());
            std::thread::spawn(move || {
                talk(stream, is_request, |n| answer(n, Instant::elapsed(begin.get_or_init(Instant::now))), &count)
            });
        }
    });
    addr
}

fn talk(stream: TcpStream, is_request: fn(&str) -> bool, answer: impl Fn(u64) -> (String, bool), count: &AtomicU64) {
    let mut writer = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines().map_while(Result::ok).filter(|line| is_request(line)) {
        let _ = line;
        std::thread::sleep(ANSWER_TIME);
        let (bytes, ends) = answer(count.fetch_add(1, Ordering::Relaxed) + 1);
        if writer.write_all(bytes.as_bytes()).is_err() || ends {
            let _ = writer.shutdown(std::net::Shutdown::Both);
            return;
        }
    }
}

/// Returns true for the empty line that ends the head of a request without a body.
fn ends_head(line: &str) -> bool {
    line.is_empty()
}

fn load(url: &str, connections: &str) -> Value {
    let args = ["load", url, "--duration", "1s", "--warmup", "200ms", "--at-rest", "0", "--connections", connections];
    json(binary!(), &args)
}

fn sentence(run: &Value) -> &str {
    run["findings"]["bottleneck"]["sentence"].as_str().unwrap()
}

fn id(run: &Value) -> &str {
    run["findings"]["bottleneck"]["id"].as_str().unwrap()
}

fn is_ping(line: &str) -> bool {
    line == "PING"
}

/// At any load, every second answer of this Redis server is an error.
#[test]
fn a_server_that_fails_half_of_the_requests_sets_no_limit() {
    let redis = start(is_ping, |n, _| {
        let loading = n % 2 == 0;
        let text = if loading { "-LOADING Redis is loading the dataset in memory" } else { "+PONG" };
        (format!("{text}\r\n"), false)
    });
    let run = load(&format!("redis://{redis}"), "4");
    assert_ne!(id(&run), "server-rate-limit", "{}", sentence(&run));
    assert_eq!(first_reason(&run), "\"-LOADING Redis is loading the dataset in memory\"");
    let failing = start(ends_head, |n, _| match n % 2 {
        0 => ("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 10\r\n\r\nno backend".into(), false),
        _ => (OK.into(), false),
    });
    let run = load(&format!("http://{failing}/"), "4");
    assert_ne!(id(&run), "server-rate-limit", "{}", sentence(&run));
    assert_eq!(first_reason(&run), "\"no backend\"");
}

/// Returns the server's words in the first failure of a run. The test does not use the verdict, which may be about the
/// CPU if other tests run at the same time.
fn first_reason(run: &Value) -> &str {
    run["trials"][0]["first_failures"][0]["reason"].as_str().unwrap_or_default()
}

/// Time for which the token of a test is valid.
const LIFETIME: Duration = Duration::from_millis(700);

/// The token of this test expires 0.7 s after the load has begun. The time of 0.7 s does not include the requests
/// before the load, because these requests may take long on a busy machine. On such a machine the measured window may
/// also begin after the token has expired, so the test reads the moment of the first failure in the whole load.
#[test]
fn failures_that_begin_at_a_moment_are_told_with_it() {
    let begin = OnceLock::new();
    let expires = start(ends_head, move |n, since| match n < 10 || since < *begin.get_or_init(|| since) + LIFETIME {
        true => (OK.into(), false),
        false => ("HTTP/1.1 401 Unauthorized\r\nContent-Length: 13\r\n\r\ntoken expired".into(), false),
    });
    let url = format!("http://{expires}/");
    let args = ["load", &url, "--duration", "2s", "--warmup", "200ms", "--at-rest", "0", "--connections", "4"];
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().join("run").display().to_string();
    let output = loadline(binary!(), &[&args[..], &["--out", &out]].concat());
    let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("\"token expired\""), "{text}");
    let run: Value = serde_json::from_slice(&std::fs::read(format!("{out}/run.json")).unwrap()).unwrap();
    let from_s = run["trials"][0]["first_failures"][0]["at_s"].as_f64().unwrap();
    assert!(from_s > 0.3 && from_s < 3.0, "{from_s}: {text}");
}

/// Of ten answers, one is cut off within its body, and another has more bytes than its Content-Length says.
#[test]
fn cut_and_surplus_bodies_are_one_failure_each() {
    let odd = || {
        start(ends_head, |n, _| match n % 10 {
            3 => ("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok".into(), true),
            7 => (format!("{OK} and more"), false),
            _ => (OK.into(), false),
        })
    };
    let run = load(&format!("http://{}/", odd()), "2");
    let trial = &run["trials"][0];
    let (errors, completed) = (&trial["errors"], trial["completed"].as_u64().unwrap());
    let (cut, surplus) = (errors["cut_response"].as_u64().unwrap(), errors["malformed"].as_u64().unwrap());
    assert!(errors.as_object().unwrap().len() == 2 && cut > 3 && surplus > 3, "{errors}");
    let unanswered = trial["unanswered"].as_u64().unwrap_or(0);
    // The test request before the load also counts as a request that got an answer.
    let sent = trial["sent"].as_u64().unwrap();
    assert_eq!(completed + cut + surplus + unanswered, sent, "each request has one outcome: {trial:#}");
    let url = format!("http://{}/", odd());
    let report = loadline(binary!(), &["load", &url, "--duration", "500ms", "--at-rest", "0"]);
    let text = String::from_utf8_lossy(&report.stdout);
    assert!(!text.contains("closes each connection"), "{text}");
}
