//! A thread for each client of a listener, so that a slow client delays no other client.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Time until the next accept after a failed accept, for example because no descriptor is left. Without a pause, the
/// loop would keep a CPU busy until a descriptor is free.
const NO_DESCRIPTOR: Duration = Duration::from_millis(200);

/// Accepts clients until the program ends, and serves each client on its own thread, which gets the name `name`. While
/// `max` clients are connected, each further client is disconnected immediately. A client is also disconnected if no
/// thread can be started for the client.
pub fn each_client(listener: &TcpListener, name: &str, max: usize, serve: impl Fn(TcpStream) + Clone + Send + 'static) {
    let clients = Arc::new(());
    for client in listener.incoming() {
        let Ok(client) = client else {
            std::thread::sleep(NO_DESCRIPTOR);
            continue;
        };
        if Arc::strong_count(&clients) > max {
            continue;
        }
        let (counted, serve) = (Arc::clone(&clients), serve.clone());
        let body = move || {
            serve(client);
            drop(counted);
        };
        let _ = std::thread::Builder::new().name(name.into()).spawn(body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    #[test]
    fn clients_are_served_side_by_side_and_surplus_ones_are_disconnected() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        // The server sends one byte to each client that it serves, and waits until the client leaves.
        let serve = |mut client: TcpStream| {
            let _ = client.write_all(b"x");
            let _ = client.read(&mut [0; 1]);
        };
        std::thread::spawn(move || each_client(&listener, "test", 2, serve));
        let told = |client: &mut TcpStream| client.read(&mut [0; 1]).unwrap_or(0);
        let mut clients = [0; 3].map(|_| TcpStream::connect(addr).unwrap());
        assert_eq!(clients.each_mut().map(told), [1, 1, 0]);
    }
}
