"""WSGI application for gunicorn. `/compute` computes under the interpreter lock. Other paths take one of three connections
from a queue."""
import queue
import time


class Connection:
    def execute(self):
        time.sleep(0.02)


pool = queue.Queue()
for _ in range(3):
    pool.put(Connection())


def price_basket():
    total = 0
    for i in range(40000):
        total += i * i % 7
    return total


def load_user():
    connection = pool.get()
    try:
        connection.execute()
    finally:
        pool.put(connection)


def app(environ, start_response):
    if environ["PATH_INFO"] == "/compute":
        price_basket()
    else:
        load_user()
    start_response("200 OK", [("Content-Length", "5"), ("Content-Type", "text/plain")])
    return [b"done\n"]
