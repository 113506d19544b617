//! A PostgreSQL server for a test, and pgbouncer in front of it. Both programs run as user nobody, since PostgreSQL
//! refuses to run as root.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::{ChildProcess, free_port, program, skip};

/// A PostgreSQL server. The server's files are removed when this value is dropped.
pub(super) struct Postgres {
    _server: ChildProcess,
    dir: tempfile::TempDir,
    pub(super) port: u16,
}

/// Returns a command that runs a program as user nobody if the test runs as root.
fn as_nobody(program: &Path) -> Command {
    if !testkit::is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(program);
    command
}

/// Creates a folder in which every user may write.
fn open_folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    assert!(Command::new("chmod").arg("777").arg(dir.path()).status().unwrap().success());
    dir
}

/// Finds initdb, which Debian stores in a folder outside of PATH.
fn initdb(postgres: &Path) -> Option<PathBuf> {
    let beside = postgres.canonicalize().ok()?.with_file_name("initdb");
    beside.exists().then_some(beside)
}

/// Starts a PostgreSQL server for one test.
pub(super) fn postgres(test: &str) -> Option<Postgres> {
    let found = program("postgres").and_then(|postgres| Some((initdb(&postgres)?, postgres)));
    let Some((initdb, postgres)) = found else {
        skip(test, "PostgreSQL is not installed");
        return None;
    };
    let (dir, port) = (open_folder(), free_port());
    let data = dir.path().join("data");
    let mut make = as_nobody(&initdb);
    make.args(["-U", "postgres", "-A", "trust", "-D"]).arg(&data);
    assert!(make.stdout(Stdio::null()).status().unwrap().success());
    let mut serve = as_nobody(&postgres);
    serve.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &port.to_string(), "-k"]).arg(dir.path());
    let server = ChildProcess::listening(serve.stderr(Stdio::null()), port);
    Some(Postgres { _server: server, dir, port })
}

impl Postgres {
    /// Starts pgbouncer with this many connections to the server.
    pub(super) fn pgbouncer(&self, test: &str, connections: u32) -> Option<(ChildProcess, u16)> {
        let Some(pgbouncer) = program("pgbouncer") else {
            skip(test, "pgbouncer is not installed");
            return None;
        };
        let (port, config) = (free_port(), self.dir.path().join("pgbouncer.ini"));
        let text = format!(
            "[databases]\npostgres = host=127.0.0.1 port={} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = {connections}\nmax_client_conn = 500\n",
            self.port
        );
        std::fs::write(&config, text).unwrap();
        let mut command = as_nobody(&pgbouncer);
        command.arg("-q").arg(&config).stdout(Stdio::null()).stderr(Stdio::null());
        Some((ChildProcess::listening(&mut command, port), port))
    }
}
