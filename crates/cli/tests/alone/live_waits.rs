//! Tests of `loadline waits` with real servers. The command must name the lock and the computing thread in the servers
//! of these tests. In servers without a lock, the command must name no lock.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testkit::{ChildProcess, alone, alone_with_release, binary, free_port, json, program, served, skip};

/// A Python server. The server has either one thread per connection and one lock for all threads, or a pool of workers
/// and no lock.
const PYTHON: &str = r#"
import concurrent.futures, http.server, socketserver, sys, threading, time
lock, pool = threading.Lock(), concurrent.futures.ThreadPoolExecutor(16)
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_GET(self):
        if sys.argv[1] == "lock":
            with lock: time.sleep(0.01)
        else: time.sleep(0.01)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
class Pool(http.server.HTTPServer):
    request_queue_size = 128
    def process_request(self, request, client): pool.submit(self.work, request, client)
    def work(self, request, client):
        self.finish_request(request, client)
        self.shutdown_request(request)
class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads, request_queue_size = True, 128
(Threads if sys.argv[1] == "lock" else Pool)(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
"#;

/// A C server with one thread per connection. All threads use the same mutex of the C library.
const C: &str = r#"
#include <pthread.h>
#include <unistd.h>
#include <string.h>
#include <stdlib.h>
#include <arpa/inet.h>
pthread_mutex_t planted_lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *arg) {
    int fd = (int)(long)arg;
    char in[4096];
    const char *out = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    while (read(fd, in, sizeof in) > 0) {
        pthread_mutex_lock(&planted_lock);
        usleep(5000);
        pthread_mutex_unlock(&planted_lock);
        write(fd, out, strlen(out));
    }
    close(fd);
    return 0;
}
int main(int argc, char **argv) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener, (void *)&at, sizeof at);
    listen(listener, 128);
    for (;;) {
        long fd = accept(listener, 0, 0);
        pthread_t thread;
        pthread_create(&thread, 0, work, (void *)fd);
        pthread_detach(thread);
    }
}
"#;

const NODE: &str = "require('http').createServer((q, r) => { \
    require('crypto').pbkdf2Sync('a', 'b', 20000, 64, 'sha512'); r.end('ok') }).listen(+process.argv[1], '127.0.0.1')";

/// Maximum share of a CPU that the sampling may use. In an unoptimized build, unwinding a stack takes about twice as
/// long as in an optimized build.
const MAX_COST: f64 = if cfg!(debug_assertions) { 0.02 } else { 0.01 };

/// Loads a server with a few clients, and samples the server's threads during the load.
fn waits(port: u16, clients: u32, seconds: &str) -> Value {
    let _load = loaded(port, clients);
    sampled(port, seconds)
}

fn sampled(port: u16, seconds: &str) -> Value {
    json(binary!(), &["waits", "--port", &port.to_string(), "--duration", seconds])
}

/// Starts a load on a server, and waits until requests are in progress.
fn loaded(port: u16, clients: u32) -> ChildProcess {
    let url = format!("http://127.0.0.1:{port}/");
    let clients = clients.to_string();
    let mut load = Command::new(binary!());
    load.args(["load", &url, "--connections", &clients, "--duration", "60s", "--at-rest", "0", "--json"]);
    let load = ChildProcess::start(load.stdout(std::process::Stdio::null()));
    testkit::eventually(|| {
        let look = sampled(port, "1s");
        let clients = &look["profile"]["clients"];
        let busy = ["in_progress", "uncertain", "unread"].map(|name| clients[name].as_f64().unwrap_or_default());
        (busy.iter().sum::<f64>() >= 0.5).then_some(())
    });
    load
}

fn causes(found: &Value) -> Vec<&str> {
    found["waits"].as_array().unwrap().iter().filter_map(|wait| wait["cause"].as_str()).collect()
}

/// Checks that the found waits name only a lock, whose holder sleeps in `function`. The threads take turns in holding
/// the lock.
fn assert_lock(found: &Value, clients: f64, function: &str) {
    let first = &found["waits"][0];
    assert_eq!(causes(found), ["lock"], "{found:#}");
    let threads = first["threads"].as_f64().unwrap();
    assert!(threads > 0.7 * clients && threads <= clients, "{first}");
    assert_eq!(first["holder"], "sleep", "{first}");
    let sentence = first["sentence"].as_str().unwrap();
    let is_told = sentence.contains("sleeps in ") || sentence.contains("of the time in ");
    assert!(first["holder_function"].as_str().unwrap_or_default().contains(function) && is_told, "{first}");
}

/// Compiles a program in C. Returns the folder with the program, and the command that starts it.
fn compiled(compiler: &Path, text: &str) -> (tempfile::TempDir, Command) {
    let dir = tempfile::tempdir().unwrap();
    let (source, app) = (dir.path().join("app.c"), dir.path().join("app"));
    std::fs::write(&source, text).unwrap();
    let mut cc = Command::new(compiler);
    cc.args(["-g", "-pthread"]).arg(&source).arg("-o").arg(&app);
    assert!(cc.status().unwrap().success());
    (dir, Command::new(&app))
}

fn python(what: &str) -> Option<(ChildProcess, u16)> {
    let (python, port) = (program("python3")?, free_port());
    let mut command = Command::new(python);
    command.args(["-c", PYTHON, what, &port.to_string()]);
    Some((ChildProcess::listening(&mut command, port), port))
}

#[test]
fn a_computing_event_loop_is_serial() {
    let _alone = alone();
    let Some(node) = program("node") else { return skip("pbkdf2Sync", "node is not installed") };
    let port = free_port();
    let _server = ChildProcess::listening(Command::new(node).args(["-e", NODE, &port.to_string()]), port);
    let found = waits(port, 8, "3s");
    assert_eq!(causes(&found), ["serial-cpu"], "{found:#}");
}

/// Only stacks show a computing function, so without stacks no function is known.
#[test]
fn without_stacks_no_function_is_told_and_no_stack_is_kept() {
    // In an unoptimized build, the function spends its time in functions of the standard library that it calls.
    let (_alone, binary) = alone_with_release!("waits without stacks");
    let mut command = Command::new(&binary);
    command.args(["serve", "http", "--model", "blocking", "--option", "spin=500"]);
    let own = served(command);
    let (port, dir) = (own.addr.port(), tempfile::tempdir().unwrap());
    let _load = loaded(port, 4);
    let port = port.to_string();
    let args = ["waits", "--port", &port, "--duration", "2s"];
    let found = json(&binary, &args);
    let hot = found["hot"].to_string();
    assert!(
        hot.contains("planted_spin") && found["profile"]["stacks"].is_object(),
        "{:#}",
        found["profile"]["missing"]
    );
    let found = json(&binary, &[&args[..], &["--no-stacks"]].concat());
    assert_eq!((found["hot"].as_array().map(Vec::len), found["waiting"].as_array().map(Vec::len)), (Some(0), Some(0)));
    assert!(
        found["profile"]["rounds"].as_u64().unwrap() > 0 && !found.to_string().contains("planted_spin"),
        "{found:#}"
    );
    let out = dir.path().join("run");
    let watch =
        ["watch", "--port", &port, "--duration", "2s", "--waits", "--no-stacks", "--out", out.to_str().unwrap()];
    let said = testkit::loadline(&binary, &watch);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    for file in std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains("planted_spin") && !text.contains("\"stacks\":{"), "{}", file.display());
    }
}

/// Servers that wait. The load on these servers, or the cost of sampling them, uses a part of a CPU.
mod light {
    use super::*;

    #[test]
    fn sampling_costs_less_than_a_hundredth_of_a_cpu_besides_the_symbols_that_it_reads_once() {
        let _alone = alone();
        let Some((_server, port)) = python("lock") else { return skip("a lock in Python", "python3 is not installed") };
        let _load = loaded(port, 32);
        let found = sampled(port, "3s");
        let figure = |name: &str| found["profile"][name].as_f64().unwrap();
        let (cpu, once_s) = (figure("cpu"), figure("setup_cpu_s"));
        assert!(figure("rounds") >= 5.0 && once_s > 0.0, "{once_s} s once in {} rounds", figure("rounds"));
        assert!(cpu < MAX_COST, "{cpu} of a CPU, and {once_s} s once");
    }

    /// The samples of one load are taken one after the other.
    #[test]
    fn a_pool_without_a_lock_names_none_in_20_of_20() {
        let _alone = alone();
        let Some((_server, port)) = python("pool") else { return skip("a pool in Python", "python3 is not installed") };
        for clients in [1, 4, 8, 14] {
            let _load = loaded(port, clients);
            for round in 0..5 {
                let found = sampled(port, "1s");
                assert!(!causes(&found).contains(&"lock"), "{clients} clients, round {round}: {found:#}");
            }
        }
    }
}

#[test]
fn a_global_lock_is_named_with_its_sleeping_holder() {
    let _alone = alone();
    let Some((server, port)) = python("lock") else { return skip("a lock in Python", "python3 is not installed") };
    assert_lock(&waits(port, 16, "3s"), 16.0, "do_GET");
    drop(server);
    let own = served({
        let mut command = Command::new(binary!());
        command.args(["serve", "http", "--model", "blocking", "--option", "lock=10"]);
        command
    });
    assert_lock(&waits(own.addr.port(), 8, "3s"), 8.0, "sleep_until_ns");
    let Some(compiler) = program("cc") else { return skip("a mutex in C", "no C compiler") };
    let (_dir, mut command) = compiled(&compiler, C);
    let port = free_port();
    let _server = ChildProcess::listening(command.arg(port.to_string()), port);
    assert_lock(&waits(port, 8, "3s"), 8.0, "work");
}

/// Servers that wait, under light loads.
mod idle {
    use super::*;

    /// One thread holds the lock nearly all the time, and the threads of the clients wait for it.
    #[test]
    fn a_thread_that_holds_a_lock_nearly_all_the_time_is_told_by_its_name() {
        let _alone = alone();
        let Some(compiler) = program("cc") else { return skip("a mutex in C", "no C compiler") };
        let hog = "static void *hog(void *arg) {
            for (;;) {
                pthread_mutex_lock(&planted_lock);
                usleep(50000);
                pthread_mutex_unlock(&planted_lock);
                usleep(100);
            }
        }
        int main(int argc, char **argv) {
            pthread_t keeper;
            pthread_create(&keeper, 0, hog, 0);
            pthread_setname_np(keeper, \"keeper-3\");";
        let source = C.replace("usleep(5000);", "").replace("int main(int argc, char **argv) {", hog);
        let text = format!("#define _GNU_SOURCE\n{source}");
        let (_dir, mut command) = compiled(&compiler, &text);
        let port = free_port();
        let _server = ChildProcess::listening(command.arg(port.to_string()), port);
        let found = waits(port, 8, "3s");
        let (thread, sentence) = (&found["waits"][0]["holder_thread"], found["waits"][0]["sentence"].as_str().unwrap());
        assert_eq!(thread["name"], "keeper-3", "{:#}", found["profile"]["futexes"]);
        let expected = format!("; its holder (thread keeper-3, ID {}) sleeps in hog", thread["id"]);
        assert!(sentence.contains(&expected), "{sentence}");
    }

    #[test]
    fn an_idle_server_has_no_cause() {
        let _alone = alone();
        let Some(redis) = program("redis-server") else { return skip("an idle server", "redis is not installed") };
        let port = free_port();
        let mut command = Command::new(redis);
        command.args(["--port", &port.to_string(), "--save", "", "--appendonly", "no"]);
        let _server = ChildProcess::listening(command.stdout(std::process::Stdio::null()), port);
        let found = json(binary!(), &["waits", "--port", &port.to_string(), "--duration", "2s"]);
        assert!(causes(&found).is_empty(), "{found:#}");
    }
}
