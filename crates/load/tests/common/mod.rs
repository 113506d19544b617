//! A small HTTP server that can fail in several ways, and a conductor (controlling process), which leads a load through
//! its phases.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loadline_load as load;
use run::{AgentCommand, AgentReport, HttpPlan, Intensity, Io, LoadPart, LoadPlan, Phase, Protocol, ThinkTime, Tick};

/// Behaviour of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Answers each request. Closes the connection after an answer if the answered request has `Connection: close`.
    Proper,
    /// Answers a fixed number of requests on each connection (the value), and then closes the connection without
    /// announcing the close in the last answer.
    CloseAfter(u32),
    /// Resets the connection instead of answering.
    Reset,
    /// Announces a longer body than it sends.
    Short,
    /// Reads requests, but never answers.
    Silent,
    /// Answers every request with status 503.
    Unavailable,
    /// Answers with a chunked body.
    Chunked,
    /// Sends bytes that are not HTTP.
    Rubbish,
}

/// Connections and requests that the server has counted.
#[derive(Debug, Default)]
pub struct ServerCounts {
    pub connections: AtomicU64,
    pub requests: AtomicU64,
    stop: AtomicBool,
}

pub struct Server {
    pub addr: SocketAddr,
    pub counted: Arc<ServerCounts>,
}

impl Server {
    pub fn start(behaviour: Behaviour) -> Self {
        Self::start_at("127.0.0.1:0", behaviour)
    }

    pub fn start_at(addr: &str, behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind(addr).unwrap();
        let addr = listener.local_addr().unwrap();
        let counted = Arc::new(ServerCounts::default());
        let server = Self { addr, counted: Arc::clone(&counted) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if counted.stop.load(Ordering::Relaxed) {
                    return;
                }
                counted.connections.fetch_add(1, Ordering::Relaxed);
                let counted = Arc::clone(&counted);
                std::thread::spawn(move || drop(serve(&stream, behaviour, &counted)));
            }
        });
        server
    }

    pub fn requests(&self) -> u64 {
        self.counted.requests.load(Ordering::Relaxed)
    }

    pub fn connections(&self) -> u64 {
        self.counted.connections.load(Ordering::Relaxed)
    }

    /// Makes the server stop listening. Resets each connection when its next request comes.
    pub fn die(&self) {
        self.counted.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.addr);
    }
}

const BODY: &str = "0123456789abcdef";

fn serve(stream: &TcpStream, behaviour: Behaviour, counted: &ServerCounts) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut answered = 0;
    loop {
        let Some(wants_close) = read_request(&mut reader)? else { return Ok(()) };
        counted.requests.fetch_add(1, Ordering::Relaxed);
        if behaviour == Behaviour::Reset || counted.stop.load(Ordering::Relaxed) {
            sys::socket::set_reset_on_close(stream.as_fd()).unwrap();
            return Ok(());
        }
        let close = if wants_close { "Connection: close\r\n" } else { "" };
        let text = match behaviour {
            Behaviour::Short => format!("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{BODY}"),
            Behaviour::Unavailable => format!("HTTP/1.1 503 Busy\r\n{close}Content-Length: 16\r\n\r\n{BODY}"),
            Behaviour::Chunked => {
                format!(
                    "HTTP/1.1 200 OK\r\n{close}Transfer-Encoding: chunked\r\n\r\n8\r\n01234567\r\n8\r\n01234567\r\n0\r\n\r\n"
                )
            }
            Behaviour::Rubbish => "220 mail ready\r\n".to_owned(),
            Behaviour::Silent => String::new(),
            _ => format!("HTTP/1.1 200 OK\r\n{close}Content-Length: 16\r\n\r\n{BODY}"),
        };
        answered += 1;
        if behaviour == Behaviour::CloseAfter(answered) {
            // The answer is sent together with the FIN, so no request can arrive between the two.
            sys::socket::send_more(stream, text.as_bytes())?;
            return stream.shutdown(Shutdown::Write);
        }
        (&*stream).write_all(text.as_bytes())?;
        if wants_close && behaviour != Behaviour::Silent || behaviour == Behaviour::Short {
            return Ok(());
        }
    }
}

/// Reads the head of one request. Returns true if the client asked the server to close, and `None` at the end of the
/// connection.
fn read_request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<bool>> {
    let (mut line, mut close, mut any) = (String::new(), false, false);
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim_end() {
            "" if any => return Ok(Some(close)),
            text => close |= text.eq_ignore_ascii_case("connection: close"),
        }
        any = true;
    }
}

pub fn http() -> Protocol {
    Protocol::Http1(HttpPlan { host: "test".into(), ..HttpPlan::default() })
}

pub fn closed(connections: u32, pipeline: u32) -> Intensity {
    Intensity::Closed { connections, pipeline, think: ThinkTime::default() }
}

pub fn plan(io: Io, intensity: Intensity) -> LoadPlan {
    LoadPlan { protocol: http(), io, intensity, drain_s: 3.0, ..LoadPlan::default() }
}

/// Returns the drivers to test: epoll, and io_uring if this machine allows it.
pub fn drivers() -> Vec<Io> {
    match sys::uring::Ring::new(&sys::uring::Config::default()) {
        Ok(_) => vec![Io::Epoll, Io::Uring],
        Err(e) => {
            testkit::skip("io_uring", e);
            vec![Io::Epoll]
        }
    }
}

/// Waits until the load is ready, then leads it through the warm-up, a window of `measure_ms`, and the drain. Calls
/// `midway` in the middle of the measured window. The window ends only when `is_enough` returns true. `is_enough` gets
/// the counts at the start of the window and the newest counts. On a busy machine, a load may do little in
/// `measure_ms`. Returns the result of the load.
pub fn conduct(
    plan: &LoadPlan,
    addr: SocketAddr,
    measure_ms: u64,
    midway: impl FnOnce() + Send,
    is_enough: impl Fn(&Tick, &Tick) -> bool + Send,
) -> LoadPart {
    let ((control, commands), (ready, is_ready)) = (channel(), channel());
    let newest = Mutex::new(Tick::default());
    let newest_tick = || newest.lock().unwrap().clone();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // If the load fails, `load::run` returns its error.
            if is_ready.recv().is_err() {
                return;
            }
            let half = Duration::from_millis(measure_ms / 2);
            std::thread::sleep(Duration::from_millis(50));
            control.send(AgentCommand::Enter { phase: Phase::Measure, at_ns: None }).unwrap();
            let begin = newest_tick();
            std::thread::sleep(half);
            midway();
            std::thread::sleep(half);
            testkit::eventually_within(Duration::from_secs(60), || is_enough(&begin, &newest_tick()).then_some(()));
            control.send(AgentCommand::Enter { phase: Phase::Drain, at_ns: None }).unwrap();
            // The load ends by itself after its drain. If this thread dropped the sender now, the load would stop
            // before the end of its drain.
            while control.send(AgentCommand::Enter { phase: Phase::Drain, at_ns: None }).is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let mut times = 0;
        let mut report = |r| match r {
            AgentReport::Ready { .. } => {
                times += 1;
                ready.send(()).unwrap();
            }
            AgentReport::Tick(tick) => *newest.lock().unwrap() = tick,
            _ => {}
        };
        let part = load::run(plan, addr, load::Start::AtOnce, commands, &mut report);
        drop(ready);
        assert_eq!(times, 1);
        part.unwrap()
    })
}

/// Drives a load as [`conduct`] does, but calls no function in the middle of the load.
pub fn drive_until(
    plan: &LoadPlan,
    addr: SocketAddr,
    measure_ms: u64,
    is_enough: impl Fn(&Tick, &Tick) -> bool + Send,
) -> LoadPart {
    conduct(plan, addr, measure_ms, || {}, is_enough)
}

/// Drives a load whose measured window ends after `measure_ms`.
pub fn drive(plan: &LoadPlan, addr: SocketAddr, measure_ms: u64) -> LoadPart {
    drive_until(plan, addr, measure_ms, |_, _| true)
}
