"""Web server of one known limit. Argument: the limit. Prints its port, then serves until its input ends."""
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LIMIT = sys.argv[1]


def arithmetic(ms):
    """Uses about so many milliseconds of CPU while it holds the interpreter's lock."""
    total, end = 0, time.thread_time() + ms / 1000
    while time.thread_time() < end:
        total += sum(range(50))
    return total


def answer():
    if LIMIT == "gil":
        arithmetic(3)
    return b"done\n"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        body = answer()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Threads(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


server = Threads(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
