//! Every I/O model must serve loadline's client over every protocol with stateful sessions, with small and large
//! answers.

#![allow(clippy::unwrap_used)] // also for the helper functions of tests

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use loadline_serve as serve;
use proto::{Done, Outcome, Request, by_scheme};
use run::{Protocol, ServePlan};
use serve::MODELS;

/// Requests on one connection, some of them concurrent.
struct Talk {
    addr: SocketAddr,
    requests: u32,
    at_once: u32,
}

impl Talk {
    fn with(self, plan: &Protocol) -> Vec<Done> {
        let mut sessions = proto::client(plan, None, None).unwrap().sessions(1);
        let (session, mut stream) = (sessions.session(0), TcpStream::connect(self.addr).unwrap());
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        let (mut buf, mut done, mut begun) = (vec![0; 50_000], Vec::new(), 0);
        while done.len() < self.requests as usize {
            while session.ready() && begun < self.requests && begun - (done.len() as u32) < self.at_once {
                session.begin(Request { id: begun as u16, item: 0, ..Request::default() });
                begun += 1;
            }
            while let n @ 1.. = session.transmit(&mut buf) {
                stream.write_all(&buf[..n]).unwrap();
            }
            let n = stream.read(&mut buf).unwrap();
            assert!(n > 0, "the server closed after {} of {} answers", done.len(), self.requests);
            session.receive(&buf[..n], &mut |told| done.push(told)).unwrap();
        }
        done
    }
}

fn plan_of(scheme: &str, path: &str) -> Protocol {
    let (row, _) = by_scheme(scheme).unwrap();
    let mut plan = (row.defaults)();
    (row.set_target)(&mut plan, "localhost", path);
    plan
}

fn each(service: &str, body_bytes: u64, check: impl Fn(SocketAddr, &str)) {
    for model in MODELS {
        let (service, model) = (service.to_owned(), model.name);
        let server =
            serve::start(&ServePlan { service, model: model.into(), body_bytes, ..ServePlan::default() }).unwrap();
        check(server.local_addr(), model);
        server.stop();
        let stats = server.join();
        assert_eq!((stats.faults, stats.threads), (0, 0), "{model}");
    }
}

fn answered(plan: &Protocol, addr: SocketAddr, requests: u32, bytes: u64, what: &str) {
    let done = Talk { addr, requests, at_once: 8 }.with(plan);
    assert!(done.iter().all(|d| d.outcome == Outcome::Expected && d.bytes == bytes), "{what}: {:?}", done[0]);
    assert_eq!(done.len(), requests as usize, "{what}");
}

#[test]
fn http2_is_answered_on_many_streams() {
    let plan = plan_of("h2c", "/page?x");
    each("h2", 1294, |addr, model| answered(&plan, addr, 200, 1294, model));
    each("h2", 3 << 20, |addr, model| answered(&plan, addr, 9, 3 << 20, model));
}

#[test]
fn grpc_calls_are_answered() {
    let plan = plan_of("grpc", "/package.Service/Method");
    each("grpc", 100, |addr, model| answered(&plan, addr, 200, 105, model));
}

#[test]
fn websocket_messages_are_echoed() {
    let mut plan = plan_of("ws", "/");
    each("ws", 0, |addr, model| answered(&plan, addr, 200, 64, model));
    if let Protocol::Websocket { message_bytes, .. } = &mut plan {
        *message_bytes = 20_000;
    }
    each("ws", 0, |addr, model| answered(&plan, addr, 50, 20_000, model));
}

#[test]
fn redis_commands_are_answered() {
    let mut plan = plan_of("redis", "");
    each("redis", 0, |addr, model| answered(&plan, addr, 200, "+PONG\r\n".len() as u64, model));
    let file = std::env::temp_dir().join(format!("loadline-commands-{}", std::process::id()));
    std::fs::write(&file, format!("SET k {}\nGET k\nHELLO 3\nINCR n\n", "v".repeat(20_000))).unwrap();
    if let Protocol::Redis { commands_file, .. } = &mut plan {
        *commands_file = Some(file.display().to_string());
    }
    each("redis", 0, |addr, model| {
        let done = Talk { addr, requests: 12, at_once: 8 }.with(&plan);
        let told: Vec<_> = done.iter().map(|d| (d.outcome, d.bytes)).collect();
        // The answer to the Redis command HELLO is a map, whose length is not checked.
        let hello = told[2].1;
        let bytes = ["+OK\r\n".len() as u64, "$20000\r\n\r\n".len() as u64 + 20_000, hello, ":1\r\n".len() as u64];
        assert!(hello > 10, "{model}: {hello}");
        assert_eq!(told, bytes.map(|bytes| (Outcome::Expected, bytes)).repeat(3), "{model}");
    });
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn memcached_commands_are_answered() {
    let mut plan = plan_of("memcached", "");
    each("memcached", 0, |addr, model| answered(&plan, addr, 200, "VERSION loadline\r\n".len() as u64, model));
    let file = std::env::temp_dir().join(format!("loadline-memcached-{}", std::process::id()));
    std::fs::write(&file, format!("set k {}\nget k\n", "v".repeat(20_000))).unwrap();
    if let Protocol::Memcached { commands_file, .. } = &mut plan {
        *commands_file = Some(file.display().to_string());
    }
    each("memcached", 0, |addr, model| {
        let done = Talk { addr, requests: 12, at_once: 8 }.with(&plan);
        let told: Vec<_> = done.iter().map(|d| (d.outcome, d.bytes)).collect();
        let (stored, value) = ("STORED\r\n".len() as u64, "VALUE k 0 20000\r\n\r\nEND\r\n".len() as u64 + 20_000);
        assert_eq!(told, [(Outcome::Expected, stored), (Outcome::Expected, value)].repeat(6), "{model}");
    });
    std::fs::remove_file(&file).unwrap();
}
