"""Web server of one known limit. Argument: the limit. Prints its port, then serves until its input ends."""
import ctypes
import hashlib
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer

LIMIT = sys.argv[1]
DATA = b"x" * 2000


def arithmetic(ms):
    """Uses about so many milliseconds of CPU while it holds the interpreter's lock."""
    total, end = 0, time.thread_time() + ms / 1000
    while time.thread_time() < end:
        total += sum(range(50))
    return total


def answer():
    if LIMIT == "gil":
        arithmetic(3)
    elif LIMIT == "children":
        time.sleep(0.02)
    elif LIMIT == "two-steps":
        # Most of the time is outside the lock, but two milliseconds under it are enough to fill it.
        time.sleep(0.01)
        arithmetic(2)
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


if LIMIT == "children":
    # A master with five children that each handle one connection at a time.
    HTTPServer.request_queue_size = 128
    server = HTTPServer(("127.0.0.1", 0), Handler)
    Handler.protocol_version = "HTTP/1.0"
    children = []
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            # Ends with the master, even if that is killed (PR_SET_PDEATHSIG).
            ctypes.CDLL(None).prctl(1, signal.SIGTERM)
            server.serve_forever()
        children.append(pid)
    print(server.server_port, flush=True)
    sys.stdin.read()
    for pid in children:
        os.kill(pid, 15)
else:
    server = Threads(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
