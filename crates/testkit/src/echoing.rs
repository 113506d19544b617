//! HTTP servers that return the requests that they receive, or pass them to the test.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

/// Starts a server that returns each request as the response body, and stores the last request. `status` is the status
/// line without the version, optionally followed by header lines.
pub fn echoing(status: &str) -> (SocketAddr, Arc<Mutex<String>>) {
    let status = status.to_string();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (addr, asked) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(String::new())));
    let kept = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (kept, status) = (Arc::clone(&kept), status.clone());
            std::thread::spawn(move || {
                let mut piece = [0; 8192];
                while let Ok(n @ 1..) = stream.read(&mut piece) {
                    let said = String::from_utf8_lossy(&piece[..n]).into_owned();
                    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", said.len());
                    let answer = head + &said;
                    // The request is stored before the response is sent. Storing comes first, because the test may read
                    // the stored request as soon as it has the response.
                    *kept.lock().unwrap() = said;
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (addr, asked)
}

/// Starts a server that sends each request to the returned channel, and answers with status 200 and the body `ok`.
pub fn reporting() -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (addr, (told, requests)) = (listener.local_addr().unwrap(), channel());
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let told = told.clone();
            std::thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(n @ 1..) = client.read(&mut piece) {
                    let _ = told.send(String::from_utf8_lossy(&piece[..n]).into_owned());
                    if client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                        return;
                    }
                }
            });
        }
    });
    (addr, requests)
}
