//! HTTP server with axum on one thread. The server answers every path with `Hello, World!`.

use axum::{Router, routing::get};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::var("PORT")?;
    let app = Router::new().route("/{*path}", get(|| async { "Hello, World!\n" }));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
        axum::serve(listener, app).await?;
        Ok(())
    })
}
