"""Delay of keys in the Markdown editor, with 1,000 and 100,000 words, in the live view and in plain Markdown.

The page contains only the editor, without a server that saves the text. A delay is the time from the key's event until
the browser has painted the text.
"""

import json
import mimetypes
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import quantiles
from threading import Thread

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (ROOT / "editor/static", ROOT / "static")
KEYS = 200
# The maximum delay at the 95th percentile, in milliseconds.
MOST = 50
WORDS = [
    "bold",
    "italic",
    "heading",
    "quote",
    "unordered",
    "ordered",
    "code",
    "link",
    "photo",
    "table",
    "insert",
    "undo",
]
WORDS += ["redo", "source", "preview", "fullscreen", "help", "text", "tools", "shown", "column", "cell", "subheading"]
PAGE = """<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="/editor/editor.css">
<script src="/editor/editor.js" type="module"></script><title>Editor</title>
<form id="node_form"><div class="edit-form-bar"></div><div><textarea name="text"></textarea></div></form>
<script type="application/json" id="editor-settings">SETTINGS</script>"""
PARAGRAPH = (
    "Some *slanted* and **strong** words with `code`, a [link](/about) and more words until the line ends here. "
)
MEASURE = """() => {
  window.delays = [];
  document.addEventListener("keydown", ({ timeStamp }) => {
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => window.delays.push(performance.now() - timeStamp);
      port2.postMessage(null);
    });
  }, true);
}"""
FILL = """(text) => {
  const area = document.querySelector("textarea");
  area.value = text;
  area.dispatchEvent(new Event("change", { bubbles: true }));
}"""


class _Files(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Send the page, or a file of the editor."""
        found = next((path for folder in FOLDERS if (path := folder / self.path[1:]).is_file()), None)
        settings = {**dict.fromkeys(WORDS, "x"), "phrases": {}, "nonce": "", "words": "%(n)s words", "minutes": "%(n)s"}
        page = PAGE.replace("SETTINGS", json.dumps({**settings, "word": "1", "hint": "Write"}))
        body = found.read_bytes() if found else page.encode()
        self.send_response(200)
        self.send_header("Content-Type", mimetypes.guess_type(self.path)[0] or "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def _serve() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Files) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def main() -> int:
    """Print the delays. Return 1 if a delay at the 95th percentile is more than MOST."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not chromium:
        sys.exit("This benchmark needs Chromium. Run `make chromium` to install it.")
    with _serve() as url, sync_playwright() as playwright:
        args = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium, args=args)
        slow = [
            words
            for words in (1_000, 100_000)
            for is_live in (True, False)
            if _measure(browser, url, words, is_live=is_live) > MOST
        ]
        browser.close()
    print(f"Load average at the end: {os.getloadavg()[0]:.1f}")
    return 1 if slow else 0


def _measure(browser: Browser, url: str, words: int, *, is_live: bool) -> float:
    """Type into the middle of a text, print the delays, and return the delay at the 95th percentile in milliseconds."""
    page = browser.new_page()
    page.add_init_script(f"localStorage.setItem('marginalia-source', '{0 if is_live else 1}')")
    page.goto(url)
    page.locator(".cm-content").wait_for()
    count = words // len(PARAGRAPH.split())
    page.evaluate(FILL, "\n\n".join(["## A heading", PARAGRAPH, "- item"] * (count + 1)))
    page.locator(".cm-content").focus()
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    page.wait_for_timeout(1_000)
    page.evaluate(MEASURE)
    for number in range(KEYS):
        page.keyboard.press(" " if number % 6 == 5 else "abcde"[number % 5])
        page.wait_for_timeout(20)
    page.wait_for_timeout(500)
    delays = sorted(page.evaluate("window.delays"))
    at = quantiles(delays, n=20)
    view = "live view" if is_live else "plain Markdown"
    print(f"{words:,} words, {view}: median {at[9]:.1f} ms, 95th percentile {at[18]:.1f} ms, {len(delays)} keys")
    page.close()
    return at[18]
