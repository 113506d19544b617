//! Web servers of other projects. Each server runs on a free port, and answers `/file` with 1294 bytes.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::{Running, free_port, program};

/// Size of `/file`, bytes. The file fits into one TCP segment together with the headers of the response.
const FILE_BYTES: usize = 1294;

/// Creates the directory with the file. All users can read the directory and the file, because a server's workers may
/// run without root rights.
fn root() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), vec![b'x'; FILE_BYTES]).unwrap();
    open_to_all(dir.path());
    dir
}

fn open_to_all(dir: &Path) {
    assert!(Command::new("chmod").arg("755").arg(dir).status().unwrap().success());
}

/// Starts nginx with one worker on CPU `cpu`. nginx's access log has the line `OK 200` for each successful request.
/// `location` and `http` are additional directives for the configuration blocks `location` and `http`. Returns `None`
/// if nginx is not installed.
pub fn nginx(cpu: u32, location: &str, http: &str) -> Option<Running> {
    nginx_workers((1, &cpu.to_string()), location, http)
}

/// Starts nginx with several workers on a list of CPUs. The kernel distributes the connections among the workers.
/// Returns `None` if nginx is not installed.
pub fn nginx_workers((workers, cpus): (u32, &str), location: &str, http: &str) -> Option<Running> {
    let (nginx, port, dir) = (program("nginx")?, free_port(), root());
    let d = dir.path();
    let config = format!(
        "daemon off; worker_processes {workers}; pid {d}/pid; error_log {d}/error; worker_rlimit_nofile 16000;
         events {{ worker_connections 8000; }}
         http {{ {http} log_format t '$request_completion $status'; access_log {d}/access t buffer=64k flush=100ms;
           keepalive_requests 100000000; client_body_temp_path {d}/b; proxy_temp_path {d}/p;
           fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
           server {{ listen 127.0.0.1:{port} backlog=4096 reuseport; location / {{ root {d}; {location} }} }} }}",
        d = d.display()
    );
    std::fs::write(d.join("nginx.conf"), config).unwrap();
    let mut command = Command::new("taskset");
    command.args(["-c", cpus]).arg(nginx).arg("-c").arg(d.join("nginx.conf"));
    command.arg("-e").arg(d.join("error"));
    Some(Running::start(command, port, dir))
}

/// Starts Apache httpd with the event module. Each successful request immediately adds the line `OK 200` to its access
/// log. Returns `None` if Apache is not installed.
pub fn apache() -> Option<Running> {
    apache_with_log("OK %>s")
}

/// Starts Apache with the log format `format`. The log is the file `access` in the server's directory.
pub fn apache_with_log(format: &str) -> Option<Running> {
    let (apache, port, dir) = (program("apache2")?, free_port(), root());
    let modules = PathBuf::from("/usr/lib/apache2/modules");
    let config = format!(
        "ServerRoot {d}\nDefaultRuntimeDir {d}\nPidFile {d}/pid\nServerName localhost\nListen 127.0.0.1:{port}\n\
         LoadModule mpm_event_module {m}/mod_mpm_event.so\nLoadModule authz_core_module {m}/mod_authz_core.so\n\
         User nobody\nGroup nogroup\nStartServers 1\nServerLimit 2\nThreadsPerChild 25\nMaxRequestWorkers 50\n\
         DocumentRoot {d}\nErrorLog {d}/error\nLogFormat \"{format}\" t\nCustomLog {d}/access t\n",
        format = format.replace('"', "\\\""),
        d = dir.path().display(),
        m = modules.display()
    );
    std::fs::write(dir.path().join("conf"), config).unwrap();
    let mut command = Command::new(apache);
    command.arg("-f").arg(dir.path().join("conf")).arg("-DFOREGROUND");
    modules.exists().then(|| Running::start(command, port, dir))
}

/// Starts Python's http.server, which has one thread per connection and a listen queue of five. The server's log is the
/// file `access`, which is written without a buffer. In the log, each line that contains `" 200 ` is a successful
/// request. Returns `None` if Python is not installed.
pub fn python() -> Option<Running> {
    let (python, port, dir) = (program("python3")?, free_port(), root());
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" -m http.server \"$1\" --bind 127.0.0.1 --directory \"$2\" 2> \"$2/access\""]);
    command.arg(python).arg(port.to_string()).arg(dir.path());
    Some(Running::start(command, port, dir))
}
