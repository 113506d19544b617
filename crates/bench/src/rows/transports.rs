//! Compares the CPU time of loadline's generator with that of the usual load generator for each protocol. The protocols
//! are TLS, HTTP/2, gRPC, streams of events, HTTP/3, Redis and PostgreSQL. Both programs of a row load the same server.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use anyhow::Result;
use testkit::{Postgres, ServedOverUdp, SetupError, postgres_program};

use super::generator::{SECONDS, first_trial, json, number, number_in_line};
use crate::compare::{Compared, interleave};
use crate::cpu;
use crate::programs::{self, CLIENT_CPU, SERVER_CPU};

/// Number of requests per run, for peers (other load generators) that send a fixed number of requests.
const REQUESTS: u32 = 200_000;

/// Compares loadline with wrk over HTTPS: 64 connections, a page of 1294 bytes.
pub(crate) fn https(rounds: usize) -> Result<Compared> {
    let server = programs::serve("http", &["--tls"])?;
    let url = format!("https://{}/", server.addr);
    let wrk = || {
        let seconds = format!("-d{SECONDS}s");
        let (text, us) = peer("wrk", &["-t1", "-c64", &seconds, &url])?;
        Ok(us / number_in_line(&text, "requests in")?)
    };
    interleave(rounds, "us", || ours(&url, &["--insecure", "--connections", "64"]), wrk)
}

/// Compares loadline with openssl s_time: full TLS 1.3 handshakes per second of CPU time. loadline also sends a request
/// after each handshake, but openssl s_time does not.
pub(crate) fn handshakes(rounds: usize) -> Result<Compared> {
    let server = programs::serve("http", &["--tls"])?;
    let (at, url) = (server.addr.to_string(), format!("https://{}/", server.addr));
    let ours = || {
        let args = ["load", &url, "--insecure", "--tls", "1.3", "--new-connections", "--connections", "4"];
        let args = [&args[..], &["--threads", "1", "--json", "--duration"]].concat();
        let (run, us) = cpu::of_children(|| json(&args, &format!("{SECONDS}s")))?;
        Ok(number(first_trial(&run)?, "handshakes")? / us * 1e6)
    };
    let s_time = || {
        let seconds = SECONDS.to_string();
        let (text, us) = peer("openssl", &["s_time", "-connect", &at, "-new", "-tls1_3", "-time", &seconds])?;
        Ok(number_in_line(&text, "connections in")? / us * 1e6)
    };
    interleave(rounds, "1/s", ours, s_time)
}

/// Compares loadline with h2load over HTTP/2: 16 connections with 10 streams each.
pub(crate) fn http2(rounds: usize) -> Result<Compared> {
    let server = programs::serve("h2", &[])?;
    let url = format!("http://{}/", server.addr);
    let h2load = || {
        let (text, us) = peer("h2load", &["-t1", "-c16", "-m10", "-n", &REQUESTS.to_string(), &url])?;
        Ok(us / number_in_line(&text, "requests:")?)
    };
    interleave(rounds, "us", || ours(&url, &["--http2", "--connections", "16", "--streams", "10"]), h2load)
}

/// Empty gRPC message: a byte for "no compression" and four bytes for the length 0.
const EMPTY_GRPC_MESSAGE: [u8; 5] = [0; 5];

/// Compares loadline with h2load for gRPC calls: 16 connections with 10 concurrent calls each. h2load sends the bytes
/// of a call, but does not check the gRPC status of the answer.
pub(crate) fn grpc(rounds: usize) -> Result<Compared> {
    let (server, dir) = (programs::serve("grpc", &[])?, tempfile::tempdir()?);
    let (url, h2_url) =
        (format!("grpc://{}/bench.Bench/Call", server.addr), format!("http://{}/bench.Bench/Call", server.addr));
    let message = dir.path().join("message");
    std::fs::write(&message, EMPTY_GRPC_MESSAGE)?;
    let (message, calls) = (message.display().to_string(), REQUESTS.to_string());
    let headers = ["-H", "content-type: application/grpc", "-H", "te: trailers", "-d", &message];
    let args = [&["-t1", "-c16", "-m10", "-n", &calls][..], &headers, &[h2_url.as_str()]].concat();
    let h2load = || {
        let (text, us) = peer("h2load", &args)?;
        Ok(us / number_in_line(&text, "requests:")?)
    };
    interleave(rounds, "us", || ours(&url, &["--connections", "16", "--streams", "10"]), h2load)
}

/// Number of streams per run of h2load.
const STREAMS: u32 = 20_000;

/// Compares loadline with h2load for streams over HTTP/2: 16 connections with 10 concurrent streams each. The server
/// sends 20 events per stream without pauses. loadline records the time of each event. h2load only receives the bytes.
pub(crate) fn stream(rounds: usize) -> Result<Compared> {
    let server = programs::serve("h2", &["--events", "20", "--first", "0s", "--gap", "0s"])?;
    let (url, streams) = (format!("http://{}/", server.addr), STREAMS.to_string());
    let h2load = || {
        let (text, us) = peer("h2load", &["-t1", "-c16", "-m10", "-n", &streams, &url])?;
        Ok(us / number_in_line(&text, "requests:")?)
    };
    let flags = ["--http2", "--stream", "sse", "--connections", "16", "--streams", "10"];
    interleave(rounds, "us", || ours(&url, &flags), h2load)
}

/// Compares HTTP/3 with HTTP/2, both with loadline: 16 connections with 10 streams each.
pub(crate) fn http3(rounds: usize) -> Result<Compared> {
    let (server, h2) = (serve_h3()?, programs::serve("h2", &[])?);
    let (url, h2_url) = (format!("h3://{}/", server.addr), format!("http://{}/", h2.addr));
    let connections = ["--connections", "16", "--streams", "10"];
    let ours = || ours(&url, &[&["--insecure"], &connections[..]].concat());
    interleave(rounds, "us", ours, || self::ours(&h2_url, &[&["--http2"], &connections[..]].concat()))
}

/// Compares loadline with oha (built with its feature `http3`) over HTTP/3: 16 connections with 10 streams each.
pub(crate) fn http3_oha(rounds: usize) -> Result<Compared> {
    programs::find("oha")?;
    let server = serve_h3()?;
    let (ours_url, oha_url) = (format!("h3://{}/", server.addr), format!("https://{}/", server.addr));
    let oha = || {
        let (connections, requests) = (["-c", "16", "-p", "10"], REQUESTS.to_string());
        let args = [&["--no-tui", "--insecure", "--http-version", "3"], &connections[..], &["-n", &requests, &oha_url]];
        let (text, us) = peer("oha", &args.concat())?;
        Ok(us / number_in_line(&text, "[200]")?)
    };
    interleave(rounds, "us", || ours(&ours_url, &["--insecure", "--connections", "16", "--streams", "10"]), oha)
}

/// Starts `loadline serve h3` on the server's CPU.
fn serve_h3() -> Result<ServedOverUdp> {
    let mut command = programs::pinned(SERVER_CPU, &programs::loadline()?);
    command.args(["serve", "h3"]);
    Ok(ServedOverUdp::start(command))
}

/// Compares loadline with redis-benchmark: PING over 50 connections.
pub(crate) fn redis(rounds: usize) -> Result<Compared> {
    let addr = SocketAddr::from(([127, 0, 0, 1], programs::free_port()?));
    let port = addr.port().to_string();
    let mut command = programs::pinned(SERVER_CPU, &programs::find("redis-server")?);
    command.args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    let _server = programs::await_listening(command.stdout(Stdio::null()).spawn()?, addr, None)?;
    let url = format!("redis://{addr}");
    let benchmark = || {
        let args = ["-p", &port, "-t", "ping_mbulk", "-c", "50", "-n", &REQUESTS.to_string(), "--csv"];
        Ok(peer("redis-benchmark", &args)?.1 / f64::from(REQUESTS))
    };
    interleave(rounds, "us", || ours(&url, &["--connections", "50"]), benchmark)
}

/// Compares loadline with pgbench: `SELECT 1`, sent as text, over 32 connections.
pub(crate) fn postgres(rounds: usize) -> Result<Compared> {
    let missing = || SetupError::program("postgres");
    let server = Postgres::try_start(&["fsync=off"]).ok_or_else(missing)?;
    let pgbench = postgres_program("pgbench").ok_or_else(|| SetupError::program("pgbench"))?;
    // `testkit` starts the server without pinning it to a CPU. PostgreSQL's later child processes inherit the CPU that
    // this code sets for the server's main process.
    let pin = ["-acp", &SERVER_CPU.to_string(), &server.pid().to_string()];
    programs::output(Command::new("taskset").args(pin))?;
    let script = server.dir.path().join("script.sql");
    std::fs::write(&script, "SELECT 1;\n")?;
    let (port, seconds) = (server.port.to_string(), SECONDS.to_string());
    let peer = || {
        let mut command = programs::pinned(CLIENT_CPU, &pgbench);
        command.args(["-n", "-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-c", "32", "-j", "1", "-T", &seconds]);
        let (text, us) = cpu::of_children(|| programs::output(command.arg("-f").arg(&script).arg("postgres")))?;
        Ok(us / number_in_line(&text, "number of transactions actually processed")?)
    };
    interleave(rounds, "us", || ours(&server.url(), &["--connections", "32"]), peer)
}

/// Runs loadline's `load` and returns its CPU time per completed request in microseconds.
fn ours(url: &str, more: &[&str]) -> Result<f64> {
    let args = [&["load", url, "--threads", "1", "--json"], more, &["--duration"]].concat();
    let (run, us) = cpu::of_children(|| json(&args, &format!("{SECONDS}s")))?;
    Ok(us / number(first_trial(&run)?, "completed")?)
}

/// Runs a program on the generator's CPU. Returns the program's output, and its CPU time in microseconds.
fn peer(name: &str, args: &[&str]) -> Result<(String, f64)> {
    let program = programs::find(name)?;
    cpu::of_children(|| {
        let mut command: Command = programs::pinned(CLIENT_CPU, &program);
        programs::output(command.args(args))
    })
}
