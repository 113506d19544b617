"""A page with a script, a style sheet, a picture and a POST, visited by headless Chromium over its DevTools pipe; what it
asked for is written down as a HAR file, as DevTools exports it. Then the address is said, and the page stays up.

usage: har.py CHROMIUM HAR PROFILE
"""
import fcntl
import http.server
import json
import os
import signal
import subprocess
import sys
import threading

chromium, har, profile = sys.argv[1:4]
PAGE = b"""<!doctype html><link rel=icon href=data:,><link rel=stylesheet href=/style.css><img src=/dot.svg><script src=/app.js></script>"""
SCRIPT = b"""fetch('/api/search?q=a%20b',{method:'POST',headers:{'X-From':'page'},body:JSON.stringify({term:'caf\\u00e9'})}).then(a=>a.text())"""
FILES = {
    "/": ("text/html", PAGE),
    "/style.css": ("text/css", b"p{color:red}"),
    "/app.js": ("text/javascript", SCRIPT),
    "/dot.svg": ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
    "/api/search?q=a%20b": ("application/json", b"[]"),
}
asked, lock = {}, threading.Lock()


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path == "/asked":
            kind, answer = "application/json", json.dumps(asked).encode()
        else:
            with lock:
                key = " ".join([self.command, self.path, self.headers.get("X-From", "-"), body])
                asked[key] = asked.get(key, 0) + 1
            kind, answer = FILES.get(self.path, ("text/plain", b""))
        self.send_response(200 if self.path in FILES or self.path == "/asked" else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
host, port = server.server_address
origin = f"http://{host}:{port}"

# Chromium reads commands from descriptor 3 and writes to 4, each message ended by a zero byte.
ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (*os.pipe(), *os.pipe())]
commands_in, commands_out, words_in, words_out = ends


def pipes():
    os.dup2(commands_in, 3)
    os.dup2(words_out, 4)


flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update"
flags += " --disable-sync --disable-dev-shm-usage --remote-debugging-pipe"
browser = subprocess.Popen([chromium, *flags.split(), f"--user-data-dir={profile}", "about:blank"], preexec_fn=pipes,
                           pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
os.close(commands_in)
os.close(words_out)
words, number, events = os.fdopen(words_in, "rb"), 0, []


# Rather no HAR than a browser that never says its last word.
def give_up(*_):
    browser.kill()
    sys.exit("Chromium did not finish in time")


signal.signal(signal.SIGALRM, give_up)
signal.alarm(180)


def hear():
    text = bytearray()
    while (byte := words.read(1)) != b"\0":
        if not byte:
            sys.exit("Chromium ended")
        text += byte
    return json.loads(text)


def tell(method, session=None, **params):
    global number
    number += 1
    message = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
    os.write(commands_out, json.dumps(message).encode() + b"\0")
    while (heard := hear()).get("id") != number:
        events.append(heard)
    return heard["result"]


target = tell("Target.createTarget", url="about:blank")["targetId"]
session = tell("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
tell("Network.enable", session)
tell("Page.enable", session)
tell("Page.navigate", session, url=origin + "/")
requests, ended = {}, set()
while True:
    for event in events:
        params = event.get("params", {})
        known = requests.setdefault(params["requestId"], {}) if "requestId" in params else {}
        match event["method"]:
            case "Network.requestWillBeSent":
                known["request"], known["kind"] = params["request"], params.get("type", "Other")
            case "Network.requestWillBeSentExtraInfo":
                known["headers"] = params["headers"]
            case "Network.responseReceived":
                known["response"] = params["response"]
            case "Network.loadingFinished" | "Network.loadingFailed":
                ended.add(params["requestId"])
    events = []
    urls = {requests[one]["request"]["url"] for one in ended if "request" in requests[one]}
    if all(origin + path in urls for path in FILES):
        break
    events.append(hear())


def entry(one):
    request, response = one["request"], one.get("response", {})
    headers = [{"name": name, "value": value} for name, value in one.get("headers", request["headers"]).items()]
    body = {"postData": {"mimeType": "", "text": request["postData"]}} if "postData" in request else {}
    return {
        "_resourceType": one["kind"].lower(),
        "startedDateTime": "2026-01-01T00:00:00Z",
        "time": 1,
        "request": {"method": request["method"], "url": request["url"], "httpVersion": "http/1.1", "headers": headers, **body},
        "response": {"status": response.get("status", 0), "content": {"size": 0, "mimeType": response.get("mimeType", "")}},
        "cache": {},
    }


os.write(commands_out, b'{"id":1000000,"method":"Browser.close"}\0')
browser.wait()
signal.alarm(0)
with open(har, "w") as file:
    entries = [entry(one) for one in requests.values() if "request" in one]
    json.dump({"log": {"version": "1.2", "creator": {"name": "Chromium", "version": "1"}, "entries": entries}}, file)
print(f"{host}:{port}", flush=True)
threading.Event().wait()
