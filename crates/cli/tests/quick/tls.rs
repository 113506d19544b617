//! Tests of HTTP over TLS against nginx and loadline's own server. loadline's counts of requests and handshakes must
//! equal the counts in the server's log.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json as value};
use tempfile::TempDir;
use testkit::{
    Running, alone, binary, free_port, has, json, loadline, logged_by_nginx, nginx, program, refused, serve, skip,
    total,
};

/// A certificate authority and the certificates that it signed, all made by openssl.
struct Certificates {
    dir: TempDir,
}

const MAKE: &str = "
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority
sign() { # name, days, extensions
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $1.key -out $1.csr -subj /CN=$1
  printf '%b' \"$3\" > $1.ext
  openssl x509 -req -in $1.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days $2 -extfile $1.ext -out $1.pem
}
sign server 2 'subjectAltName=DNS:localhost,IP:127.0.0.1\\n'
sign other 2 'subjectAltName=DNS:other.example\\n'
sign client 2 'extendedKeyUsage=clientAuth\\n'
";

impl Certificates {
    fn make(test: &str) -> Option<Self> {
        if !has(test, "openssl") {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let made = Command::new("sh").args(["-ec", MAKE]).current_dir(&dir).stderr(Stdio::null()).status().unwrap();
        assert!(made.success());
        Some(Self { dir })
    }

    fn file(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }
}

/// nginx with TLS. Each line of nginx's log contains the TLS version, a letter for the kind of session (`r` or `.`),
/// and the number of the connection. `r` stands for a resumed session, and `.` for a new session.
struct Tls {
    nginx: Running,
    port: u16,
    certificates: Certificates,
}

impl Tls {
    fn start(test: &str, name: &str, directives: &str) -> Option<Self> {
        let certificates = Certificates::make(test)?;
        let (port, log) = (free_port(), certificates.file("log"));
        let (cert, key) = (certificates.file(&format!("{name}.pem")), certificates.file(&format!("{name}.key")));
        std::fs::write(&log, "").unwrap();
        let open = Command::new("chmod").arg("-R").arg("a+rwX").arg(certificates.dir.path()).status().unwrap();
        assert!(open.success());
        let http = format!(
            "log_format tls '$ssl_protocol $ssl_session_reused $connection';
             server {{ listen 127.0.0.1:{port} ssl backlog=4096; ssl_certificate {cert}; ssl_certificate_key {key}; ssl_protocols TLSv1.2 TLSv1.3;
               access_log {log} tls; {directives}
               location / {{ return 200 hello; }} }}"
        );
        let nginx = nginx(0, "", &http);
        if nginx.is_none() {
            skip(test, "nginx is not installed");
        }
        Some(Self { nginx: nginx?, port, certificates })
    }

    fn url(&self) -> String {
        format!("https://127.0.0.1:{}/", self.port)
    }

    /// Returns the lines that the log has gained since the last call. Waits until there are `expected` new lines.
    fn logged(&self, expected: u64) -> Vec<Vec<String>> {
        logged_by_nginx(&self.nginx, Path::new(&self.certificates.file("log")), expected)
    }

    fn load(&self, more: &[&str]) -> Value {
        let (url, ca) = (self.url(), self.certificates.file("ca.pem"));
        let mut args = vec!["load", &url, "--cacert", &ca, "--connections", "8", "--duration", "500ms"];
        args.extend(["--warmup", "0s", "--at-rest", "0s"]);
        args.extend(more);
        let run = json(binary!(), &args);
        assert_eq!(run["trials"][0]["errors"], value!({}), "{more:?}");
        run
    }
}

fn connections(lines: &[Vec<String>]) -> usize {
    lines.iter().map(|line| &line[2]).collect::<std::collections::BTreeSet<_>>().len()
}

#[test]
fn requests_and_handshakes_equal_the_server_s_log() {
    let _alone = alone();
    let Some(server) = Tls::start("https", "server", "keepalive_requests 1000000;") else { return };
    for (io, version, named) in [("epoll", "1.3", "TLSv1.3"), ("auto", "1.3", "TLSv1.3"), ("epoll", "1.2", "TLSv1.2")] {
        let run = server.load(&["--io", io, "--tls", version]);
        let (completed, handshakes) = (total(&run, "completed"), total(&run, "handshakes"));
        let lines = server.logged(completed);
        assert_eq!(lines.len() as u64, completed, "{io} {version}");
        assert_eq!(connections(&lines) as u64, handshakes, "{io} {version}");
        assert!(lines.iter().all(|line| line[0] == named && line[1] == "."), "{:?}", lines[0]);
        assert_eq!(total(&run, "sent"), completed, "no handshake is a request");
        let histograms = &run["trials"][0]["histograms"];
        assert!(histograms["handshake"].is_object() || histograms["handshake"].is_string(), "{histograms}");
    }
}

#[test]
fn resumed_sessions_equal_the_server_s_log() {
    let _alone = alone();
    let Some(server) = Tls::start("https resumption", "server", "ssl_session_cache shared:s:1m;") else { return };
    for (version, resume) in [("1.3", "on"), ("1.3", "off"), ("1.3", "50%"), ("1.2", "on")] {
        let run = server.load(&["--new-connections", "--tls", version, "--resume", resume]);
        let (handshakes, resumed) = (total(&run, "handshakes"), total(&run, "handshakes_resumed"));
        let lines = server.logged(total(&run, "completed"));
        let reused = lines.iter().filter(|line| line[1] == "r").count() as u64;
        assert_eq!(reused, resumed, "{version} {resume}");
        // The first handshake of each of the eight connections cannot resume a session. The session ticket for the
        // second handshake may arrive too late, so this handshake may be full, too.
        let (can, all) = (handshakes.saturating_sub(16) as f64, handshakes as f64);
        // Four standard deviations of the number of resumed handshakes, if half of them are chosen at random. On a busy
        // machine, there are only a few handshakes.
        let chance = 4.0 * 0.5 * all.sqrt();
        let expected = match resume {
            "on" => can..=all,
            "off" => 0.0..=0.0,
            _ => 0.5 * can - chance..=0.5 * all + chance,
        };
        assert!(expected.contains(&(resumed as f64)), "{version} {resume}: {resumed} of {handshakes}");
    }
}

#[test]
fn each_problem_of_a_tls_server_gives_one_sentence() {
    let Some(server) = Tls::start("https refusals", "other", "") else { return };
    let (url, ca) = (server.url(), server.certificates.file("ca.pem"));
    let said = refused(binary!(), &["load", &url, "--cacert", &ca]);
    assert!(said.contains("is not for \"127.0.0.1\" but for") && said.contains("other.example"), "{said}");
    let said = refused(binary!(), &["load", &url]);
    assert!(said.contains("--cacert FILE") && said.contains("--insecure"), "{said}");
    let plain = format!("http://127.0.0.1:{}/", server.port);
    assert!(refused(binary!(), &["load", &plain]).contains("HTTPS port"));
    let tls = format!("https://{}/file", server.nginx.addr);
    assert!(refused(binary!(), &["load", &tls, "--insecure"]).contains("http:// instead of https://"));
    assert!(refused(binary!(), &["load", &plain, "--insecure"]).contains("write https://"));
    let run = server.load(&["--insecure"]);
    assert!(run["notes"].to_string().contains("certificate is not verified"), "{}", run["notes"]);
    let output = loadline(binary!(), &["load", &url, "--insecure", "--duration", "200ms", "--at-rest", "0s"]);
    let first: String = String::from_utf8_lossy(&output.stdout).lines().take(4).collect();
    assert!(first.contains("--insecure"), "{first}");
}

#[test]
fn a_client_certificate_is_sent_if_the_server_requests_it() {
    let _alone = alone();
    let directives =
        |server: &Certificates| format!("ssl_client_certificate {}; ssl_verify_client on;", server.file("ca.pem"));
    let Some(certificates) = Certificates::make("client certificate") else { return };
    assert!(Command::new("chmod").arg("-R").arg("a+rX").arg(certificates.dir.path()).status().unwrap().success());
    // As is common, different authorities sign the certificates of the client and of the server.
    let Some(server) = Tls::start("client certificate", "server", &directives(&certificates)) else { return };
    let (cert, key) = (certificates.file("client.pem"), certificates.file("client.key"));
    let run = server.load(&["--cert", &cert, "--key", &key]);
    assert_eq!(server.logged(total(&run, "completed")).len() as u64, total(&run, "completed"));
    let said = refused(binary!(), &["load", &server.url(), "--cacert", &server.certificates.file("ca.pem")]);
    assert!(said.contains("400") && said.contains("certificate"), "{said}");
}

#[test]
fn our_server_speaks_tls_in_every_model_with_curl_and_loadline() {
    let _alone = alone();
    let Some(certificates) = Certificates::make("serve --tls") else { return };
    let (cert, key, ca) =
        (certificates.file("server.pem"), certificates.file("server.key"), certificates.file("ca.pem"));
    for model in ["epoll", "uring", "poll", "blocking", "workers"] {
        let server = serve(
            Path::new(binary!()),
            0,
            &["--model", model, "--cert", &cert, "--key", &key, "--body-bytes", "100KiB"],
        );
        let url = format!("https://{}/", server.addr);
        if program("curl").is_some() {
            let output = Command::new("curl").args(["-sS", "--cacert", &ca, &url]).output().unwrap();
            assert_eq!(output.stdout.len(), 100 * 1024, "{model}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let args = ["load", &url, "--cacert", &ca, "--connections", "4", "--duration", "500ms", "--warmup", "0s"];
        let run = json(binary!(), &[&args[..], &["--at-rest", "0s"]].concat());
        assert_eq!(run["trials"][0]["errors"], value!({}), "{model}");
        let (completed, bytes) = (total(&run, "completed"), total(&run, "bytes_received"));
        assert!(completed > 10 && bytes > completed * 100 * 1024, "{model}: {completed} {bytes}");
    }
}
