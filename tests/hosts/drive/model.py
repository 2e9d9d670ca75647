"""A scripted model on loopback, which answers in the format in which it is asked."""

import http.server
import json
import sys
import threading
import time

from formats import Step, completions, contents, messages, responses

FORMATS = (messages, responses, completions, contents)
# An answer that nobody lets go comes after so many seconds.
LONGEST = 120


def steps(*answers):
    """A script that gives these answers in their order to each host, and then ends every turn."""
    given = {}

    def script(request):
        left = given.setdefault(request.host, list(answers))
        return left.pop(0) if left else Step("Done.")

    return script


class Model:
    """Serves a script on a free port until it is closed."""

    def __init__(self, script):
        self.script = script
        self.requests = []
        self.lock = threading.Lock()
        self.server = _Server(("127.0.0.1", 0), _handler(self))
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def address(self, host):
        """The address that a host of this name is given: by it its requests are known as its own."""
        return f"http://127.0.0.1:{self.port}/{host}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def turns(self, host=None):
        """The requests of turns, without those for titles and summaries."""
        return [it for it in self.requests if it.kind == "turn" and host in (None, it.host)]

    def wait_for_turns(self, number, seconds=30):
        """Waits until so many turns were asked for. Returns whether they were."""
        end = time.monotonic() + seconds
        while len(self.turns()) < number and time.monotonic() < end:
            time.sleep(0.05)
        return len(self.turns()) >= number

    def answer(self, request):
        with self.lock:
            self.requests.append(request)
            if request.kind == "title":
                return Step("A title")
            if request.kind == "summary":
                return Step("<summary>They talked about the work.</summary>")
            step = self.script(request)
        time.sleep(step.delay)
        if step.hold:
            step.hold.wait(LONGEST)
        return step


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # A host that was killed.
            super().handle_error(request, client_address)


def _handler(model):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_HEAD(self):
            self.reply({})

        def do_GET(self):
            self.reply({"data": [], "models": []})

        def do_POST(self):
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            host, _, path = self.path.split("?")[0].removeprefix("/").partition("/")
            form = next((form for form in FORMATS if form.serves(path)), None)
            try:
                if form:
                    self.converse(form, host, path, json.loads(raw))
                else:
                    self.reply({"input_tokens": 10, "totalTokens": 10})  # Some hosts count before they ask.
            except ConnectionError:
                pass  # The host was stopped while the model thought.

        def converse(self, form, host, path, body):
            step = model.answer(form.request(host, path, body))
            if stream := form.stream(path, body, step):
                self.send("text/event-stream", stream)
            else:
                self.reply(form.whole(body, step))

        def reply(self, value):
            self.send("application/json", json.dumps(value))

        def send(self, kind, text):
            data = text.encode()
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

    return Handler
