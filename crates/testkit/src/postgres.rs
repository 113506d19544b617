//! Starts a PostgreSQL server for tests, and PgBouncer, a connection pooler through which clients connect to this
//! server. PostgreSQL and PgBouncer refuse to run as root, so they run as the user `nobody` if the test runs as root.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::{ChildProcess, eventually, free_port, is_root, program, skip};

/// User ID of `nobody`, a user without special rights.
pub const NOBODY: u32 = 65534;

/// Access rules of the server: the user `watcher` needs a password over TCP, and all other users need none.
const ACCESS: &str =
    "local all all trust\nhost all watcher 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";

/// A PostgreSQL server with the user `postgres` and the database `postgres`. When the value is dropped, the server ends
/// and its files are removed.
pub struct Postgres {
    server: ChildProcess,
    /// Folder that contains the data, the Unix socket and other files.
    pub dir: TempDir,
    /// TCP port on 127.0.0.1. The file name of the Unix socket also contains the port.
    pub port: u16,
}

/// Finds a program of PostgreSQL. The search includes the folders outside of PATH in which distributions install
/// PostgreSQL's programs.
pub fn postgres_program(name: &str) -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut in_versions = versions.filter_map(|version| Some(version.ok()?.path().join("bin").join(name)));
    in_versions.find(|path| path.is_file()).or_else(|| program(name))
}

/// Returns a command for a program that must not run as root. If the test runs as root, the program runs as `nobody`.
fn as_nobody(program: &Path, dir: &Path) -> Command {
    let mut command = Command::new(program);
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Creates a folder that belongs to the user who runs the server.
fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    if is_root() {
        std::os::unix::fs::chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    dir
}

impl Postgres {
    /// Starts a server with the given settings (`name=value`). If PostgreSQL is not installed, skips the test and
    /// returns `None`.
    pub fn start(test: &str, settings: &[&str]) -> Option<Self> {
        let started = Self::try_start(settings);
        if started.is_none() {
            skip(test, "PostgreSQL is not installed");
        }
        started
    }

    /// Starts a server with the given settings (`name=value`). Returns `None` if PostgreSQL is not installed.
    pub fn try_start(settings: &[&str]) -> Option<Self> {
        let (initdb, postgres) = (postgres_program("initdb")?, postgres_program("postgres")?);
        let (dir, port) = (folder(), free_port());
        let data = dir.path().join("data");
        let mut init = as_nobody(&initdb, dir.path());
        let made = init.args(["-U", "postgres", "-A", "trust", "-N", "-D"]).arg(&data).status().unwrap();
        assert!(made.success(), "initdb failed");
        std::fs::write(data.join("pg_hba.conf"), ACCESS).unwrap();
        let mut server = as_nobody(&postgres, dir.path());
        server.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &port.to_string(), "-k"]).arg(dir.path());
        server.args(settings.iter().flat_map(|setting| ["-c", setting]));
        let started = Self { server: ChildProcess::listening(&mut server, port), dir, port };
        // While a server starts up, it already listens, but refuses logins.
        eventually(|| started.run(&started.url(), "SELECT 1").status.success().then_some(()));
        Some(started)
    }

    /// Returns the process ID of the server.
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Returns the URL of the database over TCP, for the user `postgres`.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Runs SQL statements, and returns the rows that they print. Fails the test if a statement fails.
    pub fn psql(&self, statements: &str) -> String {
        self.psql_at(&self.url(), statements)
    }

    /// Does what [`Postgres::psql`] does, with the database at another URL, such as one of PgBouncer.
    pub fn psql_at(&self, url: &str, statements: &str) -> String {
        let output = self.run(url, statements);
        assert!(output.status.success(), "{statements}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn run(&self, url: &str, statements: &str) -> Output {
        let mut command =
            as_nobody(&postgres_program("psql").expect("psql is installed with PostgreSQL"), self.dir.path());
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statements, url]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap()
    }

    /// Starts PgBouncer in front of the server. `connections` is the maximum number of connections that PgBouncer opens
    /// to the server. Returns PgBouncer's process and port. Skips the test and returns `None` if PgBouncer is not
    /// installed.
    pub fn pgbouncer(&self, test: &str, connections: u32) -> Option<(ChildProcess, u16)> {
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
        let mut command = as_nobody(&pgbouncer, self.dir.path());
        Some((ChildProcess::listening(command.arg("-q").arg(&config), port), port))
    }
}
