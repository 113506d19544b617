//! Tests of streams of events from real servers: events at known times, a proxy that collects events, and gaps that
//! grow with the load.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::{Value, json as value};
use testkit::{
    ChildProcess, Running, alone, binary, first_line, has, json, nginx, num, python_with_packages, script_server,
    served, skip, total,
};

/// Starts a server that answers each request with a stream of 30 events. The first event comes after 200 ms, and the
/// others follow every 20 ms.
fn streams() -> Running {
    let mut command = Command::new(binary!());
    command.args(["serve", "sse", "--first", "200ms", "--gap", "20ms", "--events", "30"]);
    served(command)
}

fn load(url: &str, connections: &str) -> Value {
    let load = ["load", url, "--stream", "sse", "--connections", connections];
    json(binary!(), &[&load[..], &["--duration", "3s", "--warmup", "500ms", "--at-rest", "0"]].concat())
}

fn signs(run: &Value) -> Vec<(String, String)> {
    let of = |sign: &Value| ["id", "sentence"].map(|name| sign[name].as_str().unwrap().to_owned()).into();
    run["findings"]["streams"].as_array().into_iter().flatten().map(of).collect()
}

/// The times of the events are known. p50 and p99 of the measured times may differ from the known times by at most 1
/// ms. Other programs may delay a load, so the test passes if the times of one of up to four loads are right.
#[test]
fn planted_schedules_are_measured_within_a_millisecond() {
    let _alone = alone();
    let server = streams();
    let is_right = |(time, ms): &(&str, f64), run: &Value| {
        let [p50, p99] = ["p50", "p99"].map(|figure| num(&run["trials"][0][time][figure]) / 1e3);
        (p50 - ms).abs() < 1.0 && (p99 - ms).abs() < 1.0
    };
    let mut told = Vec::new();
    for _ in 0..4 {
        let run = load(&format!("http://{}/", server.addr), "4");
        assert!(signs(&run).is_empty(), "{:?}", signs(&run));
        if [("first_event_us", 200.0), ("gap_us", 20.0)].iter().all(|planted| is_right(planted, &run)) {
            return;
        }
        told.push([&run["trials"][0]["first_event_us"], &run["trials"][0]["gap_us"]].map(Value::to_string));
    }
    panic!("planted 200 ms and 20 ms: {told:?}");
}

/// Source of a server with one thread. Each event takes 4 ms of the thread's CPU time, and is due 20 ms after the
/// previous event of its stream.
const ONE_WORKER: &str = "
import heapq, selectors, socket, time
s = socket.create_server(('127.0.0.1', 0), backlog=512)
print('%s:%d' % s.getsockname(), flush=True)
ready, due = selectors.DefaultSelector(), []
ready.register(s, selectors.EVENT_READ)
def work(ms):
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end: pass
while True:
    for key, _ in ready.select(max(0, due[0][0] - time.monotonic()) if due else None):
        c = key.fileobj
        if c is s:
            ready.register(s.accept()[0], selectors.EVENT_READ)
            continue
        try:
            if not c.recv(65536): raise OSError
            c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n')
            heapq.heappush(due, (time.monotonic() + 0.02, c.fileno(), 0, c))
        except OSError:
            ready.unregister(c); c.close()
    now = time.monotonic()
    for at, n, sent, c in [heapq.heappop(due) for d in list(due) if d[0] <= now]:
        work(4)
        try:
            if sent == 8:
                c.sendall(b'0\\r\\n\\r\\n')
            else:
                c.sendall(b'9\\r\\ndata: a\\n\\n\\r\\n')
                heapq.heappush(due, (time.monotonic() + 0.02, n, sent + 1, c))
        except OSError: pass
";

#[test]
fn gaps_that_grow_with_the_load_are_told() {
    let _alone = alone();
    let Some((_server, addr)) = script_server(ONE_WORKER) else {
        return skip("gaps of one Python thread", "python3 is not installed");
    };
    let url = format!("http://{addr}/");
    let find =
        ["find", &url, "--stream", "sse", "--users", "256", "--gap", "p99<150ms", "--budget", "40s", "--prove", "off"];
    let run = json(binary!(), &find);
    // The server's thread needs n × 4 ms to send one event on each of n streams. With 37 streams, the gap between two
    // events of a stream is 37 × 4 ms = 148 ms, just below the limit of 150 ms.
    let users = &run["findings"]["users"];
    let (held, failed) = (num(&users["held"]), num(&users["failed"]));
    // Other programs on the CPU may delay events, so loadline may find that fewer than 37 streams keep the limit on the
    // gap.
    assert!((4.0..=37.0).contains(&held) && held < failed && failed <= 64.0, "{users}");
    assert!(signs(&run).iter().any(|(id, _)| id == "stream-stalls"), "{:?}", signs(&run));
}

/// Checks that each stream of a server has 20 events at intervals of 25 ms. loadline must count exactly the streams
/// that the server has ended. The last event of a stream is `[DONE]`, so a stream that lacks events is a broken one.
/// The server answers the path `/count` with its counts of streams and of events.
fn check_peer(addr: &str) {
    let url = format!("http://{addr}/");
    let args = ["load", &url, "--stream", "sse", "--stream-end", "[DONE]", "--connections", "3", "--duration", "3s"];
    let run = json(binary!(), &[&args[..], &["--warmup", "0s", "--at-rest", "0"]].concat());
    let trial = &run["trials"][0];
    assert_eq!((&trial["errors"], &trial["streams_broken"]), (&value!({}), &Value::Null), "{trial}");
    let completed = total(&run, "completed");
    assert_eq!(counts(addr), [completed, 20 * completed]);
    let gap_ms = num(&trial["gap_us"]["p50"]) / 1e3;
    assert!(completed > 3 && (24.0..32.0).contains(&gap_ms), "{completed} streams, {gap_ms} ms");
}

/// Returns the numbers of streams and of events that a server has sent.
fn counts(addr: &str) -> [u64; 2] {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.write_all(b"GET /count HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let line = answer.lines().find_map(|line| line.strip_prefix("counts ")).unwrap_or_else(|| panic!("{answer}"));
    let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

const NODE: &str = "
let streams = 0, events = 0;
const server = require('http').createServer((q, a) => {
  if (q.url === '/count') return a.end(`counts ${streams} ${events}\\n`);
  a.writeHead(200, {'Content-Type': 'text/event-stream'});
  let n = 0;
  const timer = setInterval(() => {
    a.write(n === 19 ? 'data: [DONE]\\n\\n' : `data: ${n}\\n\\n`);
    events++;
    if (++n === 20) { clearInterval(timer); streams++; a.end(); }
  }, 25);
});
server.listen(0, '127.0.0.1', () => console.log('127.0.0.1:' + server.address().port));
";

const UVICORN: &str = "
import asyncio, socket, uvicorn
streams = events = 0
async def app(scope, receive, send):
    global streams, events
    if scope['type'] != 'http': return
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-type', b'text/event-stream')]})
    if scope['path'] == '/count':
        await send({'type': 'http.response.body', 'body': b'counts %d %d\\n' % (streams, events)})
        return
    for n in range(20):
        await asyncio.sleep(0.025)
        await send({'type': 'http.response.body', 'body': b'data: [DONE]\\n\\n' if n == 19 else b'data: %d\\n\\n' % n,
                    'more_body': True})
        events += 1
    streams += 1
    await send({'type': 'http.response.body', 'body': b''})
s = socket.create_server(('127.0.0.1', 0), backlog=512)
print('%s:%d' % s.getsockname(), flush=True)
uvicorn.Server(uvicorn.Config(app, log_level='critical')).run(sockets=[s])
";

/// Servers that send an event every 20 or 25 ms.
mod idle {
    use super::*;

    /// By default, nginx sends HTTP/1.0 to the server, and buffers the server's answers.
    #[test]
    fn a_proxy_that_collects_the_events_is_named() {
        let _alone = alone();
        let server = streams();
        for (buffers, signs_expected) in [("on", 1), ("off", 0)] {
            let location = format!("proxy_pass http://{}; proxy_buffering {buffers};", server.addr);
            let Some(proxy) = nginx(0, &location, "") else { return skip("nginx that collects events", "no nginx") };
            let run = load(&format!("http://{}/", proxy.addr), "4");
            let signs = signs(&run);
            assert_eq!(
                signs.len(),
                signs_expected,
                "proxy_buffering {buffers}: {signs:?} {}",
                run["trials"][0]["gap_us"]
            );
            if let Some((id, sentence)) = signs.first() {
                assert!(
                    id == "stream-buffered" && sentence.contains("nginx, which passes requests on to"),
                    "{sentence}"
                );
            }
        }
    }

    #[test]
    fn streams_of_node_are_whole_and_counted_exactly() {
        let _alone = alone();
        if !has("streams of node", "node") {
            return;
        }
        let mut server = ChildProcess::start(Command::new("node").args(["-e", NODE]).stdout(Stdio::piped()));
        check_peer(&first_line(&mut server.0));
    }

    #[test]
    fn streams_of_uvicorn_are_whole_and_counted_exactly() {
        let _alone = alone();
        let python = python_with_packages("streams of uvicorn", "uvicorn", &["uvicorn==0.*"], UVICORN);
        let Some(mut command) = python else { return };
        let mut server = ChildProcess::start(&mut command);
        check_peer(&first_line(&mut server.0));
    }
}
