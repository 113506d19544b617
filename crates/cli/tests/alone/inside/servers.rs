//! Functions that each start one of the applications at a free port.

use std::any::Any;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use testkit::{ChildProcess, Postgres, free_port, program, skip};

use super::packages::{self, source};

/// A running application. The application's processes end when this value is dropped, in the order of `parts`.
pub(super) struct Server {
    pub(super) url: String,
    /// Further arguments for `find`.
    pub(super) flags: Vec<String>,
    pub(super) parts: Vec<Box<dyn Any>>,
}

fn started(mut command: Command, port: u16) -> Server {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Server {
        url: format!("http://127.0.0.1:{port}/"),
        flags: Vec::new(),
        parts: vec![Box::new(ChildProcess::listening(&mut command, port))],
    }
}

impl Server {
    fn with(mut self, part: impl Any) -> Self {
        self.parts.push(Box::new(part));
        self
    }

    /// Adds the flag with which loadline samples a database behind this server.
    fn behind(mut self, url: String) -> Self {
        self.flags.extend(["--behind".into(), url]);
        self
    }
}

fn installed(test: &str, names: &[&str]) -> Option<PathBuf> {
    let found = names.iter().find_map(|name| program(name));
    if found.is_none() {
        skip(test, format!("{} is not installed", names.join(" or ")));
    }
    found
}

pub(super) fn python(test: &str, name: &str) -> Option<Server> {
    let (python, packages, port) = (installed(test, &["python3"])?, packages::python(test)?, free_port());
    let mut command = Command::new(python);
    command.env("PYTHONPATH", packages).arg(source(name)).arg(port.to_string());
    Some(started(command, port))
}

pub(super) fn express(test: &str, limit: &str, more: &[&str]) -> Option<Server> {
    let (node, packages, port) = (installed(test, &["node"])?, packages::node(test)?, free_port());
    let mut command = Command::new(node);
    command.env("NODE_PATH", packages).arg(source("express.js")).args([limit, &port.to_string()]).args(more);
    Some(started(command, port))
}

pub(super) fn express_pool(test: &str, connections: u32) -> Option<Server> {
    let database = Postgres::start(test, &[])?;
    let url = database.url();
    Some(express(test, "pool", &[&url, &connections.to_string()])?.with(database))
}

/// Starts an Express server. All requests to this server update the same row of a PostgreSQL database. If `is_sampled`
/// is true, loadline also samples the PostgreSQL database.
pub(super) fn express_row(test: &str, is_sampled: bool) -> Option<Server> {
    let database = Postgres::start(test, &[])?;
    let url = database.url();
    let server = express(test, "row", &[&url, "90"])?.with(database);
    Some(if is_sampled { server.behind(url) } else { server })
}

/// Starts Redis with 50,000 keys. Returns the process and its port.
fn redis(test: &str) -> Option<(ChildProcess, u16)> {
    let (redis, port) = (installed(test, &["redis-server"])?, free_port());
    let mut command = Command::new(redis);
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    let server = ChildProcess::listening(command.stdout(Stdio::null()), port);
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    connection.write_all(b"EVAL \"for i=1,50000 do redis.call('set','k'..i,i) end\" 0\r\n").unwrap();
    let mut answer = [0; 5];
    connection.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"$-1\r\n");
    Some((server, port))
}

/// Starts Redis for a load that sends only the command KEYS.
pub(super) fn redis_keys(test: &str) -> Option<Server> {
    let (server, port) = redis(test)?;
    let url = format!("redis://127.0.0.1:{port}");
    let flags = ["--command", "KEYS nosuch*"].map(String::from).into();
    Some(Server { url: url.clone(), flags, parts: vec![Box::new(server)] }.behind(url))
}

/// Starts an Express server that runs KEYS in Redis for each request.
pub(super) fn express_keys(test: &str) -> Option<Server> {
    let (database, port) = redis(test)?;
    Some(express(test, "keys", &[&port.to_string()])?.with(database).behind(format!("redis://127.0.0.1:{port}")))
}

pub(super) fn pgbouncer(test: &str) -> Option<Server> {
    let database = Postgres::start(test, &[])?;
    let (bouncer, port) = database.pgbouncer(test, 3)?;
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
    Some(express(test, "pool", &[&url, "100"])?.with(bouncer).with(database))
}

pub(super) fn tomcat(test: &str) -> Option<Server> {
    let (java, class_path, port) = (installed(test, &["java"])?, packages::tomcat(test)?, free_port());
    let mut command = Command::new(java);
    command.arg("-cp").arg(class_path).args(["Tomcat8", &port.to_string()]);
    Some(started(command, port))
}

pub(super) fn go(test: &str, limit: &str) -> Option<Server> {
    let (built, port) = (packages::go(test)?, free_port());
    let mut command = Command::new(built);
    command.args([limit, &port.to_string()]);
    Some(started(command, port))
}

/// Starts nginx. nginx's http block contains the lines in `http`, and its server block contains the lines in `server`.
fn nginx(test: &str, http: &str, server: &str) -> Option<Server> {
    let (nginx, port, dir) = (installed(test, &["nginx"])?, free_port(), tempfile::tempdir().unwrap());
    let d = dir.path();
    assert!(Command::new("chmod").arg("755").arg(d).status().unwrap().success());
    let lines: String = (0..12_000).map(|i| format!("line {} of {i}\n", i * 7919 % 1000)).collect();
    std::fs::write(d.join("index.html"), lines).unwrap();
    let config = format!(
        "daemon off; worker_processes 1; pid {d}/pid; error_log {d}/error; events {{ worker_connections 512; }}
         http {{ access_log off; {http} server {{ listen 127.0.0.1:{port}; root {d}; {server} }} }}",
        d = d.display()
    );
    std::fs::write(d.join("nginx.conf"), config).unwrap();
    let mut command = Command::new(nginx);
    command.arg("-c").arg(d.join("nginx.conf")).arg("-e").arg(d.join("error"));
    Some(started(command, port).with(dir))
}

pub(super) fn nginx_gzip(test: &str) -> Option<Server> {
    nginx(test, "gzip on; gzip_comp_level 9; types { text/plain html; } gzip_types text/plain;", "")
}

/// Starts nginx in front of PHP-FPM with five child processes, which execute a script of this folder for each request.
/// nginx reaches PHP-FPM over a Unix socket.
pub(super) fn php_fpm(test: &str, name: &str) -> Option<Server> {
    let names = ["php-fpm8.2", "php-fpm8.3", "php-fpm8.4", "php-fpm"];
    let (fpm, dir) = (installed(test, &names)?, tempfile::tempdir().unwrap());
    let user = if testkit::is_root() { "user = nobody\ngroup = nogroup\n" } else { "" };
    let socket = dir.path().join("socket");
    assert!(Command::new("chmod").arg("755").arg(dir.path()).status().unwrap().success());
    let config = format!(
        "[global]\nerror_log = {}/log\ndaemonize = no\n[www]\n{user}listen = {}\nlisten.mode = 0666\npm = static\npm.max_children = 5\n",
        dir.path().display(),
        socket.display()
    );
    std::fs::write(dir.path().join("fpm.conf"), config).unwrap();
    let mut command = Command::new(fpm);
    command.args(["-F", "-n", "-y"]).arg(dir.path().join("fpm.conf")).stderr(Stdio::null());
    // If the test runs as root, PHP's workers run as user nobody, who can read this folder, but perhaps not the folder
    // of the sources.
    let script = dir.path().join(name);
    std::fs::copy(source(name), &script).unwrap();
    let location = format!(
        "location / {{ fastcgi_pass unix:{}; fastcgi_param SCRIPT_FILENAME {}; fastcgi_param REQUEST_METHOD GET; }}",
        socket.display(),
        script.display()
    );
    let children = ChildProcess::start(command.stdin(Stdio::null()).stdout(Stdio::null()));
    testkit::eventually(|| socket.exists().then_some(()));
    Some(nginx(test, "", &location)?.with(children).with(dir))
}

pub(super) fn puma(test: &str) -> Option<Server> {
    let (puma, port) = (installed(test, &["puma"])?, free_port());
    let mut command = Command::new(puma);
    command.args(["-t", "2:2", "-b", &format!("tcp://127.0.0.1:{port}")]).arg(source("sleep.ru"));
    Some(started(command, port))
}

pub(super) fn ruby(test: &str, name: &str) -> Option<Server> {
    let (ruby, port) = (installed(test, &["ruby"])?, free_port());
    let mut command = Command::new(ruby);
    command.arg(source(name)).arg(port.to_string());
    Some(started(command, port))
}

/// Starts gunicorn with one worker process of 16 threads. All requests have the given path.
pub(super) fn gunicorn(test: &str, path: &str) -> Option<Server> {
    let (gunicorn, port) = (installed(test, &["gunicorn"])?, free_port());
    let mut command = Command::new(gunicorn);
    command.arg("--chdir").arg(source("")).args(["-k", "gthread", "--threads", "16", "--log-level", "error"]);
    command.args(["-b", &format!("127.0.0.1:{port}"), "gunicorn_app:app"]);
    let server = started(command, port);
    Some(Server { url: format!("http://127.0.0.1:{port}{path}"), ..server })
}

/// Starts the server in Java whose requests sleep in a monitor.
pub(super) fn java_monitor(test: &str) -> Option<Server> {
    let (java, port) = (installed(test, &["java"])?, free_port());
    let mut command = Command::new(java);
    command.arg("-Dsun.net.httpserver.nodelay=true").arg(source("Tickets.java")).arg(port.to_string());
    Some(started(command, port))
}

/// Starts nginx as a proxy in front of another server.
pub(super) fn behind_nginx(test: &str, server: Option<Server>) -> Option<Server> {
    let server = server?;
    let mut proxy = nginx(test, "", &format!("location / {{ proxy_pass {}; }}", server.url))?;
    proxy.parts.extend(server.parts);
    Some(proxy)
}

pub(super) fn haproxy(test: &str) -> Option<Server> {
    let (haproxy, openssl) = (installed(test, &["haproxy"])?, installed(test, &["openssl"])?);
    let (port, dir) = (free_port(), tempfile::tempdir().unwrap());
    let at = |name: &str| dir.path().join(name);
    let mut make = Command::new(openssl);
    make.args(["req", "-x509", "-newkey", "rsa:4096", "-nodes", "-days", "9", "-subj", "/CN=localhost", "-keyout"]);
    make.arg(at("key")).arg("-out").arg(at("certificate")).stderr(Stdio::null());
    assert!(make.status().unwrap().success());
    let read = |name| std::fs::read_to_string(at(name)).unwrap();
    std::fs::write(at("both.pem"), read("certificate") + &read("key")).unwrap();
    let config = format!(
        "global\n nbthread 1\n tune.ssl.cachesize 0\ndefaults\n mode http\n timeout client 9s\n timeout server 9s\n timeout connect 9s\n\
         frontend f\n bind 127.0.0.1:{port} ssl crt {} no-tls-tickets\n\
         \x20http-request return status 200 content-type text/plain string done\n",
        at("both.pem").display()
    );
    std::fs::write(at("haproxy.cfg"), config).unwrap();
    let mut command = Command::new(haproxy);
    command.arg("-db").arg("-f").arg(at("haproxy.cfg"));
    let server = started(command, port);
    Some(Server { url: format!("https://127.0.0.1:{port}/"), ..server }.with(dir))
}

pub(super) fn axum(test: &str) -> Option<Server> {
    let (built, port) = (packages::axum(test)?, free_port());
    let mut command = Command::new(built);
    command.arg(port.to_string());
    Some(started(command, port))
}

pub(super) fn c_fsync(test: &str) -> Option<Server> {
    let (built, port, dir) = (packages::c(test)?, free_port(), tempfile::tempdir_in(packages::folder()).unwrap());
    let mut command = Command::new(built);
    command.arg(port.to_string()).arg(dir.path().join("log"));
    Some(started(command, port).with(dir))
}
