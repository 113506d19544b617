//! Tests that replay access logs of real servers, either by the frequency of the requests or at their recorded times.
//! Other tests send requests at a rate that changes over time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json as value};
use sys::hiccups::HiccupMeter;
use testkit::{
    Running, alone, apache_with_log, binary, completed_by_class, eventually, free_port, json_of, loadline, nginx, num,
    refused, serve, skip,
};

const COMBINED: &str = r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-agent}i""#;
/// Method, path and number of each kind of request in the log.
const ASKED: &[(&str, &str, usize)] = &[("GET", "/file", 30), ("GET", "/none?a=b", 10), ("POST", "/file", 5)];

/// A server that writes an access log.
struct Logged {
    server: Running,
    addr: SocketAddr,
    log: PathBuf,
}

fn by_nginx() -> Option<Logged> {
    let (port, dir) = (free_port(), tempfile::tempdir().unwrap().keep());
    assert!(Command::new("chmod").arg("a+rwx").arg(&dir).status().unwrap().success());
    std::fs::write(dir.join("file"), vec![b'x'; 1294]).unwrap();
    let d = dir.display();
    let http = format!("server {{ listen 127.0.0.1:{port} backlog=4096; access_log {d}/log combined; root {d}; }}");
    let addr = SocketAddr::from(([127, 0, 0, 1], port));
    Some(Logged { server: nginx(0, "", &http)?, addr, log: dir.join("log") })
}

fn by_apache() -> Option<Logged> {
    let server = apache_with_log(COMBINED)?;
    let (addr, log) = (server.addr, server.dir.path().join("access"));
    Some(Logged { server, addr, log })
}

impl Logged {
    /// Waits until the log has `expected` requests for `/file` and `/none`. Returns the number of requests for each
    /// method and path, counted over all lines of the log.
    fn counts(&self, expected: usize) -> BTreeMap<String, u64> {
        let asked =
            |text: &str| text.lines().filter(|line| line.contains(" /file ") || line.contains(" /none")).count();
        let text = eventually(|| std::fs::read_to_string(&self.log).ok().filter(|text| asked(text) >= expected));
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            let request = line.split('"').nth(1).unwrap().rsplit_once(' ').unwrap().0;
            *counts.entry(request.to_owned()).or_default() += 1;
        }
        counts
    }
}

/// Sends one request over a new connection, and reads the answer.
fn ask(addr: SocketAddr, method: &str, path: &str) {
    let mut stream = TcpStream::connect(addr).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    drop(stream.read_to_end(&mut Vec::new()));
}

fn load(url: &str, log: &Path, more: &[&str]) -> Value {
    json_of(Command::new(binary!()).args(["load", url, "--at-rest", "0s", "--replay"]).arg(log).args(more))
}

#[test]
fn logs_of_nginx_and_apache_are_replayed() {
    let _alone = alone();
    for (name, server) in [("nginx", by_nginx()), ("apache2", by_apache())] {
        let Some(server) = server else { return skip("replays", format!("{name} is not installed")) };
        let total: usize = ASKED.iter().map(|asked| asked.2).sum();
        for (method, path, times) in ASKED {
            (0..*times).for_each(|_| ask(server.addr, method, path));
        }
        let before = server.counts(total);
        let copy = server.log.with_extension("copy");
        std::fs::copy(&server.log, &copy).unwrap();
        assert!(Command::new("gzip").args(["-kf"]).arg(&copy).status().unwrap().success());
        let packed = copy.with_extension("copy.gz");
        let url = format!("http://{}/", server.addr);

        // A replay at the recorded times sends each GET of the log once. The most frequent GET comes once more, as the
        // test request before the load.
        let run = load(&url, &packed, &["--speed", "2"]);
        assert_eq!(run["trials"][0]["errors"], value!({}), "{name}");
        let after = server.counts(total + 41);
        let more = |request: &str| after[request] - before.get(request).copied().unwrap_or(0);
        assert_eq!((more("GET /file"), more("GET /none?a=b"), more("POST /file")), (31, 10, 0), "{name}");
        assert_eq!(
            completed_by_class(&run),
            [("GET /file".to_owned(), 31), ("GET /none".to_owned(), 10)].into(),
            "{name}"
        );
        let set = &run["plan"]["load"]["requests"];
        assert!(
            set["from"].as_str().unwrap().contains("5 POST (it may change things; allow it with --allow POST)"),
            "{set}"
        );
        assert_eq!((num(&run["trials"][0]["due"]), num(&set["requests"][1]["accept_status"])), (41.0, 404.0), "{name}");

        // Three quarters of the GET requests in the log are for /file. The replay uses the frequencies of the log, so
        // three quarters of its requests must be for /file, too.
        let run = load(&url, &copy, &["--connections", "2", "--duration", "1s", "--warmup", "0s"]);
        let counts = completed_by_class(&run);
        let all: u64 = counts.values().sum();
        let share = counts["GET /file"] as f64 / all as f64;
        assert!(all > 50 && (share - 0.75).abs() < 4.0 * (0.1875 / all as f64).sqrt(), "{name}: {counts:?}");

        let toml = String::from_utf8(loadline(binary!(), &["import", copy.to_str().unwrap()]).stdout).unwrap();
        assert!(toml.contains("path = \"/none?a=b\"") && toml.contains("weight = 30.0"), "{toml}");
        drop(server.server);
    }
}

#[test]
fn a_ramp_offers_its_rate_at_each_time() {
    let _alone = alone();
    let server = serve(binary!(), 0, &[]);
    let url = format!("http://{}/", server.addr);
    let meter = HiccupMeter::start().unwrap();
    let run = json_of(Command::new(binary!()).args(["load", &url, "--at-rest", "0s", "--rate", "0..400/2s"]));
    let longest_ns = meter.end().iter().map(|pause| pause.ns()).max().unwrap_or(0);
    let trial = &run["trials"][0];
    // The number of due requests is the area under the ramp; after the ramp, the rate stays at 400 per second. The
    // length of the measured window is known, but the window begins slightly after the load. Requests that became due
    // while the machine stalled before the window are taken in the window.
    let length_s = num(&trial["measured"]["length_s"]);
    let area = |s: f64| 100.0 * s.min(2.0).powi(2) + 400.0 * (s - 2.0).max(0.0);
    let due = num(&trial["due"]);
    let most = area(length_s + 1.0 + 2.0 * longest_ns as f64 / 1e9);
    assert!(due > 0.97 * area(length_s) && due < most, "{due}, not {} to {most}, in {length_s} s", area(length_s));
    let series: Vec<f64> = trial["measured"]["series_completed"].as_array().unwrap().iter().map(num).collect();
    let (first, second) = series.split_at(series.len() / 2);
    let sum = |part: &[f64]| part.iter().sum::<f64>();
    // If the machine stalls in the first half of the load, the generator may send requests only in the second half. If
    // the machine stalls in the second half of the load, the generator may send requests only after the end of the
    // load. The test compares the rates of the two halves only if no long stall occurred.
    if longest_ns < 200_000_000 {
        assert!(sum(second) > 2.0 * sum(first), "three times as many in the second half: {series:?}");
    } else {
        println!("the machine stood still for {:.1} s: its halves are not compared", longest_ns as f64 / 1e9);
    }
    let output = loadline(binary!(), &["load", &url, "--rate", "sin:1..2/3s"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean sine:?"));
}

/// Returns the time at which `before` requests have become due, in seconds. `pieces` lists periods of the planned rate:
/// each has a length, and the rates at its start and its end. Between start and end, the rate changes linearly.
fn due_s(pieces: &[(f64, f64, f64)], mut before: f64) -> f64 {
    let mut begin_s = 0.0;
    for &(seconds, from, to) in pieces {
        let in_it = seconds * (from + to) / 2.0;
        if before < in_it {
            let slope = (to - from) / seconds;
            let root = (from * from + 2.0 * slope * before).sqrt();
            return begin_s + if slope == 0.0 { before / from } else { (root - from) / slope };
        }
        (before, begin_s) = (before - in_it, begin_s + seconds);
    }
    begin_s
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The server's own log contains the arrival times. A busy machine may send some requests late, but not most of them.
#[test]
fn sines_spikes_and_steps_reach_the_server_on_time() {
    let _alone = alone();
    // The log is in memory if possible, because a server that waits for a disk would be late.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let port = free_port();
    assert!(Command::new("chmod").arg("a+rwx").arg(dir.path()).status().unwrap().success());
    let log = dir.path().join("log");
    let http = format!(
        "log_format times '$msec'; server {{ listen 127.0.0.1:{port} backlog=4096; access_log {} times; return 200 ok; }}",
        log.display()
    );
    let Some(_server) = nginx(0, "", &http) else { return skip("courses of a rate", "nginx is not installed") };
    let turn = |i: i32| 200.0 - 150.0 * (f64::from(i) / 32.0 * std::f64::consts::TAU).cos();
    let sine = (0..32).map(|i| (3.0 / 32.0, turn(i), turn(i + 1))).collect::<Vec<_>>();
    let spike = [(1.2, 50.0, 50.0), (0.3, 600.0, 600.0)].repeat(2);
    let steps = vec![(1.0, 100.0, 100.0), (1.0, 400.0, 400.0), (1.0, 100.0, 100.0)];
    let mut before = 0;
    let stage = |(seconds, from, to): &(f64, f64, f64)| {
        format!("[[load.stages]]\nseconds = {seconds:?}\nfrom = {from:?}\nto = {to:?}\n")
    };
    let (ramps, file) = (vec![(1.5, 50.0, 400.0), (1.5, 400.0, 50.0)], dir.path().join("stages.toml"));
    let even = "[load.intensity]\nloop = \"open\"\nrate = 1.0\narrival.name = \"constant\"\n";
    std::fs::write(&file, even.to_owned() + &ramps.iter().map(stage).collect::<String>()).unwrap();
    let courses = [
        ("sine:50..350/3s", sine),
        ("spike:50..600/1500ms,300ms", spike),
        ("100,400,100/1s", steps),
        ("a file", ramps),
    ];
    for (rate, pieces) in courses {
        let asked = match rate {
            "a file" => vec!["--config", file.to_str().unwrap()],
            rate => vec!["--rate", rate, "--arrival", "constant", "--duration", "3s"],
        };
        let url = format!("http://127.0.0.1:{port}/");
        let load = [&["load", &url, "--at-rest", "0s"], &asked[..]].concat();
        let meter = HiccupMeter::start().unwrap();
        let trial = &json_of(Command::new(binary!()).args(load))["trials"][0];
        let longest_ns = meter.end().iter().map(|pause| pause.ns()).max().unwrap_or(0);
        let (due, completed) = (num(&trial["due"]), num(&trial["completed"]));
        assert_eq!(trial["errors"], value!({}), "{rate}");
        let there = |text: &String| (text.lines().count() - before) as f64 >= completed;
        let text = eventually(|| std::fs::read_to_string(&log).ok().filter(there));
        assert_eq!((text.lines().count() - before) as f64, completed, "{rate}");
        // The first new request in the log is the test request before the load.
        let mut at_s: Vec<f64> = text.lines().skip(before).map(|line| line.parse().unwrap()).collect();
        before += at_s.len();
        at_s.sort_by(f64::total_cmp);
        let all: f64 = pieces.iter().map(|(seconds, from, to)| seconds * (from + to) / 2.0).sum();
        assert!(due >= all && completed > 0.7 * all, "{rate}: {completed} of {due}, {all} in the time asked for");
        // The generator sends requests that are due during a stall after the stall, possibly in a later part of the
        // period.
        if longest_ns > 150_000_000 {
            println!("{rate}: the machine stood still for {longest_ns} ns: when its requests came is not compared");
            continue;
        }
        let at_s = &at_s[1..at_s.len().min(all as usize)];
        let late: Vec<f64> = (0..).zip(at_s).map(|(k, at_s)| at_s - due_s(&pieces, f64::from(k))).collect();
        let begin_s = median(late.clone());
        let off_s = median(late.iter().map(|late_s| (late_s - begin_s).abs()).collect());
        assert!(off_s < 0.1, "{rate}: half of the requests are off by {off_s} s or more");
        let third = |i: i32| {
            let from_s = begin_s + f64::from(i);
            at_s.iter().filter(|at_s| (from_s..from_s + 1.0).contains(*at_s)).count()
        };
        let thirds = [0, 1, 2].map(third);
        assert!(rate.contains("spike") || thirds[1] > thirds[0] && thirds[1] > thirds[2], "{rate}: {thirds:?}");
    }
}

#[test]
fn requests_come_at_the_times_of_a_file() {
    let _alone = alone();
    let (server, dir) = (serve(binary!(), 0, &[]), tempfile::tempdir().unwrap());
    let url = format!("http://{}/", server.addr);
    // The file has fifty equal times (a burst), and then one time per tenth of a second, in descending order.
    let times = (0..50).map(|_| 100.0).chain((1..=10).rev().map(|i| 100.0 + f64::from(i) / 10.0));
    let rows: String = times.map(|at| format!("/x,{at}\n")).collect();
    let file = dir.path().join("times.csv");
    std::fs::write(&file, format!("path,at\n{rows}")).unwrap();
    let file = file.display().to_string();
    let load = |more: &[&str]| {
        let args = ["load", &url, "--at-rest", "0s", "--arrivals", &file, "--arrivals-column", "at"];
        json_of(Command::new(binary!()).args(args).args(more))
    };
    for (speed, span_s) in [("1", 1.0), ("2", 0.5)] {
        let run = load(&["--speed", speed]);
        let trial = &run["trials"][0];
        let counts = (num(&trial["due"]), num(&trial["completed"]));
        assert_eq!((num(&trial["test_requests"]), num(&trial["measured"]["tally"]["sent"])), (1.0, 60.0));
        assert_eq!(
            (counts, &trial["errors"]),
            ((61.0, 61.0), &value!({})),
            "with the one before the load, speed {speed}"
        );
        let length_s = num(&trial["measured"]["length_s"]);
        assert!(length_s >= 0.9 * span_s && length_s < span_s + 2.0, "{length_s}");
        let told = &run["plan"]["load"]["arrivals"];
        assert_eq!((num(&told["count"]), &told["times"]), (60.0, &Value::Null), "a run does not write them down");
    }
    let two = load(&["--threads", "2"]);
    assert_eq!(num(&two["trials"][0]["due"]), 61.0, "each thread has its share");
    // All hosts are this machine, because the command in `--via` ignores the host's name.
    let via = dir.path().join("via");
    std::fs::write(&via, "#!/bin/sh\nshift\nexec sh -c \"$*\"\n").unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&via).status().unwrap().success());
    let (via, own) = (format!("{} {{host}}", via.display()), binary!().display().to_string());
    let hosts = ["--client-hosts", "a,b", "--agents-per-host", "2", "--via", &via, "--agent-path", &own];
    let trial = &load(&hosts)["trials"][0];
    let counts = ["due", "sent", "completed"].map(|count| num(&trial[count]));
    assert_eq!((counts, &trial["errors"]), ([61.0; 3], &value!({})), "each of four agents has its share: {trial}");
    let text = refused(binary!(), &["load", &url, "--arrivals", &file]);
    assert!(text.contains("line 1, column 1: several values"), "{text}");
}
