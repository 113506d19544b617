//! In front of a real nginx, for real clients.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::common::{BACKENDS, proxy, require, text};

/// nginx on a free port serving `/file` of 1294 bytes and `/large` of 5 MB; ends with the value.
struct Nginx {
    child: Child,
    addr: SocketAddr,
    dir: tempfile::TempDir,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

fn nginx() -> Option<Nginx> {
    let program = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|p| std::path::Path::new(p).exists())?;
    let dir = tempfile::TempDir::new().unwrap();
    let d = dir.path().display().to_string();
    Command::new("chmod").arg("755").arg(&d).status().unwrap();
    std::fs::write(dir.path().join("file"), vec![b'x'; 1294]).unwrap();
    std::fs::write(dir.path().join("large"), vec![b'x'; 5_000_000]).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "daemon off; worker_processes 1; pid {d}/pid; error_log {d}/error; events {{ worker_connections 4000; }}
         http {{ access_log {d}/access; keepalive_requests 100; client_body_temp_path {d}/b; proxy_temp_path {d}/p;
           fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
           server {{ listen 127.0.0.1:{port} backlog=4096; root {d}; }} }}"
    );
    std::fs::write(dir.path().join("nginx.conf"), config).unwrap();
    let child = Command::new(program)
        .args(["-c", &format!("{d}/nginx.conf"), "-e", &format!("{d}/error")])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let addr = SocketAddr::from(([127, 0, 0, 1], port));
    let nginx = Nginx { child, addr, dir };
    for _ in 0..200 {
        if TcpStream::connect(addr).is_ok() {
            return Some(nginx);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("nginx does not listen: {}", std::fs::read_to_string(nginx.dir.path().join("error")).unwrap_or_default());
}

#[test]
fn stands_in_front_of_nginx_for_curl_and_wrk() {
    let Some(nginx) = nginx() else { return require("stands_in_front_of_nginx_for_curl_and_wrk", "no nginx") };
    for events in BACKENDS {
        let server = proxy(nginx.addr, events, &[]);
        let url = format!("http://{}", server.local_addr());
        match Command::new("curl")
            .args([
                "-s",
                "-S",
                "--max-time",
                "20",
                "-o",
                "/dev/null",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code} %{size_download}\n",
                &format!("{url}/file"),
                &format!("{url}/large"),
            ])
            .output()
        {
            Ok(out) => assert_eq!(text(&out.stdout), "200 1294\n200 5000000\n", "{events}: {}", text(&out.stderr)),
            Err(_) => require("stands_in_front_of_nginx_for_curl_and_wrk", "no curl"),
        }
        // nginx closes each connection after 100 requests: reuse and replacement both happen.
        match Command::new("wrk").args(["-t1", "-c40", "-d1s", &format!("{url}/file")]).output() {
            Ok(out) => {
                let shown = text(&out.stdout);
                assert!(!shown.contains("Non-2xx") && !shown.contains("Socket errors"), "{events}: {shown}");
                let done: u64 = shown
                    .lines()
                    .find(|l| l.contains("requests in"))
                    .and_then(|l| l.trim().split(' ').next()?.parse().ok())
                    .unwrap();
                assert!(done > 200 && server.stats().requests >= done, "{events}: {shown}");
            }
            Err(_) => require("stands_in_front_of_nginx_for_curl_and_wrk", "no wrk"),
        }
        let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = descriptors();
        server.stop();
        assert_eq!(server.failures(), Vec::<String>::new(), "{events}");
        let stats = server.join();
        assert_eq!(stats.threads, 0);
        assert!(descriptors() <= before, "{events}");
    }
}
