//! Tests with a row lock in a live MariaDB server. With `--behind`, loadline must name the statement that waits, and
//! the activity of the session that holds the lock.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{ChildProcess, NOBODY, binary, eventually, free_port, json_of, program, python_server, skip};

use crate::databases::waits_under_load;
use crate::row_app::{HEAD, row_app};

/// Python code for [`row_app`] that speaks the protocol of MariaDB.
const DRIVER: &str = r#"
port = int(sys.argv[1])
SLEEP = "DO SLEEP(0.02)"
def packet(c):
    length, number = struct.unpack("<3sB", take(c, 4))
    data = take(c, int.from_bytes(length, "little"))
    if data[:1] == b"\xff": raise SystemExit(data)
    return data, number
def send(c, data, number): c.sendall(len(data).to_bytes(3, "little") + bytes([number]) + data)
def connect():
    c = socket.create_connection(("127.0.0.1", port))
    packet(c)
    # CLIENT_CONNECT_WITH_DB, CLIENT_PROTOCOL_41 and CLIENT_SECURE_CONNECTION.
    send(c, struct.pack("<IIB23x", 0x8 | 0x200 | 0x8000, 1 << 24, 45) + b"app\0" + b"\0" + b"app\0", 1)
    data, number = packet(c)
    if data[:1] == b"\xfe":
        send(c, b"", number + 1)
        packet(c)
    return c
def query(c, text):
    send(c, b"\x03" + text.encode(), 0)
    packet(c)
connect()
"#;

/// Python code that the test appends to the driver: eight sessions that each insert rows without a pause, and commit
/// after each row.
const COMMITS: &str = r#"
def commit():
    c = connect()
    while True: query(c, "INSERT INTO log VALUES (7)")
for _ in range(8): threading.Thread(target=commit).start()
"#;

/// Statements that the server executes when it starts, one statement per line.
const INIT: &str = "CREATE DATABASE app;
CREATE TABLE app.counters (id int PRIMARY KEY, n int, word text);
INSERT INTO app.counters VALUES (1, 0, '');
CREATE USER app@'127.0.0.1';
GRANT ALL ON app.* TO app@'127.0.0.1';
CREATE USER watcher@'127.0.0.1' IDENTIFIED BY 'hunter3';
GRANT PROCESS ON *.* TO watcher@'127.0.0.1';
GRANT SELECT ON performance_schema.* TO watcher@'127.0.0.1';
CREATE TABLE app.log (n int);
";

/// A MariaDB server that has a folder for its data and its socket.
struct Mariadb {
    _server: ChildProcess,
    _dir: tempfile::TempDir,
    port: u16,
}

fn mariadb(options: &[&str]) -> Option<Mariadb> {
    let (install, server) = (program("mariadb-install-db")?, program("mariadbd")?);
    let (dir, port) = (tempfile::tempdir().unwrap(), free_port());
    if testkit::is_root() {
        std::os::unix::fs::chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let of = |name: &str, file: &str| format!("--{name}={}", dir.path().join(file).display());
    let own = |command: &mut Command| {
        if testkit::is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.current_dir(dir.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    };
    std::fs::write(dir.path().join("init.sql"), INIT).unwrap();
    let mut make = Command::new(install);
    // A server that starts deletes the temporary tables of other servers in the same folder.
    let tmpdir = format!("--tmpdir={}", dir.path().display());
    make.args(["--no-defaults", "--auth-root-authentication-method=normal", &tmpdir]).arg(of("datadir", "data"));
    own(&mut make);
    let made = make.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    let said = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(made.status.success(), "mariadb-install-db failed: {}{}", said(&made.stdout), said(&made.stderr));
    let mut serve = Command::new(server);
    serve.args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve", &format!("--port={port}")]);
    serve.args([
        tmpdir,
        of("datadir", "data"),
        of("socket", "socket"),
        of("pid-file", "pid"),
        of("init-file", "init.sql"),
    ]);
    own(serve.args(options));
    Some(Mariadb { _server: ChildProcess::listening(&mut serve, port), _dir: dir, port })
}

#[test]
fn a_row_lock_of_mariadb_is_named_with_its_holder() {
    let test = "a row lock of MariaDB";
    let Some(python) = program("python3") else { return skip(test, "python3 is not installed") };
    let Some(mariadb) = mariadb(&[]) else { return skip(test, "MariaDB is not installed") };
    let (_app, at) = python_server(&python, &row_app(DRIVER), &[&mariadb.port.to_string()]);
    let behind = format!("mariadb://watcher@127.0.0.1:{}/information_schema", mariadb.port);
    let found = waits_under_load(at, ("MYSQL_PWD", "hunter3"), &["--behind", &behind]);
    let first = &found["waits"][0];
    assert_eq!((&first["cause"], &first["event"]), (&"row-lock".into(), &"LOCK WAIT".into()), "{found:#}");
    assert_eq!(first["name"], "UPDATE counters SET n = n + ?, word = ? WHERE id = ?", "{first:#}");
    assert_eq!((&first["holder"], &first["holder_statement"]), (&"sleep".into(), &"DO SLEEP(?)".into()), "{first:#}");
    // One of the twelve sessions holds the lock, and the others wait.
    let [threads, of] = ["threads", "of"].map(|name| first[name].as_f64().unwrap());
    assert!(threads > 0.6 * of && of <= 14.0, "{first:#}");
    assert!(!found.to_string().contains("hunter"), "a value or a password was kept");
}

/// In MariaDB, tables of `performance_schema` name the files and internal locks for which sessions wait. MariaDB fills
/// these `performance_schema` tables only with certain options.
#[test]
fn waits_inside_mariadb_are_named_where_it_records_them() {
    let test = "waits inside MariaDB";
    let Some(python) = program("python3") else { return skip(test, "python3 is not installed") };
    let options = [
        "--performance-schema=ON",
        "--performance-schema-consumer-events-waits-current=ON",
        "--performance-schema-instrument=wait/%=ON",
    ];
    let Some(mariadb) = mariadb(&options) else { return skip(test, "MariaDB is not installed") };
    let mut command = Command::new(python);
    command.args(["-c", &format!("{HEAD}{DRIVER}{COMMITS}"), &mariadb.port.to_string()]);
    let _clients = ChildProcess::start(command.stdin(Stdio::null()).stdout(Stdio::null()));
    let behind = format!("mariadb://watcher@127.0.0.1:{}/information_schema", mariadb.port);
    let sample = || {
        let mut waits = Command::new(binary!());
        waits.args(["waits", "--port", &mariadb.port.to_string(), "--duration", "2s", "--behind", &behind]);
        json_of(waits.env("MYSQL_PWD", "hunter3"))
    };
    let has_wait = |found: &Value| {
        let groups = found["databases"][0]["groups"].as_array().cloned().unwrap_or_default();
        let is_wait = |group: &Value| match group["state"].as_str() {
            Some("disk") => group["event"].as_str().unwrap_or_default().starts_with("wait/io/file/"),
            Some("internal-lock") => group["event"].as_str().unwrap_or_default().starts_with("wait/synch/"),
            _ => false,
        };
        groups.iter().any(is_wait)
    };
    let found = eventually(|| Some(sample()).filter(has_wait));
    assert!(found.to_string().contains("INSERT INTO log VALUES (?)"), "{found:#}");
}
