//! Tests with a row lock in a live PostgreSQL server. loadline must name the lock. Without `--behind`, loadline learns
//! about the lock from the titles of the server's processes; with `--behind`, from the server's sessions.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{ChildProcess, Postgres, binary, eventually, free_port, json_of, program, python_server, skip};

use crate::row_app::row_app;

/// Python code for [`row_app`] that speaks the protocol of PostgreSQL.
const DRIVER: &str = r#"
host, port = sys.argv[1:3]
SLEEP = "SELECT pg_sleep(0.02)"
def connect():
    unix = host.startswith("/")
    c = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
    c.connect(f"{host}/.s.PGSQL.{port}" if unix else (host, int(port)))
    body = struct.pack("!i", 196608) + b"user\0postgres\0database\0postgres\0\0"
    c.sendall(struct.pack("!i", len(body) + 4) + body)
    answer(c)
    return c
def answer(c):
    kind = b""
    while kind != b"Z":
        kind, length = struct.unpack("!ci", take(c, 5))
        data = take(c, length - 4)
        if kind == b"E": print(data, file=sys.stderr)
def query(c, text):
    data = text.encode() + b"\0"
    c.sendall(b"Q" + struct.pack("!i", len(data) + 4) + data)
    answer(c)
first = connect()
query(first, "CREATE TABLE IF NOT EXISTS counters (id int PRIMARY KEY, n int, word text)")
query(first, "INSERT INTO counters VALUES (1, 0, '') ON CONFLICT DO NOTHING")
query(first, "DO $$ BEGIN CREATE ROLE watcher LOGIN PASSWORD 'hunter3' IN ROLE pg_monitor; EXCEPTION WHEN duplicate_object THEN END $$")
"#;

/// Starts the application, and samples its threads under load.
fn waits(python: &Path, postgres: &Postgres, host: &str, behind: &[&str]) -> Value {
    let (_app, at) = python_server(python, &row_app(DRIVER), &[host, &postgres.port.to_string()]);
    waits_under_load(at, ("PGPASSWORD", "hunter3"), behind)
}

/// Loads a server with 12 connections, and samples its threads during the load.
pub(crate) fn waits_under_load(at: SocketAddr, (variable, password): (&str, &str), behind: &[&str]) -> Value {
    let mut load = Command::new(binary!());
    load.args([
        "load",
        &format!("http://{at}/"),
        "--connections",
        "12",
        "--duration",
        "60s",
        "--at-rest",
        "0",
        "--no-waits",
    ]);
    let _load = ChildProcess::start(load.stdout(Stdio::null()).stderr(Stdio::null()));
    let sample = |duration: &str| {
        let mut command = Command::new(binary!());
        command.args(["waits", "--port", &at.port().to_string(), "--duration", duration]).args(behind);
        json_of(command.env(variable, password))
    };
    // Once sessions wait for the lock, the load has begun. loadline first reads the symbols of the server's program, so
    // the first call may find nothing.
    eventually(|| sample("2s")["waits"][0]["session"].is_string().then_some(()));
    sample("3s")
}

fn assert_row_lock(found: &Value) {
    let first = &found["waits"][0];
    assert_eq!(first["cause"], "row-lock", "{found:#}");
    let [threads, of] = ["threads", "of"].map(|name| first[name].as_f64().unwrap());
    // One of the twelve sessions holds the lock, and all others wait. Besides the twelve sessions of the application,
    // the database may have two sessions, one of which created the table.
    assert!(threads > 0.6 * of && of <= 14.0, "{first:#}");
    assert!(first["sentence"].as_str().unwrap().contains("backends of postgres wait for a row lock"), "{first:#}");
    assert!(!found.to_string().contains("hunter"), "a value or a password was kept");
}

#[test]
fn a_row_lock_of_postgresql_is_named_by_titles_and_by_sessions() {
    let test = "a row lock of PostgreSQL";
    let Some(python) = program("python3") else { return skip(test, "python3 is not installed") };
    let Some(postgres) = Postgres::start(test, &["fsync=off"]) else { return };
    let socket = postgres.dir.path().to_str().unwrap();
    for host in ["127.0.0.1", socket] {
        let found = waits(&python, &postgres, host, &[]);
        assert_row_lock(&found);
        assert_eq!(found["waits"][0]["name"], "UPDATE", "{host}: {found:#}");
    }
    let tcp = format!("postgres://watcher@127.0.0.1:{}/postgres", postgres.port);
    let unix = format!("host={socket} port={} user=watcher dbname=postgres", postgres.port);
    for behind in [tcp, unix] {
        let found = waits(&python, &postgres, "127.0.0.1", &["--behind", &behind]);
        assert_row_lock(&found);
        let first = &found["waits"][0];
        assert_eq!(first["name"], "UPDATE counters SET n = n + ?, word = ? WHERE id = ?", "{first:#}");
        assert!(first["event"].as_str().unwrap().starts_with("Lock:"), "{first:#}");
        // The session that holds the lock sleeps for 20 ms in each transaction, so most samples find it sleeping.
        assert_eq!((&first["holder"], &first["holder_statement"]), (&"sleep".into(), &"SELECT pg_sleep(?)".into()));
        assert!(first["held_s"].as_f64().unwrap() > 0.01, "{first:#}");
        assert!(found["databases"][0]["samples"].as_u64().unwrap() >= 10, "{found:#}");
    }
}

#[test]
fn a_database_that_refuses_the_login_ends_the_run_before_any_load() {
    let test = "a login at PostgreSQL";
    let Some(postgres) = Postgres::start(test, &["fsync=off"]) else { return };
    let behind = format!("postgres://nosuch:hunter4@127.0.0.1:{}/postgres", postgres.port);
    let out = Command::new(binary!()).args(["load", "http://127.0.0.1:1/", "--behind", &behind]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(
        !out.status.success() && said.contains("postgres://nosuch@127.0.0.1") && !said.contains("hunter4"),
        "{said}"
    );
}

#[test]
fn a_command_that_fills_redis_is_named_without_its_values() {
    let Some(redis) = program("redis-server") else { return skip("KEYS in Redis", "redis-server is not installed") };
    let port = free_port();
    let mut command = Command::new(redis);
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    command.args(["--slowlog-log-slower-than", "100"]);
    let _server = ChildProcess::listening(command.stdout(Stdio::null()), port);
    let url = format!("redis://127.0.0.1:{port}");
    let run = |command: &str, seconds: &str, more: &[&str]| {
        let mut load = Command::new(binary!());
        load.args(["load", &url, "--command", command, "--duration", seconds, "--at-rest", "0", "--no-waits"])
            .args(more);
        load
    };
    let fill = "EVAL \"for i=1,50000 do redis.call('set','k'..i,i) end\" 0";
    assert!(run(fill, "1s", &["--connections", "1"]).stdout(Stdio::null()).status().unwrap().success());
    let mut load = run("KEYS hunter*", "60s", &["--connections", "8"]);
    let _load = ChildProcess::start(load.stdout(Stdio::null()).stderr(Stdio::null()));
    let sample = || {
        let mut command = Command::new(binary!());
        json_of(command.args(["waits", "--port", &port.to_string(), "--duration", "2s", "--behind", &url]))
    };
    let found = eventually(|| Some(sample()).filter(|found| found["waits"][0]["session"] == "running"));
    assert_eq!((&found["waits"][0]["cause"], &found["waits"][0]["name"]), (&"serial-cpu".into(), &"KEYS".into()));
    assert!(found["databases"][0]["commands"][0]["longest_s"].as_f64().unwrap() > 1e-4, "{found:#}");
    assert!(!found.to_string().contains("hunter"), "a value was kept");
}
