//! A request in steady state must not allocate memory in the client. In the reference servers, only stored data may
//! need new memory. A counting allocator counts the allocations. With TLS, only the library rustls allocates memory:
//! once to encrypt each record and once to decrypt it.

#![allow(clippy::unwrap_used)] // also for the helper functions of tests

use std::sync::Arc;

use loadline_proto::http1::{Page, Site};
use loadline_proto::{Outcome, Request, Session, Trace, by_scheme, client, http2, redis, tls, websocket};
use run::{Protocol, TlsPlan, TlsVersion};
use sys::alloc;

#[global_allocator]
static COUNTING: alloc::CountingAllocator = alloc::CountingAllocator;

struct OnePage(Arc<Page>);

impl Site for OnePage {
    fn now_s(&self) -> u64 {
        784_111_777
    }

    fn find(&self, _: &str, _: &str) -> Arc<Page> {
        self.0.clone()
    }

    fn plain(&self, _: u16) -> Arc<Page> {
        self.0.clone()
    }
}

/// A server that gives the same answer to every request (memcached, PostgreSQL).
struct FixedAnswer(&'static [u8], usize);

impl Session for FixedAnswer {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let n = self.1.min(1) * self.0.len();
        out[..n].copy_from_slice(&self.0[..n]);
        self.1 -= self.1.min(1);
        n
    }

    fn wants_transmit(&self) -> bool {
        self.1 > 0
    }

    fn receive(&mut self, input: &[u8]) -> Result<loadline_proto::Progress, loadline_proto::Fault> {
        // The byte `\n` ends a memcached command, and the byte `Q` is the type of a PostgreSQL message.
        self.1 += input.iter().filter(|b| matches!(b, b'\n' | b'Q')).count();
        Ok(loadline_proto::Progress::default())
    }

    fn peer_closed(&mut self) -> Result<loadline_proto::Progress, loadline_proto::Fault> {
        Ok(loadline_proto::Progress::CLOSE)
    }

    fn reset(&mut self) {}
}

/// Result of an exchange between a client and a server.
#[derive(Debug, Default)]
struct ExchangeResult {
    /// Number of requests that got the expected answer.
    right: u32,
    /// Number of calls of the allocator during the second half of the rounds.
    calls: u64,
    /// Number of pieces that client and server sent during the second half of the rounds. A piece has at most one TLS
    /// record.
    pieces: u64,
}

fn talk(plan: &Protocol, tls: Option<&TlsPlan>, mut server: Box<dyn Session + Send>) -> ExchangeResult {
    let client = client(plan, None, tls).unwrap();
    let talk = move || {
        let (mut sessions, mut buf, mut talked) = (client.sessions(1), vec![0; 16 * 1024], ExchangeResult::default());
        let session = sessions.session(0);
        for round in 0..600_u16 {
            if round == 300 {
                talked.pieces = 0;
                alloc::arm();
            }
            if session.ready() {
                // In this load, every second request has a trace context.
                let trace = |id| if id % 2 == 0 { Trace::new(1 + u64::from(round)) } else { Trace::NONE };
                (0..4).for_each(|id| session.begin(Request { id, item: 0, trace: trace(id) }));
            }
            loop {
                let n = session.transmit(&mut buf);
                server.receive(&buf[..n]).unwrap();
                let m = server.transmit(&mut buf);
                if n + m == 0 {
                    break;
                }
                talked.pieces += u64::from(n > 0) + u64::from(m > 0);
                let right = &mut talked.right;
                session.receive(&buf[..m], &mut |done| *right += u32::from(done.outcome == Outcome::Expected)).unwrap();
            }
        }
        ExchangeResult { calls: alloc::disarm(), ..talked }
    };
    // The allocator counts only in threads whose names begin like the names of the load generator's threads.
    std::thread::Builder::new().name("load-x".into()).spawn(talk).unwrap().join().unwrap()
}

fn site(page: Arc<Page>) -> Arc<OnePage> {
    Arc::new(OnePage(page))
}

/// All cases are in one test, because the allocator has one counter for the whole process.
#[test]
fn a_request_in_steady_state_takes_no_memory() {
    let page = || site(Page::new(200, "text/plain", "", vec![b'p'; 1294]));
    let call = site(Page::grpc(0, vec![0; 105]));
    let servers: [(&str, Box<dyn Session + Send>); 6] = [
        ("h2c", Box::new(http2::ServerSession::new(page(), 0))),
        ("grpc", Box::new(http2::ServerSession::new(call, 0))),
        ("ws", Box::new(websocket::ServerSession::default())),
        ("redis", Box::new(redis::ServerSession::new(Arc::default()))),
        ("memcached", Box::new(FixedAnswer(b"VERSION 1\r\n", 0))),
        ("postgres", Box::new(FixedAnswer(b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I", 0))),
    ];
    for (scheme, server) in servers {
        let plan = (by_scheme(scheme).unwrap().0.defaults)();
        let talked = talk(&plan, None, server);
        assert!(talked.right > 2000, "{scheme}: {talked:?}");
        assert_eq!(talked.calls, 0, "{scheme}");
    }
    let (chain, key) = tls::self_signed(&["localhost"]).unwrap();
    for (version, alpn) in [(TlsVersion::V1_2, "h2"), (TlsVersion::V1_3, "h2")] {
        let config = tls::server_config(chain.as_bytes(), key.as_bytes(), &[alpn]).unwrap();
        let server = tls::ServerSession::new(http2::ServerSession::new(page(), 0), config);
        let plan = (by_scheme("h2c").unwrap().0.defaults)();
        let tls =
            TlsPlan { version: Some(version), insecure: true, server_name: "localhost".into(), ..TlsPlan::default() };
        let talked = talk(&plan, Some(&tls), Box::new(server));
        assert!(talked.right > 2000 && talked.pieces > 500, "{version:?}: {talked:?}");
        // rustls 0.23 allocates memory to encrypt a record and to decrypt it.
        assert!(talked.calls <= 2 * talked.pieces, "{version:?}: {talked:?}");
    }
}
