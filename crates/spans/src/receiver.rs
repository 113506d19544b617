//! Listens on loopback for spans during a run, with one thread per sender.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use run::SpanProfile;
use sys::each_client::each_client;

use crate::http::{Encoding, Ending, Export, Refusal, read, refused, taken};
use crate::store::Store;
use crate::{decode, profile};

/// Maximum number of senders that are connected at the same time. The receiver disconnects further senders at once.
const MAX_SENDERS: usize = 32;
/// Maximum time for which a connection may be idle.
const IDLE: Duration = Duration::from_secs(60);
/// After a load, if no new span arrives for `QUIET`, all spans of the load count as received.
const QUIET: Duration = Duration::from_millis(300);
/// Interval at which the receiver checks whether late spans have arrived.
const CHECK_EVERY: Duration = Duration::from_millis(20);

/// Reason why spans cannot be received.
#[derive(Debug, thiserror::Error)]
pub enum SpansError {
    /// The address is not on loopback.
    #[error("{0} is not an address of loopback, and everybody could send spans to it; write 127.0.0.1:4318")]
    NotLoopback(SocketAddr),
    /// The receiver cannot listen at the address.
    #[error("cannot receive spans at {addr}: {why}; use a free port")]
    Listen {
        /// Address at which the receiver could not listen.
        addr: SocketAddr,
        /// Error that the operating system reported.
        why: std::io::Error,
    },
}

/// Receiver of spans. The receiver's listening thread runs until the program ends.
#[derive(Debug)]
pub struct Receiver {
    store: Arc<Mutex<Store>>,
    addr: SocketAddr,
}

impl Receiver {
    /// Starts to listen at a loopback address.
    pub fn start(addr: SocketAddr) -> Result<Self, SpansError> {
        if !addr.ip().is_loopback() {
            return Err(SpansError::NotLoopback(addr));
        }
        let fail = |why| SpansError::Listen { addr, why };
        let listener = TcpListener::bind(addr).map_err(fail)?;
        let addr = listener.local_addr().map_err(fail)?;
        let store = Arc::new(Mutex::new(Store::default()));
        let shared = Arc::clone(&store);
        let serve = move |sender| serve(sender, &shared);
        let body = move || each_client(&listener, "loadline-spans", MAX_SENDERS, serve);
        std::thread::Builder::new().name("loadline-spans".into()).spawn(body).map_err(fail)?;
        Ok(Self { store, addr })
    }

    /// Returns the address that senders use.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Waits for spans that senders have not sent yet. The wait ends after `patience`, or as soon as `stop` returns
    /// true. The wait may also end earlier. A span that began at `until_ns` (nanoseconds since 1970) or later must have
    /// arrived, and then no further span for the time `QUIET`.
    pub fn settle(&self, until_ns: u64, patience: Duration, stop: &dyn Fn() -> bool) {
        let end = Instant::now() + patience;
        while Instant::now() < end && !stop() {
            let (newest_ns, arrived) = {
                let store = lock(&self.store);
                (store.newest_ns, store.arrived)
            };
            if newest_ns >= until_ns && arrived.is_some_and(|at| at.elapsed() >= QUIET) {
                return;
            }
            std::thread::sleep(CHECK_EVERY);
        }
    }

    /// Returns the mean duration and the mean self time per span name, over the spans that began within `times_ns`
    /// (nanoseconds since 1970).
    pub fn profile(&self, times_ns: &Range<u64>) -> SpanProfile {
        profile::profile(&lock(&self.store), times_ns)
    }
}

fn lock(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Handles requests of one sender until the sender closes the connection or sends an invalid request.
fn serve(mut sender: TcpStream, store: &Mutex<Store>) {
    let timeouts = sender.set_read_timeout(Some(IDLE)).and(sender.set_write_timeout(Some(IDLE)));
    let mut rest = Vec::new();
    while timeouts.is_ok() {
        let ended = match read(&mut sender, &mut rest).and_then(|export| take(&export, store)) {
            Ok((answer, true)) => sender.write_all(&answer).is_err(),
            Ok((answer, false)) => {
                let _ = sender.write_all(&answer);
                true
            }
            Err(Ending::Refused(why)) => {
                let _ = sender.write_all(&refused(&why));
                true
            }
            Err(Ending::Quiet) => true,
        };
        if ended {
            return;
        }
    }
}

/// Stores the spans of a request. Returns the answer, and true if the connection stays open.
fn take(export: &Export, store: &Mutex<Store>) -> Result<(Vec<u8>, bool), Ending> {
    // The thread holds the lock only while it decodes the body, not while it reads the body from the network.
    let mut store = lock(store);
    let mut add = |span: crate::ReceivedSpan<'_>| store.add(&span);
    let decoded = match export.encoding {
        Encoding::Json => decode::json(&export.body, &mut add),
        Encoding::Protobuf => decode::protobuf(&export.body, &mut add),
    };
    decoded.map_err(|_| Refusal(400, "the body has no spans of OTLP"))?;
    Ok((taken(export.encoding), export.persists))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn exchange(stream: &mut TcpStream, body: &str) -> String {
        let length = body.len();
        let head = format!(
            "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = [0; 1024];
        let n = stream.read(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[..n]).into_owned()
    }

    #[test]
    fn spans_are_received_on_loopback_only_and_wrong_bodies_are_refused() {
        let receiver = Receiver::start("127.0.0.1:0".parse().unwrap()).unwrap();
        let mut stream = TcpStream::connect(receiver.addr()).unwrap();
        let span = r#"{"traceId":"00000000000000000000000000000001","spanId":"0000000000000001","name":"GET /",
            "startTimeUnixNano":"1000","endTimeUnixNano":"5000"}"#;
        let body = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{span}]}}]}}]}}"#);
        for body in [&body, &body.replace("0000000000000001\",\"name", "0000000000000002\",\"name")] {
            assert!(exchange(&mut stream, body).starts_with("HTTP/1.1 200"));
        }
        receiver.settle(1000, Duration::from_secs(5), &|| false);
        let profile = receiver.profile(&(0..2000));
        assert_eq!((profile.traces, profile.spans[0].count, profile.spans[0].self_us), (1, 2, 4.0));
        assert!(exchange(&mut stream, "[").starts_with("HTTP/1.1 400"));
        let refused = Receiver::start("192.0.2.1:4318".parse().unwrap()).unwrap_err().to_string();
        assert!(refused.contains("loopback"), "{refused}");
        let taken = Receiver::start(receiver.addr()).unwrap_err().to_string();
        assert!(taken.contains("free port"), "{taken}");
    }
}
