"""Flask with a global lock. Argument: the port."""
import logging
import sys
import threading
import time

from flask import Flask
from werkzeug.serving import WSGIRequestHandler, make_server

app = Flask(__name__)
lock = threading.Lock()
WSGIRequestHandler.protocol_version = "HTTP/1.1"
logging.getLogger("werkzeug").disabled = True


@app.route("/")
def index():
    with lock:
        time.sleep(0.005)
    return "done\n"


make_server("127.0.0.1", int(sys.argv[1]), app, threaded=True).serve_forever()
