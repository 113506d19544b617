//! Starts and ends the programs that the benchmark needs. Servers listen on free ports. The benchmark ends a server by
//! its process ID, never by its name.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use testkit::SetupError;

/// CPU on which the load generators run.
pub(crate) const CLIENT_CPU: u32 = 0;
/// CPU on which the servers run.
pub(crate) const SERVER_CPU: u32 = 1;
/// Size of the requested file, bytes. The papers that loadline's experiments repeat use a file of this size.
pub(crate) const FILE_BYTES: usize = 1294;

/// A server process, which ends when this value is dropped.
pub(crate) struct Server {
    child: Child,
    /// Address on which the server listens.
    pub(crate) addr: SocketAddr,
    _dir: Option<TempDir>,
}

impl Server {
    /// Returns the process ID of the server.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server gets SIGTERM before SIGKILL, so that nginx and HAProxy can end their own workers.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let deadline = Instant::now() + Duration::from_secs(2);
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the path of the release binary, which is in the directory of this program.
pub(crate) fn loadline() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let path = own.parent().map(|dir| dir.join("loadline")).filter(|p| p.exists());
    path.context("no loadline beside this program: run `make bench`, which builds it first")
}

/// Builds a command pinned to one CPU.
pub(crate) fn pinned(cpu: u32, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.arg("-c").arg(cpu.to_string()).arg(program);
    command
}

/// Returns the path of an installed program. If a program is missing, the result of each row that needs the program is
/// SKIP.
pub(crate) fn find(program: &str) -> Result<PathBuf> {
    let found = testkit::program(program).ok_or_else(|| SetupError::program(program));
    found.context("scripts/install-needs bench, as root, installs what is missing")
}

/// Returns a TCP port of 127.0.0.1 that was free at the time of the call. Another program may take the port afterwards.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Waits up to 5 s until the server accepts connections. Returns an error if the server ends, or accepts no connection
/// within 5 s.
pub(crate) fn await_listening(mut child: Child, addr: SocketAddr, dir: Option<TempDir>) -> Result<Server> {
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        if TcpStream::connect(addr).is_ok() {
            return Ok(Server { child, addr, _dir: dir });
        }
        if let Ok(Some(status)) = child.try_wait() {
            bail!("the server for {addr} ended at once with {status}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    bail!("nothing listened on {addr} within 5 s")
}

/// Starts nginx with one worker on the server's CPU. nginx serves the file of 1294 bytes as `/file`.
pub(crate) fn nginx() -> Result<Server> {
    nginx_on(SERVER_CPU)
}

/// Starts nginx as [`nginx`] does, but on the CPU `cpu`.
pub(crate) fn nginx_on(cpu: u32) -> Result<Server> {
    nginx_with(cpu, "worker_processes 1;", &["127.0.0.1"])
}

/// Starts nginx with enough workers for 130,000 connections. nginx listens on `addresses` addresses, beginning with
/// 127.0.0.1.
pub(crate) fn nginx_of_many(addresses: u8) -> Result<Server> {
    let addrs: Vec<String> = (1..=addresses).map(|i| format!("127.0.0.{i}")).collect();
    nginx_with(SERVER_CPU, "worker_processes 7;", &addrs.iter().map(String::as_str).collect::<Vec<_>>())
}

fn nginx_with(cpu: u32, workers: &str, addrs: &[&str]) -> Result<Server> {
    // On a shared listening socket, a worker that has no free connection left resets new connections, although other
    // workers could accept them. `reuseport` gives each worker its own listening socket.
    let own = if addrs.len() > 1 { " reuseport" } else { "" };
    let (nginx, port, dir) = (find("nginx")?, free_port()?, TempDir::new()?);
    std::fs::write(dir.path().join("file"), vec![b'x'; FILE_BYTES])?;
    let listens: String = addrs.iter().map(|addr| format!("listen {addr}:{port} backlog=4096{own}; ")).collect();
    let config = format!(
        "daemon off; {workers} pid {d}/pid; error_log {d}/error; worker_rlimit_nofile 20000;
         events {{ worker_connections 19000; multi_accept on; }}
         http {{ access_log off; keepalive_requests 100000000; keepalive_timeout 3600; sendfile on; tcp_nopush on;
           client_header_timeout 3600; open_file_cache max=10; client_body_temp_path {d}/b; proxy_temp_path {d}/p;
           fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
           server {{ {listens} root {d}; }} }}",
        d = dir.path().display()
    );
    let file = dir.path().join("nginx.conf");
    std::fs::write(&file, config)?;
    // If nginx's master process runs as root, its worker runs as another user and needs access to the temporary
    // directory.
    let _ = Command::new("chmod").arg("755").arg(dir.path()).status();
    let mut command = pinned(cpu, &nginx);
    command.arg("-c").arg(&file).arg("-e").arg(dir.path().join("error")).stderr(Stdio::null());
    await_listening(command.spawn()?, SocketAddr::from(([127, 0, 0, 1], port)), Some(dir))
}

/// Starts `loadline serve SERVICE …` on the server's CPU.
pub(crate) fn serve(service: &str, extra: &[&str]) -> Result<Server> {
    let addr = SocketAddr::from(([127, 0, 0, 1], free_port()?));
    let mut command = pinned(SERVER_CPU, &loadline()?);
    command.args(["serve", service, "--listen", &addr.to_string()]).args(extra);
    await_listening(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?, addr, None)
}

/// Compiles the C program `source` in the directory `dir`, and returns the path of the executable.
pub(crate) fn compile(source: &str, dir: &TempDir, name: &str) -> Result<PathBuf> {
    let (file, program) = (dir.path().join(format!("{name}.c")), dir.path().join(name));
    std::fs::write(&file, source)?;
    output(Command::new(find("cc")?).arg("-O2").arg("-o").arg(&program).arg(&file))?;
    Ok(program)
}

/// Runs a command to its end and returns its standard output. Fails if the exit status is not 0.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    output_of(command, &[0])
}

/// Runs a command that may end with any of the exit statuses in `statuses`, and returns its output.
pub(crate) fn output_of(command: &mut Command, statuses: &[i32]) -> Result<String> {
    let name = format!("{command:?}");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().with_context(|| name.clone())?;
    let mut text = String::new();
    if let Some(out) = child.stdout.take() {
        for line in BufReader::new(out).lines() {
            text.push_str(&line?);
            text.push('\n');
        }
    }
    let status = child.wait()?;
    if !status.code().is_some_and(|code| statuses.contains(&code)) {
        bail!("{name} ended with {status}");
    }
    Ok(text)
}
