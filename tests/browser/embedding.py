"""Another site on another port, whose pages embed a discussion under a strict Content-Security-Policy, and its readers."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

PAGE = """<!doctype html>
<html lang="en" dir="{direction}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <meta name="color-scheme" content="light dark">
    <title>Seven</title>
    <script src="{server}/static/embed/embed.js" defer></script>
  </head>
  <body>
    <main>
      <h1>Seven</h1>
      <p>
        Here: <span data-marginalia-count="/posts/7/"></span>.
        Elsewhere: <span data-marginalia-count="/posts/8/"></span>.
      </p>
      <marginalia-comments{attributes}>
        <noscript><a href="{server}/comments/embedded?page=x">Comments</a></noscript>
      </marginalia-comments>
    </main>
  </body>
</html>
"""


def write(page: Page, text: str, name: str = "Ann") -> None:
    """Fill the last form of a discussion. If `name` is "", the form has no name, or keeps it."""
    if name:
        page.get_by_label("Name").fill(name)
    page.get_by_label("Comment", exact=True).last.fill(text)


def post(page: Page, text: str, name: str = "Ann") -> None:
    """Post a comment, and wait until it is focused."""
    write(page, text, name)
    page.get_by_role("button", name="Post").click()
    expect(page.locator(".comment:focus")).to_contain_text(text)


class OtherSite:
    """The address of the other site, and what its pages contain.

    Attributes:
        attributes: The attributes of the element.
        policy: The Content-Security-Policy of all pages.
        html: Templates of whole pages, by path.
        folder: A folder with files that the site serves, or None.
    """

    def __init__(self, url: str, policy: str) -> None:
        self.url, self.policy, self.attributes, self.direction = url, policy, "", "ltr"
        self.html: dict[str, str] = {}
        self.folder: Path | None = None

    def find(self, path: str, server: str) -> tuple[bytes, str] | None:
        """Return the content and the type of a page or file, or None if there is none."""
        if path in self.html:
            return self.html[path].encode(), "text/html"
        if self.folder and (file := self.folder / path.strip("/")):
            file = file / "index.html" if file.is_dir() else file
            return (file.read_bytes(), guess_type(file.name)[0] or "text/plain") if file.is_file() else None
        if path.startswith("/posts/"):
            html = PAGE.format(server=server, attributes=self.attributes, direction=self.direction)
            return html.encode(), "text/html"
        return None


@contextmanager
def serve(server: str) -> Iterator[OtherSite]:
    """Serve the pages of the other site, which allow only this site and `server`, and yield the site."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = site.find(urlsplit(self.path).path, server)
            content, type = found or (b"", "text/plain")
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", type)
            self.send_header("Content-Security-Policy", site.policy)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    other = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = OtherSite(f"http://127.0.0.1:{other.server_port}", f"default-src 'self' {server}")
    thread = Thread(target=other.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        other.shutdown()
        other.server_close()
        thread.join()
