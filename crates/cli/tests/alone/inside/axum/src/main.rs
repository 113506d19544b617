//! An axum server whose handler holds a standard mutex (`std::sync::Mutex`) while it sleeps. The program's argument is
//! the port.
use std::sync::Mutex;
use std::time::Duration;

static LOCK: Mutex<u64> = Mutex::new(0);

#[inline(never)]
fn count() -> u64 {
    let mut counter = LOCK.lock().unwrap();
    std::thread::sleep(Duration::from_millis(3));
    *counter += 1;
    *counter
}

fn main() {
    let port = std::env::args().nth(1).expect("a port");
    let app = axum::Router::new().route("/", axum::routing::get(|| async { format!("{}\n", count()) }));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await.expect("a free port");
        axum::serve(listener, app).await.expect("a server");
    });
}
