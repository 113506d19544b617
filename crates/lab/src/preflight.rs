//! One request before any load: does the target speak the protocol at all? A precise sentence now is worth more than
//! a million errors later.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use proto::{Client, ClientKind, Fault, Session};
use run::{LoadPlan, Tally};

/// A response longer than this is taken for one that never ends.
const MOST_BYTES: u64 = 1 << 30;

/// What the first request showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct First {
    /// From connect() to the last byte, microseconds.
    pub took_us: f64,
    /// Bytes of the response.
    pub bytes: u64,
    /// The status line, where the protocol has one.
    pub status_line: Option<String>,
    /// Whether the status is one that counts as a failure.
    pub unexpected: bool,
    /// Whether a response came; by design a protocol may have none.
    pub answered: bool,
}

impl First {
    /// The exchange in counts, so that a run's counts equal the server's own log to the last request.
    pub fn tally(&self) -> Tally {
        let answered = u64::from(self.answered);
        let class = self.status_line.as_ref().and_then(|line| line.split_whitespace().nth(1)?.chars().next());
        Tally {
            attempted: 1,
            connected: 1,
            due: 1,
            sent: 1,
            completed: answered,
            unexpected_status: u64::from(self.unexpected),
            status: class.map(|c| (format!("{c}xx"), answered)).into_iter().collect(),
            bytes_received: self.bytes,
            ..Tally::default()
        }
    }
}

/// Makes one exchange; the error is a sentence with what to do.
pub fn first_request(addr: SocketAddr, plan: &LoadPlan) -> Result<First, String> {
    let client = proto::client(&plan.protocol).map_err(|e| e.to_string())?;
    let begin = Instant::now();
    let connect = Duration::from_secs_f64(plan.connect_timeout_s.clamp(0.001, 3600.0));
    let stream = TcpStream::connect_timeout(&addr, connect).map_err(|e| refused(addr, &e, plan.connect_timeout_s))?;
    let patience = Duration::from_secs_f64(plan.timeout_s.clamp(0.001, 3600.0));
    let mut exchange = Exchange { stream, begin, deadline: begin + patience, seen: Vec::new(), bytes: 0 };
    let answered = !matches!(client, ClientKind::Discard(_));
    let done = match client {
        ClientKind::Http1(c) => exchange.run(c.session()),
        ClientKind::Echo(c) => exchange.run(c.session()),
        ClientKind::Raw(c) => exchange.run(c.session()),
        ClientKind::Source(c) => exchange.run(c.session()),
        ClientKind::Record(c) => exchange.run(c.session()),
        // Nothing comes back by design; that it connects is all there is to see.
        ClientKind::Discard(_) => Ok(false),
    };
    let unexpected = done.map_err(|e| exchange.explain(&e, plan))?;
    let status_line = exchange.seen.starts_with(b"HTTP/").then(|| exchange.first_line());
    Ok(First { took_us: begin.elapsed().as_secs_f64() * 1e6, bytes: exchange.bytes, status_line, unexpected, answered })
}

/// Whether connects are neither taken nor refused within the plan's time for one: an accept queue that is full does that.
pub fn takes_none(addr: SocketAddr, plan: &LoadPlan) -> bool {
    let patience = Duration::from_secs_f64(plan.connect_timeout_s.clamp(0.001, 3600.0));
    let tried = TcpStream::connect_timeout(&addr, patience);
    tried.is_err_and(|e| matches!(e.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock))
}

fn refused(addr: SocketAddr, error: &std::io::Error, timeout_s: f64) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => {
            format!("nothing listens on {addr} (connection refused); start the server or correct the port")
        }
        ErrorKind::TimedOut | ErrorKind::WouldBlock => format!(
            "no connection to {addr} within {timeout_s} s; the server or a firewall drops connects, or its accept queue is full"
        ),
        _ => format!("connecting to {addr} failed: {error}; check address and route"),
    }
}

/// Why an exchange was not completed.
enum Broken {
    Fault(Fault),
    Silent,
    Endless,
    Io(std::io::Error),
}

struct Exchange {
    stream: TcpStream,
    begin: Instant,
    deadline: Instant,
    /// The first bytes of the answer, to tell a foreign protocol by.
    seen: Vec<u8>,
    bytes: u64,
}

impl Exchange {
    /// Whether the status was unexpected.
    fn run(&mut self, mut session: impl Session) -> Result<bool, Broken> {
        let mut buffer = vec![0; 64 * 1024];
        session.begin();
        loop {
            self.send(&mut session, &mut buffer)?;
            let n = self.read(&mut buffer)?;
            self.bytes += n as u64;
            let keep = buffer[..n].iter().take(200_usize.saturating_sub(self.seen.len()));
            self.seen.extend(keep);
            let progress = if n == 0 { session.peer_closed() } else { session.receive(&buffer[..n]) };
            let progress = progress.map_err(Broken::Fault)?;
            if progress.completed > 0 {
                return Ok(progress.unexpected > 0);
            }
            if n == 0 {
                return Err(Broken::Fault(Fault::Short));
            }
            if self.bytes > MOST_BYTES {
                return Err(Broken::Endless);
            }
        }
    }

    fn send(&mut self, session: &mut impl Session, buffer: &mut [u8]) -> Result<(), Broken> {
        let _ = self.stream.set_write_timeout(Some(self.left()?));
        while session.wants_transmit() {
            let n = session.transmit(buffer);
            if n == 0 {
                break;
            }
            // A server may answer before it has read everything; what it says is then more telling than EPIPE.
            if self.stream.write_all(&buffer[..n]).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Broken> {
        loop {
            let _ = self.stream.set_read_timeout(Some(self.left()?));
            match self.stream.read(buffer) {
                Ok(n) => return Ok(n),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
                Err(e) => return Err(Broken::Io(e)),
            }
        }
    }

    fn left(&self) -> Result<Duration, Broken> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            Ok(left)
        } else if self.bytes == 0 {
            Err(Broken::Silent)
        } else {
            Err(Broken::Endless)
        }
    }

    fn first_line(&self) -> String {
        let line = self.seen.split(|b| *b == b'\r' || *b == b'\n').next().unwrap_or_default();
        String::from_utf8_lossy(line).chars().map(|c| if c.is_control() { '.' } else { c }).take(80).collect()
    }

    fn explain(&self, broken: &Broken, plan: &LoadPlan) -> String {
        let protocol = plan.protocol.name();
        let after = self.begin.elapsed().as_secs_f64();
        match broken {
            Broken::Silent => format!(
                "it accepted the connection and said nothing for {after:.1} s; does it speak {protocol}, and is it alive? \
                 (--timeout sets how long to wait)"
            ),
            Broken::Endless => format!(
                "its response had not ended after {} bytes and {after:.1} s; only responses that end can be counted \
                 (--timeout sets how long to wait)",
                self.bytes
            ),
            Broken::Fault(Fault::Short) if self.bytes == 0 => {
                format!("it closed the connection without a byte; does it speak {protocol} (and not TLS) on this port?")
            }
            Broken::Fault(Fault::Short) => {
                format!("it closed the connection after {} bytes, in the middle of a response", self.bytes)
            }
            Broken::Fault(Fault::Limit(what)) => {
                format!("its response exceeds a limit of the client: {what}; is this the right server?")
            }
            Broken::Fault(fault) => match foreign(&self.seen) {
                Some(name) => format!("it speaks {name}, not {protocol}; correct the port or the scheme"),
                None => format!("{fault}; its answer begins {:?}: is this a {protocol} server?", self.first_line()),
            },
            Broken::Io(e) if e.kind() == ErrorKind::ConnectionReset && self.bytes == 0 => {
                format!("it reset the connection without an answer; does it speak {protocol} on this port?")
            }
            Broken::Io(e) => format!("the connection broke after {} bytes: {e}", self.bytes),
        }
    }
}

/// Greetings by which other protocols are known.
const FOREIGN: &[(&str, &[u8])] = &[
    ("SSH", b"SSH-"),
    ("TLS", b"\x15\x03"),
    ("TLS", b"\x16\x03"),
    ("SMTP or FTP", b"220"),
    ("Redis", b"-ERR"),
    ("HTTP/2", b"\x00\x00\x12\x04"),
    ("HTTP/2", b"\x00\x00\x06\x04"),
    ("HTTP/2", b"\x00\x00\x0c\x04"),
    ("HTTP/2", b"\x00\x00\x00\x04"),
    ("IMAP", b"* OK"),
    ("POP3", b"+OK"),
    ("VNC", b"RFB "),
];

fn foreign(seen: &[u8]) -> Option<&'static str> {
    FOREIGN.iter().find(|(_, greeting)| seen.starts_with(greeting)).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A server that reads a request and answers with `answer`, then closes or stays silent.
    fn against(answer: &[u8], close: bool) -> Result<First, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let answer = answer.to_vec();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(&answer);
            if !close {
                std::thread::sleep(Duration::from_millis(600));
            }
        });
        let result = first_request(addr, &LoadPlan { timeout_s: 0.3, ..LoadPlan::default() });
        server.join().unwrap();
        result
    }

    #[test]
    fn a_good_answer_is_taken() {
        let first = against(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false).unwrap();
        assert_eq!((first.status_line.as_deref(), first.unexpected), (Some("HTTP/1.1 200 OK"), false));
        let empty = against(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false).unwrap();
        assert!(!empty.unexpected);
        assert!(against(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", false).unwrap().unexpected);
    }

    #[test]
    fn every_wrong_answer_has_its_own_sentence() {
        let endless = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhi";
        let mut huge = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        huge.resize(1 << 20, b'x');
        for (answer, close, words) in [
            (&b""[..], false, "said nothing"),
            (b"", true, "without"),
            (endless, false, "had not ended"),
            (endless, true, "in the middle of a response"),
            (b"SSH-2.0-OpenSSH_9.6\r\n", false, "it speaks SSH"),
            (b"\x15\x03\x01\x00\x02\x02\x46", false, "it speaks TLS"),
            (b"what?\r\n\r\n", false, "is this a http1 server"),
            (&huge, false, "exceeds a limit"),
        ] {
            let error = against(answer, close).unwrap_err();
            assert!(error.contains(words), "{:?}: {error}", String::from_utf8_lossy(&answer[..answer.len().min(20)]));
        }
    }

    #[test]
    fn a_refused_port_is_named() {
        let addr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = first_request(addr, &LoadPlan::default()).unwrap_err();
        assert!(error.contains(&addr.to_string()) && error.contains("start the server"), "{error}");
    }

    #[test]
    fn a_full_accept_queue_is_told_from_a_refusal() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        sys::socket::listen(&listener, 0).unwrap();
        let addr = listener.local_addr().unwrap();
        let plan = LoadPlan { connect_timeout_s: 0.2, ..LoadPlan::default() };
        let _one = TcpStream::connect(addr).unwrap();
        assert!(takes_none(addr, &plan));
        drop(listener);
        assert!(!takes_none(addr, &plan));
    }
}
