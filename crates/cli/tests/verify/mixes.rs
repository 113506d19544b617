//! Tests of request sets, with servers that record the requests that they receive.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json as value};
use testkit::{Running, alone, binary, echoing, eventually, free_port, json, loadline, nginx, skip, total};

/// nginx with the files `a`, `b` and `c`. nginx's access log contains the method and the path of each request.
struct Server {
    _nginx: Running,
    port: u16,
    http2: u16,
    dir: tempfile::TempDir,
}

impl Server {
    fn start(test: &str) -> Option<Self> {
        let (port, http2, dir) = (free_port(), free_port(), tempfile::tempdir().unwrap());
        for (name, bytes) in [("a", 10), ("b", 5000), ("c", 100_000)] {
            std::fs::write(dir.path().join(name), vec![b'x'; bytes]).unwrap();
        }
        let d = dir.path().display();
        let open = std::process::Command::new("chmod").args(["-R", "a+rwX"]).arg(dir.path()).status().unwrap();
        assert!(open.success());
        let http = format!(
            "log_format mix '$request_method $uri $status';
             server {{ listen 127.0.0.1:{port} backlog=4096; listen 127.0.0.1:{http2} http2 backlog=4096; access_log {d}/log mix; root {d};
               location /post {{ return 200 ok; }} }}"
        );
        let nginx = nginx(0, "", &http);
        if nginx.is_none() {
            skip(test, "nginx is not installed");
        }
        Some(Self { _nginx: nginx?, port, http2, dir })
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Waits until the log has `expected` requests, and returns the number of requests for each method and path.
    fn logged(&self, expected: u64) -> BTreeMap<String, u64> {
        let log = self.dir.path().join("log");
        let text = eventually(|| std::fs::read_to_string(&log).ok().filter(|t| t.lines().count() as u64 >= expected));
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            *counts.entry(line.rsplit_once(' ').unwrap().0.to_owned()).or_default() += 1;
        }
        counts
    }
}

fn by_class(run: &Value) -> BTreeMap<String, u64> {
    let classes = run["trials"].as_array().unwrap().iter().flat_map(|trial| trial["classes"].as_array().unwrap());
    let mut counts = BTreeMap::new();
    for class in classes {
        *counts.entry(class["name"].as_str().unwrap().to_owned()).or_default() +=
            class["total"]["completed"].as_u64().unwrap();
    }
    counts
}

const MIX: &str =
    "[[request]]\npath = \"/a\"\nweight = 6\n\n[[request]]\nname = \"second\"\npath = \"/b\"\nweight = 3\n
[[request]]\nclass = \"posts\"\npath = \"/post\"\nbody = \"hello\"\nexpect-text = \"ok\"\n";

#[test]
fn a_mix_equals_the_server_s_log_for_each_path() {
    let _alone = alone();
    for (io, order) in [("epoll", "weighted"), ("auto", "shuffle"), ("epoll", "sequence")] {
        let Some(server) = Server::start("mixes") else { return };
        let (file, url) = (server.file("mix.toml", MIX), format!("http://127.0.0.1:{}/", server.port));
        let run = json(
            binary!(),
            &[
                "load",
                &url,
                "--requests",
                &file,
                "--order",
                order,
                "--io",
                io,
                "--connections",
                "4",
                "--duration",
                "1s",
                "--warmup",
                "100ms",
            ],
        );
        assert_eq!(run["trials"][0]["errors"], value!({}), "{order}");
        let (logged, classes) = (server.logged(total(&run, "completed")), by_class(&run));
        let of = |path: &str| logged.get(path).copied().unwrap_or_default();
        let expected = [("GET /a", of("GET /a")), ("posts", of("POST /post")), ("second", of("GET /b"))];
        assert_eq!(classes, expected.map(|(name, n)| (name.to_owned(), n)).into(), "{order} {logged:?}");
        let (a, b, all) = (of("GET /a") as f64, of("GET /b") as f64, total(&run, "completed") as f64);
        assert_eq!(logged.values().sum::<u64>() as f64, all);
        // In a sequence or a shuffle, each of the four connections sends rounds of ten requests, and its last round may
        // be incomplete. In an incomplete round, the count of each request differs from its expected count by less than
        // 3.
        let tolerances = match order {
            "weighted" => [0.24, 0.21].map(|variance: f64| 4.0 * (variance / all).sqrt()),
            _ => [4.0 * 3.0 / all; 2],
        };
        for ((count, share), tolerance) in [(a, 0.6), (b, 0.3)].into_iter().zip(tolerances) {
            assert!(count > 25.0 && (count / all - share).abs() < tolerance, "{order}: {count} of {all}");
        }
    }
}

#[test]
fn find_requests_a_list_of_urls() {
    let _alone = alone();
    let Some(server) = Server::start("mixes under find") else { return };
    let url = format!("http://127.0.0.1:{}/", server.port);
    let file = server.file("urls", "# three\nhttp://example.org/a\n/b\nhttp://example.org/c\n");
    let run = json(binary!(), &["find", &url, "--requests", &file, "--budget", "6s", "--prove", "off"]);
    let (logged, classes) = (server.logged(total(&run, "completed")), by_class(&run));
    assert_eq!(logged, classes);
    assert_eq!(classes.len(), 3);
    assert_eq!(run["plan"]["load"]["requests"]["requests"].as_array().unwrap().len(), 3);
    let kept = server.file("run.json", &run.to_string());
    let form = |name: &str| String::from_utf8(loadline(binary!(), &["report", &kept, "--form", name]).stdout).unwrap();
    let text = form("text");
    assert!(text.contains("Classes of requests") && text.contains("GET /b"), "{text}");
    let of = |trial: &Value| trial["classes"][1]["total"]["completed"].as_u64().unwrap();
    let b: Vec<u64> = run["trials"].as_array().unwrap().iter().map(of).collect();
    let csv = form("csv");
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let at = rows.next().unwrap().iter().position(|name| *name == "class_GET__b_requests_completed").unwrap();
    assert_eq!(rows.map(|row| row[at].parse::<u64>().unwrap()).collect::<Vec<_>>(), b);
    let metrics = form("openmetrics");
    let samples =
        metrics.lines().filter(|line| line.contains("class_requests_completed_total{") && line.contains("GET /b"));
    assert_eq!(samples.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).collect::<Vec<_>>(), b);
}

#[test]
fn a_mix_works_with_http2() {
    let _alone = alone();
    let Some(server) = Server::start("mixes over HTTP/2") else { return };
    let url = format!("http://127.0.0.1:{}/", server.http2);
    let file = server.file("mix.toml", "[[request]]\npath = \"/a\"\nweight = 2\n[[request]]\npath = \"/b\"\n[[request]]\npath = \"/post\"\nbody = \"x\"\n");
    let args =
        ["load", &url, "--http2", "--streams", "5", "--requests", &file, "--duration", "500ms", "--warmup", "0s"];
    let run = json(binary!(), &args);
    assert_eq!(run["trials"][0]["errors"], value!({}));
    let logged = server.logged(total(&run, "completed"));
    assert_eq!((logged.len(), &logged), (3, &by_class(&run)));
}

#[test]
fn placeholders_are_filled_with_http2() {
    let _alone = alone();
    let Some(server) = Server::start("places over HTTP/2") else { return };
    let url = format!("http://127.0.0.1:{}/", server.http2);
    let mix = "[[request]]\npath = \"/{{file}}?n={{seq}}\"\nclass = \"file\"\nheaders = { \"X-Id\" = \"{{uuid}}\" }\nweight = 3\n
        [[request]]\npath = \"/post\"\nbody = \"{{random 1 100000}} of {{file}}\"\n";
    let (file, data) = (server.file("mix.toml", mix), server.file("data.csv", "file\na\nb\n"));
    let args =
        ["load", &url, "--http2", "--streams", "5", "--requests", &file, "--data", &data, "--data-order", "random"];
    let run = json(binary!(), &[&args[..], &["--duration", "500ms", "--warmup", "0s"]].concat());
    assert_eq!(run["trials"][0]["errors"], value!({}));
    let logged = server.logged(total(&run, "completed"));
    let of = |path: &str| logged.get(path).copied().unwrap_or_default();
    let (a, b, posts) = (of("GET /a"), of("GET /b"), of("POST /post"));
    assert_eq!(a + b + posts, logged.values().sum::<u64>(), "nothing else was asked for: {logged:?}");
    let classes = by_class(&run);
    assert_eq!((classes["file"], classes["POST /post"]), (a + b, posts), "{logged:?}");
    let scatter = 5.0 * ((a + b) as f64 * 0.25).sqrt();
    assert!(posts > 0 && (a as f64 - b as f64).abs() < 2.0 * scatter, "{logged:?}");
}

#[test]
fn errors_in_a_request_set_are_named_before_any_request() {
    let dir = tempfile::tempdir().unwrap();
    let says = |text: &str, more: &[&str]| {
        let file = dir.path().join("mix");
        std::fs::write(&file, text).unwrap();
        let file = file.display().to_string();
        let output = loadline(binary!(), &[&["load", "http://127.0.0.1:1/", "--requests", &file], more].concat());
        assert_eq!(output.status.code(), Some(2), "{text}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(
        says("[[request]]\npaht = \"/\"\n", &[])
            .contains("line 2, column 1 in [request]: there is no key `paht`; did you mean `path`?")
    );
    assert!(says("[[request]]\npath = \"/\"\nheaders = { \"a b\" = \"x\" }\n", &[]).contains("request 1 (GET /)"));
    assert!(
        says("curl --heder x http://h/", &[])
            .contains("line 1, column 6: --heder is not known here; did you mean --header?")
    );
    assert!(says("/a\n", &["--order", "sequense"]).contains("did you mean sequence?"));
    assert!(says("/a\n", &["--method", "PUT"]).contains("--method is for a single request"));
    assert!(says("rubbish\n", &[]).contains("its form is not known: its first line is \"rubbish\""));
}

#[test]
fn secrets_of_a_request_set_reach_the_server_and_are_not_stored() {
    let (dir, (addr, asked)) = (tempfile::tempdir().unwrap(), echoing("200 OK"));
    let line = format!(
        "curl -X POST -H 'Authorization: Bearer PlantedOne' -d 'password=PlantedTwo' 'http://{addr}/?token=PlantedThree'"
    );
    let kept = dir.path().join("kept").display().to_string();
    let args = ["load", "--curl", &line, "--duration", "200ms", "--warmup", "0s", "--at-rest", "0s", "--out", &kept];
    let output = loadline(binary!(), &args);
    let text = [&output.stdout[..], &output.stderr].concat();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&text));
    let request = asked.lock().unwrap().clone();
    for secret in ["PlantedOne", "PlantedTwo", "PlantedThree"] {
        assert!(request.contains(secret), "{request}");
    }
    let run = std::fs::read_to_string(Path::new(&kept).join("run.json")).unwrap();
    assert!(!run.contains("Planted") && run.contains("<redacted:"), "{run}");
    assert!(!String::from_utf8_lossy(&text).contains("Planted"));
}

/// curl and loadline must send the same requests for the same command line.
#[test]
fn curl_command_lines_make_the_same_requests_as_curl() {
    let Some(curl) = testkit::program("curl") else { return skip("curl lines", "curl is not installed") };
    let lines = [
        "curl -s 'http://ADDR/a?b=c' -H 'X-One: two words' --compressed",
        "curl -s -X PATCH http://ADDR/p -H 'Content-Type: text/plain' --data-raw $'it\\'s\\n'",
        "curl -sS http://ADDR/f -d a=1 --data-urlencode 'b=2 3' -u me:you -A agent -e http://ref/",
        "curl -sG http://ADDR/q -d x=1 -b 'c=d'",
        "curl -s --json '{\"a\": 1}' http://ADDR/j",
    ];
    for line in lines {
        let head = |send: &dyn Fn(&str)| {
            let (addr, asked) = echoing("200 OK");
            send(&line.replace("ADDR", &addr.to_string()));
            let text = asked.lock().unwrap().replace(&addr.to_string(), "ADDR");
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let mut lines = head.lines();
            let first = lines.next().unwrap().to_owned();
            let headers = lines.filter(|l| line.contains("-A ") || !l.starts_with("User-Agent")).map(str::to_owned);
            let compressed = |l: &String| !l.starts_with("Accept-Encoding");
            let headers: std::collections::BTreeSet<String> = headers.filter(compressed).collect();
            (first, headers, body.to_owned())
        };
        let by_curl = head(&|line| {
            let words = line.replacen("curl", &curl.display().to_string(), 1);
            assert!(
                std::process::Command::new("bash").args(["-c", &words]).output().unwrap().status.success(),
                "{line}"
            );
        });
        let by_us = head(&|line| {
            let output = loadline(
                binary!(),
                &[
                    "load",
                    "--curl",
                    line,
                    "--duration",
                    "50ms",
                    "--warmup",
                    "0s",
                    "--at-rest",
                    "0s",
                    "--connections",
                    "1",
                ],
            );
            assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        });
        let body = by_us.2.get(..by_curl.2.len()).unwrap_or_default();
        assert_eq!((&by_us.0, &by_us.1, body), (&by_curl.0, &by_curl.1, by_curl.2.as_str()), "{line}");
    }
}
