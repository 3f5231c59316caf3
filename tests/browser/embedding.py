"""Another site on another port, whose pages embed a discussion under a strict Content-Security-Policy."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

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


class OtherSite:
    """The address of the other site, and the attributes of the element on its pages."""

    def __init__(self, url: str) -> None:
        self.url, self.attributes, self.direction, self.cookies = url, "", "ltr", [""]


@contextmanager
def serve(server: str) -> Iterator[OtherSite]:
    """Serve the pages of the other site, which allow only this site and `server`, and yield the site."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_page = urlsplit(self.path).path.startswith("/posts/")
            html = PAGE.format(server=server, attributes=site.attributes, direction=site.direction).encode()
            self.send_response(200 if is_page else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Security-Policy", f"default-src 'self' {server}")
            self.end_headers()
            self.wfile.write(html if is_page else b"")

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    other = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = OtherSite(f"http://127.0.0.1:{other.server_port}")
    thread = Thread(target=other.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        other.shutdown()
        other.server_close()
        thread.join()
