//! The proxy of loadline, compared with HAProxy. Both proxies have one thread and only forward requests to one nginx.
//! The figure is the proxy's CPU time per request. The proxy has one CPU, and nginx and wrk share another CPU.

use anyhow::Result;

use super::generator::wrk;
use super::server::cost_in;
use crate::compare::{Compared, interleave};
use crate::programs::{self, Server};

/// Number of measurements of each proxy per round. A virtual machine may be slow for seconds. The measurements of the
/// two proxies are short and alternate, so slow seconds affect both proxies equally.
const SLICES: usize = 3;
const SLICE_SECONDS: u32 = 1;

/// Measures the proxy's CPU microseconds per request.
pub(crate) fn cpu(rounds: usize) -> Result<Compared> {
    let upstream = programs::nginx_on(programs::CLIENT_CPU)?;
    let to = upstream.addr.to_string();
    let ours = programs::serve("proxy", &["--upstream", &to, "--events", "epoll"])?;
    let haproxy = haproxy(&to)?;
    // Both proxies run once before the rounds. In the run before the rounds, a proxy that gives no answers causes an
    // error. In a round, a proxy without answers would look fast.
    wrk(ours.addr, "/file")?;
    wrk(haproxy.addr, "/file")?;
    let cost = |server: &Server| cost_in(server.pid(), server.addr, SLICE_SECONDS);
    interleave(rounds * SLICES, "us", || cost(&ours), || cost(&haproxy))
}

fn haproxy(upstream: &str) -> Result<Server> {
    let (program, port, dir) = (programs::find("haproxy")?, programs::free_port()?, tempfile::TempDir::new()?);
    let config = format!(
        "global\n  nbthread 1\n  maxconn 8000\n\
         defaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n  http-reuse always\n\
         frontend in\n  bind 127.0.0.1:{port}\n  default_backend out\n\
         backend out\n  server s {upstream} maxconn 4000\n"
    );
    let file = dir.path().join("haproxy.cfg");
    std::fs::write(&file, config)?;
    let mut command = programs::pinned(programs::SERVER_CPU, &program);
    command.arg("-f").arg(&file).arg("-db").stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    programs::await_listening(command.spawn()?, ([127, 0, 0, 1], port).into(), Some(dir))
}
