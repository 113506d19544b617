//! One request before any load: does the target speak the protocol at all? A precise sentence now is worth more than
//! a million errors later.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use proto::{Client, Fault, Outcome, Request, Requester, WithClient};
use run::{Address, LoadPlan, Tally};

use crate::stream::Stream;

/// A response longer than this is taken for one that never ends.
const MOST_BYTES: u64 = 1 << 30;

/// Bytes of an answer that are kept, to show what it says.
const KEPT: usize = 8 * 1024;
/// Bytes of a body that are shown.
const BODY_SHOWN: usize = 200;

/// What the first request showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct First {
    /// From connect() to the last byte, microseconds.
    pub took_us: f64,
    /// Bytes of the response.
    pub bytes: u64,
    /// Of them, those of the answer as its protocol counts them.
    answer_bytes: u64,
    /// The status line, where the protocol has one.
    pub status_line: Option<String>,
    /// Its status, as sessions tell it; 0 where the protocol has none.
    pub status: u16,
    /// Whether the status is one that counts as a failure.
    pub unexpected: bool,
    /// What the session says of that.
    pub said: Option<String>,
    /// Where a redirect leads.
    pub redirect: Option<String>,
    /// The first [`BODY_SHOWN`] bytes of the body, with what cannot be printed escaped.
    pub body: String,
    /// Whether a response came; by design a protocol may have none.
    pub answered: bool,
    /// Handshakes before it.
    pub handshakes: u64,
}

impl First {
    /// What an answer that counts as a failure said, and what to do about it.
    pub fn refusal(&self) -> Option<String> {
        if let Some(said) = self.said.as_ref().filter(|_| self.unexpected) {
            return Some(said.clone());
        }
        let status = self.status_line.as_ref().filter(|_| self.unexpected)?;
        let code = status.split_whitespace().nth(1).unwrap_or("CODE");
        let body = if self.body.is_empty() { "no body".into() } else { format!("the body {:?}", self.body) };
        Some(format!(
            "it was answered {status:?} with {body}; correct the request (path, --method, --header, --body), or give \
             --expect-status {code} if this is the right answer"
        ))
    }

    /// The exchange in counts, so that a run's counts equal the server's own log to the last request.
    pub fn tally(&self) -> Tally {
        let answered = u64::from(self.answered);
        let class = Some(run::STATUS_CLASSES[run::status_class(self.status)]).filter(|_| self.status > 0);
        Tally {
            attempted: 1,
            connected: 1,
            due: 1,
            sent: 1,
            completed: answered,
            unexpected_status: u64::from(self.unexpected),
            status: class.map(|class| (class.to_owned(), answered)).into_iter().collect(),
            bytes_received: self.bytes,
            answer_bytes: self.answer_bytes,
            handshakes: self.handshakes,
            ..Tally::default()
        }
    }
}

/// Makes one exchange; the error is a sentence with what to do.
pub fn first_request(addr: &Address, plan: &LoadPlan) -> Result<First, String> {
    let revealed = plan.revealed();
    let (protocol, requests) = (&revealed.protocol, revealed.requests.as_ref());
    let unprepared = |e: proto::ProtoError| plan.secrets.scrub(&e.to_string());
    // A file that cannot be read is told before anything is connected.
    proto::with_client(protocol, requests, plan.tls.as_ref(), Prepared).map_err(unprepared)?;
    let begin = Instant::now();
    let connect = Duration::from_secs_f64(plan.connect_timeout_s.clamp(0.001, 3600.0));
    let stream = Stream::connect(addr, connect).map_err(|e| refused(addr, &e, plan.connect_timeout_s))?;
    let patience = Duration::from_secs_f64(plan.timeout_s.clamp(0.001, 3600.0));
    let answered = proto::spec(&plan.protocol).answers;
    let mut exchange = Exchange {
        stream,
        answered,
        begin,
        deadline: begin + patience,
        seen: Vec::new(),
        bytes: 0,
        answer_bytes: 0,
        spoke: false,
        handshakes: 0,
        status: 0,
        said: None,
    };
    let done = proto::with_client(protocol, requests, plan.tls.as_ref(), &mut exchange).map_err(unprepared)?;
    let unexpected = done.map_err(|e| plan.secrets.scrub(&exchange.explain(&e, plan)))?;
    let scrub = |text: String| plan.secrets.scrub(&text);
    let http = matches!(plan.protocol, run::Protocol::Http1(_)) && exchange.seen.starts_with(b"HTTP/");
    let status_line = http.then(|| scrub(exchange.first_line()));
    let redirect = status_line.as_ref().and_then(|_| exchange.redirect());
    let redirect = redirect.map(|to| plan.secrets.clone().keep_url(&scrub(to)));
    let body = scrub(exchange.body());
    Ok(First {
        took_us: begin.elapsed().as_secs_f64() * 1e6,
        bytes: exchange.bytes,
        answer_bytes: exchange.answer_bytes,
        status_line,
        status: exchange.status,
        unexpected,
        said: exchange.said.take().map(|said| plan.secrets.scrub(&said)),
        redirect,
        body,
        answered,
        handshakes: exchange.handshakes,
    })
}

/// Longest wait for the one request that asks whether a server still lives, seconds.
const ALIVE_WITHIN_S: f64 = 3.0;

/// One request after a load that no answer came to: what it counts, or why nothing came.
pub(crate) fn still_answers(addr: &Address, plan: &LoadPlan) -> Result<Tally, String> {
    let mut plan = plan.clone();
    plan.timeout_s = plan.timeout_s.min(ALIVE_WITHIN_S);
    plan.connect_timeout_s = plan.connect_timeout_s.min(ALIVE_WITHIN_S);
    first_request(addr, &plan).map(|first| first.tally())
}

/// Whether connects are neither taken nor refused within the plan's time for one: an accept queue that is full does that.
pub fn takes_none(addr: &Address, plan: &LoadPlan) -> bool {
    let patience = Duration::from_secs_f64(plan.connect_timeout_s.clamp(0.001, 3600.0));
    let tried = Stream::connect(addr, patience);
    tried.is_err_and(|e| matches!(e.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock))
}

fn refused(addr: &Address, error: &std::io::Error, timeout_s: f64) -> String {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused if addr.inet().is_none() => {
            format!("nothing listens on {addr} ({error}); start the server or correct the path")
        }
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
    /// The session has more to say than the fault.
    Explained(String),
    Silent,
    Endless,
    Io(std::io::Error),
}

struct Exchange {
    stream: Stream,
    /// Where nothing comes back by design, that it connects is all there is to see.
    answered: bool,
    begin: Instant,
    deadline: Instant,
    /// The first bytes of the answer, to tell a foreign protocol by.
    seen: Vec<u8>,
    bytes: u64,
    answer_bytes: u64,
    /// A request was begun: what handshake there was is over.
    spoke: bool,
    handshakes: u64,
    /// The status of the answer, and what the session says of it.
    status: u16,
    said: Option<String>,
}

/// Asks only whether a client can be prepared.
struct Prepared;

impl WithClient for Prepared {
    type Out = ();

    fn with<C: Client>(self, _: C) {}
}

impl WithClient for &mut Exchange {
    type Out = Result<bool, Broken>;

    fn with<C: Client>(self, client: C) -> Self::Out {
        if self.answered { self.run(client.session()) } else { Ok(false) }
    }
}

impl Exchange {
    /// Whether the status was unexpected.
    fn run(&mut self, mut session: impl Requester) -> Result<bool, Broken> {
        self.handshakes = u64::from(!session.ready());
        let outcome = self.talk(&mut session);
        if let Some(plain) = session.plain() {
            self.seen = plain.to_vec();
        }
        match (outcome, session.explain()) {
            (Err(Broken::Fault(_)), Some(why)) => Err(Broken::Explained(why)),
            (outcome, said) => {
                self.said = said;
                outcome
            }
        }
    }

    fn talk(&mut self, session: &mut impl Requester) -> Result<bool, Broken> {
        let mut buffer = vec![0; 64 * 1024];
        let (mut begun, mut outcome) = (false, None);
        loop {
            if !begun && session.ready() {
                session.begin(Request::default());
                (begun, self.spoke) = (true, true);
            }
            self.send(session, &mut buffer)?;
            let n = self.read(&mut buffer)?;
            self.bytes += n as u64;
            let keep = buffer[..n].iter().take(KEPT.saturating_sub(self.seen.len()));
            self.seen.extend(keep);
            let mut status = 0;
            let mut done = |done: proto::Done| {
                (status, self.answer_bytes) = (done.status, self.answer_bytes + done.bytes);
                outcome = Some(done.outcome);
            };
            let heard = match n {
                0 => session.peer_closed(&mut done),
                n => session.receive(&buffer[..n], &mut done),
            };
            heard.map_err(Broken::Fault)?;
            self.status = status;
            match outcome {
                Some(Outcome::Failed(fault)) => return Err(Broken::Fault(fault)),
                Some(outcome) => return Ok(outcome == Outcome::Unexpected),
                None => {}
            }
            if n == 0 {
                return Err(Broken::Fault(Fault::Short));
            }
            if self.bytes > MOST_BYTES {
                return Err(Broken::Endless);
            }
        }
    }

    fn send(&mut self, session: &mut impl Requester, buffer: &mut [u8]) -> Result<(), Broken> {
        self.stream.patience(self.left()?);
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
            self.stream.patience(self.left()?);
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
        printable(line, 80)
    }

    /// Head and body of an HTTP answer, as far as they were kept.
    fn halves(&self) -> (&[u8], &[u8]) {
        let end = self.seen.windows(4).position(|w| w == b"\r\n\r\n").map_or(self.seen.len(), |at| at + 4);
        self.seen.split_at(end)
    }

    /// The target of a redirect.
    fn redirect(&self) -> Option<String> {
        let head = String::from_utf8_lossy(self.halves().0).into_owned();
        let mut lines = head.lines();
        let redirects = lines.next()?.split_whitespace().nth(1)?.starts_with('3');
        let mut fields = lines.filter_map(|line| line.split_once(':'));
        let (_, to) = fields.find(|(name, _)| name.trim().eq_ignore_ascii_case("location"))?;
        redirects.then(|| printable(to.trim().as_bytes(), BODY_SHOWN))
    }

    /// The beginning of the body. A chunked one begins with a length, which is left out.
    fn body(&self) -> String {
        let (head, body) = self.halves();
        let chunked = String::from_utf8_lossy(head).to_ascii_lowercase().contains("transfer-encoding: chunked");
        let line = body.iter().position(|b| *b == b'\n').filter(|_| chunked).map_or(0, |at| at + 1);
        printable(&body[line..], BODY_SHOWN)
    }

    fn explain(&self, broken: &Broken, plan: &LoadPlan) -> String {
        let protocol = plan.protocol.name();
        let after = self.begin.elapsed().as_secs_f64();
        match broken {
            Broken::Silent if plan.tls.is_some() && !self.spoke => format!(
                "it accepted the connection and answered no TLS handshake for {after:.1} s; does it speak TLS on this port \
                 (http:// is the plain scheme), and is it alive? (--timeout sets how long to wait)"
            ),
            Broken::Silent => format!(
                "it accepted the connection and said nothing for {after:.1} s; does it speak {protocol}, and is it alive? \
                 (--timeout sets how long to wait)"
            ),
            Broken::Endless => format!(
                "its response had not ended after {} bytes and {after:.1} s; only responses that end can be counted \
                 (--timeout sets how long to wait)",
                self.bytes
            ),
            Broken::Explained(why) => why.clone(),
            Broken::Fault(Fault::Short) if plan.tls.is_some() && !self.spoke => format!(
                "it closed the connection in the TLS handshake after {} bytes; does it speak TLS on this port (http:// is \
                 the plain scheme), and TLS 1.2 or 1.3?",
                self.bytes
            ),
            Broken::Fault(_) if plan.tls.is_none() && foreign(&self.seen) == Some("TLS") => {
                let within =
                    proto::spec(&plan.protocol).schemes.iter().find(|scheme| scheme.tls && scheme.name != "h2");
                let scheme = within.map_or("https", |scheme| scheme.name);
                format!("it speaks TLS, not plain {protocol}; write the target with {scheme}://")
            }
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
                Some("HTTP/2") if proto::spec(&plan.protocol).alpn == "h2" => {
                    format!("{fault}: is this a {protocol} server?")
                }
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

/// The beginning of what a stranger sent, in one line: dots for what is no printable character.
fn printable(bytes: &[u8], most: usize) -> String {
    run::visible(String::from_utf8_lossy(&bytes[..bytes.len().min(most)]).trim()).into_owned()
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
    use std::net::{TcpListener, TcpStream};

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
        let result = first_request(&addr.into(), &LoadPlan { timeout_s: 0.3, ..LoadPlan::default() });
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
    fn the_body_and_where_a_redirect_leads_are_kept() {
        let first = against(b"HTTP/1.1 422 Unprocessable\r\nContent-Length: 8\r\n\r\n{\"a\":\x071}", false).unwrap();
        assert_eq!((first.body.as_str(), first.redirect), ("{\"a\": 1}", None));
        let to = b"HTTP/1.1 301 Moved\r\nlocation: /new?token=abc\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(against(to, false).unwrap().redirect.as_deref(), Some("/new?token=<redacted:ba7816bf>"));
        let chunked = b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
        assert!(against(chunked, false).unwrap().body.starts_with("hi"));
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
        let error = first_request(&addr.into(), &LoadPlan::default()).unwrap_err();
        assert!(error.contains(&addr.to_string()) && error.contains("start the server"), "{error}");
    }

    #[test]
    fn a_unix_socket_answers_or_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let at = Address::Unix(dir.path().join("s"));
        let error = first_request(&at, &LoadPlan::default()).unwrap_err();
        assert!(error.contains("/s ") && error.contains("correct the path"), "{error}");
        let listener = std::os::unix::net::UnixListener::bind(dir.path().join("s")).unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        });
        assert_eq!(first_request(&at, &LoadPlan::default()).unwrap().bytes, 38);
        server.join().unwrap();
    }

    #[test]
    fn a_full_accept_queue_is_told_from_a_refusal() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        sys::socket::listen(&listener, 0).unwrap();
        let addr = listener.local_addr().unwrap();
        let plan = LoadPlan { connect_timeout_s: 0.2, ..LoadPlan::default() };
        let _one = TcpStream::connect(addr).unwrap();
        assert!(takes_none(&addr.into(), &plan));
        drop(listener);
        assert!(!takes_none(&addr.into(), &plan));
    }
}
