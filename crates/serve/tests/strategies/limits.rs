//! Tests of the strategy `limits`, which closes the connections of silent clients and of clients that do not read.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use loadline_serve as serve;
use serve::Server;

use super::{SOON, answers, connect, models, start};

/// Checks all models with the strategy `strategy` in parallel, because the checks mostly wait for deadlines.
fn at_once(strategy: &str, check: impl Fn(&'static str) + Sync) {
    std::thread::scope(|scope| {
        for model in models(strategy) {
            let check = &check;
            scope.spawn(move || check(model));
        }
    });
}

#[test]
fn limits_close_count_and_name_clients_that_never_read() {
    at_once("limits", |model| {
        let server = start("echo", model, "limits", &[("unsent_ms", "200"), ("silent_ms", "3600000")]);
        let mut flood = connect(&server);
        let name = flood.local_addr().unwrap().to_string();
        let bytes = vec![1; 1 << 20];
        flood.set_write_timeout(Some(SOON)).unwrap();
        let mut sent = 0;
        // The client never reads, so its writes fail once the server has closed the connection.
        while flood.write(&bytes).is_ok_and(|n| n > 0) {
            sent += 1;
            assert!(sent < 1000, "{model} takes everything");
        }
        let stats = closed(&server);
        assert_eq!((stats.closed_unread, stats.closed_silent), (1, 0), "{model}");
        assert!(stats.closed_peers[0].starts_with(&format!("{name} sends")), "{model} {:?}", stats.closed_peers);
    });
}

#[test]
fn limits_close_count_and_name_silent_clients() {
    at_once("limits", |model| {
        let server = start("echo", model, "limits", &[("unsent_ms", "3600000"), ("silent_ms", "100")]);
        let mut silent = connect(&server);
        let name = silent.local_addr().unwrap().to_string();
        let outcome = silent.read(&mut [0; 1]);
        assert!(matches!(outcome, Ok(0)) || outcome.is_err_and(|e| e.kind() == ErrorKind::ConnectionReset), "{model}");
        let stats = closed(&server);
        assert_eq!((stats.closed_unread, stats.closed_silent), (0, 1), "{model}");
        assert!(stats.closed_peers[0].starts_with(&format!("{name} is silent")), "{model} {:?}", stats.closed_peers);
    });
}

#[test]
fn limits_spare_clients_that_the_server_does_not_read() {
    at_once("limits", |model| {
        if model == "blocking" {
            // In the model `blocking`, each connection has its own threads, so no client waits for another one.
            return;
        }
        let options = [("sends", "1"), ("unsent_ms", "6000"), ("silent_ms", "3000")];
        let server = start("echo", model, "limits", &options);
        let mut waits = connect(&server);
        flood(&server);
        // When the server has stopped reading, it answers this client only after it has closed the connection of the
        // client that does not read.
        answers_until_a_close(&server, &mut waits, model);
        let stats = server.stats();
        assert_eq!((stats.closed_unread, stats.closed_silent), (1, 0), "{model}");
    });
}

/// Starts a client that sends and never reads, until the server closes its connection.
fn flood(server: &Server) {
    let mut stream = connect(server);
    std::thread::spawn(move || while stream.write(&[1; 1 << 16]).is_ok() {});
}

/// Checks that the server answers each byte of `stream`, until the server has closed the connection of a client that
/// does not read.
fn answers_until_a_close(server: &Server, stream: &mut TcpStream, model: &str) {
    let deadline = Instant::now() + SOON;
    while server.stats().closed_unread == 0 {
        assert!(Instant::now() < deadline, "{model}: {:?}", server.stats());
        stream.write_all(b"x").unwrap();
        assert!(answers(stream, SOON), "{model}");
    }
}

/// Waits until the only connection has ended and returns the counts.
fn closed(server: &Server) -> serve::Stats {
    let deadline = Instant::now() + SOON;
    while (server.stats().accepted == 0 || server.stats().connections > 0) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    server.stats()
}

#[test]
fn limits_bound_the_outstanding_sends() {
    at_once("limits", |model| {
        if model == "blocking" {
            // In the model `blocking`, each connection has its own sending thread, so outstanding sends are not
            // limited.
            return;
        }
        let server = start("echo", model, "limits", &[("sends", "1"), ("unsent_ms", "400")]);
        flood(&server);
        flood(&server);
        // The two clients that never read prevent the server from reading until a limit closes their connections. After
        // the server has closed one of these connections, it serves the third client.
        let mut third = connect(&server);
        answers_until_a_close(&server, &mut third, model);
    });
}
