//! `--metrics ADDR:PORT`: serves the figures of the current trial as OpenMetrics over HTTP, for dashboards. Each client
//! has its own thread and must finish within ten seconds, so a slow client delays neither the run nor other clients.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use run::{Rates, Trial};
use sys::each_client::each_client;

use crate::live::{Model, Shared};

/// Maximum time from the connect of a client to the end of its answer: the time after which Prometheus gives up by
/// default (`scrape_timeout`). On a machine with busy CPUs, a client may need seconds to send its request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum length of a request's head (request line and headers), bytes.
const HEAD: usize = 8192;
/// Maximum number of simultaneous clients. loadline disconnects any further client at once.
const MAX_CLIENTS: usize = 64;
/// Content type of the answer.
const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Parses the address to listen on: an address with a port, or a port of the loopback interface (`9100`, `:9100`).
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text).parse::<u16>().ok();
    let addr = port.map(|port| SocketAddr::from(([127, 0, 0, 1], port))).or_else(|| text.parse().ok());
    addr.ok_or_else(|| format!("{text:?} is not an address; write 9100 (loopback) or 192.0.2.1:9100"))
}

/// Listens at an address, and answers requests until the program ends.
pub(crate) fn serve(at: SocketAddr, shared: &Shared) -> anyhow::Result<()> {
    let fail =
        |why| anyhow::anyhow!("cannot serve --metrics at {at}: {why}; use an address of this machine and a free port");
    let listener = TcpListener::bind(at).map_err(fail)?;
    let at = listener.local_addr().map_err(fail)?;
    crate::output::tell(&format!("metrics: http://{at}/metrics"));
    let shared = shared.clone();
    let answer = move |client| answer(client, &shared);
    let body = move || each_client(&listener, "loadline-metrics", MAX_CLIENTS, answer);
    std::thread::Builder::new().name("loadline-metrics".into()).spawn(body).map_err(fail)?;
    Ok(())
}

/// Answers one HTTP request of a client that reads the metrics. Ignores a client that disconnects or is too slow.
fn answer(mut client: TcpStream, shared: &Shared) {
    let until = Instant::now() + PATIENCE;
    let Some(head) = head(&mut client, until) else { return };
    let (status, kind, body) = match path(&head) {
        _ if !is_own_host(&head) => (
            "421 Misdirected Request",
            "text/plain",
            "ask by localhost, an IP address or the name of this host\n".into(),
        ),
        Some("/metrics" | "/") => ("200 OK", KIND, now(&shared.lock().clone())),
        Some(_) => ("404 Not Found", "text/plain", "the figures are at /metrics\n".into()),
        None => ("405 Method Not Allowed", "text/plain", "use GET\n".into()),
    };
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let mut rest = text.as_bytes();
    while let Some(left) = left(until).filter(|_| !rest.is_empty()) {
        let _ = client.set_write_timeout(Some(left));
        match client.write(rest) {
            Ok(n) if n > 0 => rest = &rest[n..],
            _ => return,
        }
    }
}

/// Returns the time until `until`; `None` if no time is left.
fn left(until: Instant) -> Option<Duration> {
    until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
}

/// Reads the head of a request. Returns `None` if the head is too long or does not arrive in time.
fn head(client: &mut TcpStream, until: Instant) -> Option<Vec<u8>> {
    let (mut head, mut piece) = (Vec::new(), [0; 1024]);
    while let Some(left) = left(until).filter(|_| head.len() < HEAD) {
        client.set_read_timeout(Some(left)).ok()?;
        let n = client.read(&mut piece).ok().filter(|n| *n > 0)?;
        head.extend_from_slice(&piece[..n]);
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            return Some(head);
        }
    }
    None
}

/// Returns the path of a GET request, without its query.
fn path(head: &[u8]) -> Option<&str> {
    let line = head.split(|b| *b == b'\r').next().and_then(|line| std::str::from_utf8(line).ok())?;
    let path = line.strip_prefix("GET ")?.split(' ').next()?;
    path.split('?').next()
}

/// Returns true if the header `Host` of a request names the host on which loadline runs. Otherwise, a web page could
/// read the figures through a host name that resolves to this host (DNS rebinding).
fn is_own_host(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let named =
        text.lines().find_map(|line| line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("host")));
    // A request of HTTP/1.0 may have no `Host`. loadline accepts such a request, because no browser uses HTTP/1.0.
    named.is_none_or(|(_, host)| is_own_name(host.trim()))
}

fn is_own_name(host: &str) -> bool {
    if host.parse::<IpAddr>().is_ok() {
        return true;
    }
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name).trim_end_matches('.').to_ascii_lowercase();
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_ascii_lowercase();
    let is_address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
    is_address || name == "localhost" || name.ends_with(".localhost") || !own.is_empty() && name == own
}

/// Returns the figures of the current trial in the OpenMetrics format.
fn now(model: &Model) -> String {
    let (tick, detail) = (&model.now.tick, &model.now.detail);
    let moment = model.moment.as_ref();
    let latency_us = detail.summary();
    let mut trial = Trial { label: model.step.0.clone(), latency_us, ..Trial::default() };
    (trial.tally.sent, trial.tally.completed) = (tick.sent, tick.completed);
    trial.tally.errors = detail.errors.clone();
    trial.rates = Rates {
        completed_rate: moment.map_or(f64::NAN, |m| m.completed),
        concurrency: tick.in_flight as f64,
        ..Rates::default()
    };
    let sides = model.sides.iter().map(|side| report::SideNow {
        role: side.role,
        cpu: side.cpu.map(|cpu| {
            let kinds = [("user", cpu.user), ("system", cpu.system), ("interrupts", cpu.interrupts)];
            kinds.into_iter().chain([("stolen", cpu.stolen), ("iowait", cpu.waiting)]).collect()
        }),
        processes_cpus: side.uses.cpus,
        memory_bytes: side.uses.memory,
        descriptors: side.uses.descriptors,
    });
    report::openmetrics_now(model.trials + 1, &trial, &sides.collect::<Vec<_>>(), model.watches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_port_means_the_loopback_interface() {
        assert_eq!(address("9100").unwrap().to_string(), "127.0.0.1:9100");
        assert_eq!(address(":0").unwrap().to_string(), "127.0.0.1:0");
        assert_eq!(address("0.0.0.0:9100").unwrap().to_string(), "0.0.0.0:9100");
        assert!(address("everywhere").unwrap_err().contains("9100 (loopback)"));
    }

    #[test]
    fn only_names_of_this_host_are_answered() {
        let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        for host in ["127.0.0.1:9100", "[::1]:9100", "::1", "localhost", "LocalHost.:9100", "a.localhost", own.trim()] {
            assert!(is_own_host(format!("GET / HTTP/1.1\r\nhOst: {host}\r\n\r\n").as_bytes()), "{host}");
        }
        for host in ["evil.example", "evil.example:9100", "127.0.0.1.evil.example", "localhost.evil.example", ""] {
            assert!(!is_own_host(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()), "{host}");
        }
        assert!(is_own_host(b"GET / HTTP/1.0\r\n\r\n"));
    }

    /// An earlier version of loadline disconnected a client that paused for 200 ms, as on a machine with busy CPUs.
    #[test]
    fn a_client_that_pauses_within_its_request_is_answered() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let asked = std::thread::spawn(move || head(&mut { server }, Instant::now() + PATIENCE));
        for part in ["GET /metrics HTTP/1.1\r\n", "Host: localhost\r\n\r\n"] {
            std::thread::sleep(Duration::from_millis(300));
            client.write_all(part.as_bytes()).unwrap();
        }
        assert_eq!(asked.join().unwrap().as_deref().and_then(path), Some("/metrics"));
    }

    #[test]
    fn only_a_get_has_a_path() {
        assert_eq!(path(b"GET /metrics?x=1 HTTP/1.1\r\n\r\n"), Some("/metrics"));
        assert_eq!((path(b"POST / HTTP/1.1\r\n\r\n"), path(b"\xff\r\n\r\n"), path(b"")), (None, None, None));
    }
}
