"""Costs of a page other than time: MongoDB commands, bytes, and worker memory (docs/internals/benchmarks.md)."""

import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import pages, report, site
from tests.support.commands import CommandLog

REQUESTS = 300 if site.QUICK else 10_000
ASSET = re.compile(rb'(?:<link rel="stylesheet" href|<script src)="([^"]+)"')


def main() -> None:
    """Measure the costs, and publish the results."""
    os.environ["LOG_LEVEL"] = "WARNING"
    with site.temporary_site() as folder:
        site.set_up(pages.NODES)
        from benchmarks import web

        web.require_wrk()
        paths = dict(pages.measured_pages())
        tables = [_commands(paths)]
        with web.serve("cms.wsgi:application", folder) as server:
            tables += [_bytes(server, paths), _memory(server, paths, folder)]
        report.publish("footprint", tables)


def _commands(paths: dict[str, str]) -> report.Table:
    from django.test import Client

    from nodes import rendering
    from nodes.models import tree, version_cache
    from reader.page_cache import storage

    client = Client(SERVER_NAME="127.0.0.1")
    log = CommandLog()

    def count_commands(path: str, **headers: str) -> tuple[int, Any]:
        with log.recorded():
            response = client.get(path, headers=headers)
        assert response.status_code == (304 if headers else 200), (path, response.status_code)
        return len(log), response

    rows: list[list[object]] = []
    for name, path in paths.items():
        storage.clear()
        version_cache.clear()
        rendering.saved.cache_clear()
        tree.clear()
        first, response = count_commands(path)
        storage.clear()
        again, _ = count_commands(path)
        is_cached = bool(storage.cache.size)
        validators = {"if-none-match": response["ETag"]} if response.has_header("ETag") else {}
        unchanged = count_commands(path, **validators)[0] if validators else ""
        rows.append([name, first, again, count_commands(path)[0] if is_cached else "", unchanged])
    about = (
        "This table shows the number of MongoDB commands per page. "
        "*First* is the first request to a new worker. "
        "*Again* is a later request to the same worker, which uses the cached section tree and neighbours, but not the "
        "page cache. "
        "*Cached* pages are served from the page cache. "
        "*304* is a request for the cached page with its ETag."
    )
    return report.Table("Commands per page", about, ["Page", "First", "Again", "Cached", "304"], rows)


def _bytes(server: Any, paths: dict[str, str]) -> report.Table:
    rows: list[list[object]] = []
    for name, path in paths.items():
        body = server.get(path)[2]
        css, js = (
            sum(
                len(server.get(address.decode(), {"Accept-Encoding": "gzip"})[2])
                for address in ASSET.findall(body)
                if address.endswith(ending)
            )
            for ending in (b".css", b".js")
        )
        compressed = len(gzip.compress(body, 6))
        rows.append([name, f"{len(body):,}", f"{compressed:,}", *(f"{size:,}" if size else "" for size in (css, js))])
    about = (
        "This table shows the size of each page in bytes, uncompressed and compressed by a proxy, and the compressed "
        "size of its CSS and JavaScript. "
        "Browsers cache CSS and JavaScript for a year."
    )
    return report.Table("Bytes per page", about, ["Page", "Page", "Page, gzip", "CSS, gzip", "JS, gzip"], rows)


def _memory(server: Any, paths: dict[str, str], folder: Path) -> report.Table:
    script = folder / "mixed.lua"
    path_list = ", ".join(f'"{path}"' for path in [*paths.values(), *_post_paths()])
    script.write_text(
        f"local paths = {{{path_list}}}\nfunction request() return wrk.format('GET', paths[math.random(#paths)]) end\n"
    )
    before = [child.memory_info().rss for child in server.process.children()]
    requests = 0
    while requests < REQUESTS:
        requests += server.load("/", 3, script=script).requests
    after = [child.memory_info().rss for child in server.process.children()]
    rows: list[list[object]] = [
        [f"worker {n + 1}", f"{b / 2**20:.0f}", f"{a / 2**20:.0f}"]
        for n, (b, a) in enumerate(zip(before, after, strict=True))
    ]
    about = (
        f"This table shows the resident memory of each worker in MiB, after a few requests and after {requests:,} "
        f"requests for {len(path_list.split(',')):,} different URLs. "
        "The page cache has its default size, 64 MB."
    )
    return report.Table("Memory of a worker", about, ["", "Before", "After"], rows)


def _post_paths() -> Iterator[str]:
    """Yield the paths of all posts in the bulk content."""
    from marginalia.mongo.clock import now
    from nodes.models import tree
    from reader.selectors import sitemap

    sections = tree.current()
    for entry in sitemap.entries(sections, "blog-entry", 1, now()) or ():
        yield sections.url(entry.parent_id, entry.slug)
