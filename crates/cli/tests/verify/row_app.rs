//! A Python server that has a thread and a database connection for each client. Each request updates the same row, and
//! keeps the row locked for 20 ms.

/// Python code with imports, and a function that reads a given number of bytes.
pub(crate) const HEAD: &str = r#"
import http.server, socket, socketserver, struct, sys, threading
local = threading.local()
def take(c, n):
    data = b""
    while len(data) < n:
        more = c.recv(n - len(data))
        if not more: raise SystemExit("the database is gone")
        data += more
    return data
"#;

/// Python code of the HTTP server. `SLEEP` is an SQL statement that takes 20 ms.
const SERVER: &str = r#"
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_GET(self):
        if not hasattr(local, "c"): local.c = connect()
        for text in ["BEGIN", "UPDATE counters SET n = n + 1, word = 'hunter2' WHERE id = 1", SLEEP, "COMMIT"]:
            query(local.c, text)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads, request_queue_size = True, 128
server = Server(("127.0.0.1", 0), Handler)
print("127.0.0.1:%d" % server.server_address[1], flush=True)
server.serve_forever()
"#;

/// Returns the Python program of the server. `driver` is Python code that speaks the protocol of a database. `driver`
/// defines `connect()`, `query(c, text)` and the statement `SLEEP`, and may run code once at the start.
pub(crate) fn row_app(driver: &str) -> String {
    format!("{HEAD}{driver}{SERVER}")
}
