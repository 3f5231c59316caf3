"""A page while other clients request copies of photos that don't exist yet (docs/internals/benchmarks.md)."""

import statistics
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks import report, site

PHOTOS = 5
SIZE = (6000, 4000)
REQUESTS = 20 if site.QUICK else 200
# Maximum number of seconds that readers wait, at the 99th percentile.
MAX_SECONDS = 2.0


def _upload_photos(folder: Path) -> list[str]:
    """Upload large photos, and return the URLs of fifty copies that don't exist yet."""
    from PIL import Image

    from nodes.selectors import stored_photos
    from photos.addresses import copy_path
    from photos.assets.limits import limits
    from tests.support.nodes.photo_build import gallery, upload

    parent = gallery("benchmark")
    urls = []
    for number in range(PHOTOS):
        path = folder / f"{number}.jpg"
        Image.effect_noise(SIZE, 40 + number).convert("RGB").save(path)
        photo = stored_photos.get(upload(parent, path.read_bytes(), path.name))
        assert photo
        urls += [copy_path(photo, width, kind) for width in limits().widths[:5] for kind in ("jpg", "webp")]
    return urls


def _row(name: str, seconds: list[float], statuses: str) -> list[str]:
    p99 = statistics.quantiles(seconds, n=100, method="inclusive")[98]
    return [name, f"{statistics.median(seconds):.3f}", f"{p99:.3f}", f"{max(seconds):.3f}", statuses]


def main() -> int:
    """Measure the page and publish the results. Return 1 if readers wait longer than MAX_SECONDS."""
    with site.temporary_site() as folder:
        site.set_up()
        from benchmarks.slow_senders import Server, gunicorn, request, run_server

        def read(port: int, threads: Sequence[threading.Thread] = ()) -> list[float]:
            results: list[tuple[int, float]] = []
            while len(results) < REQUESTS or any(thread.is_alive() for thread in threads):
                results.append(request(port, "/", 60))
            assert {status for status, _seconds in results} == {200}
            return [seconds for _status, seconds in results]

        urls = _upload_photos(folder)
        responses: list[tuple[int, float]] = []
        with run_server(Server("", gunicorn, {}, ""), "cms.wsgi:application", folder) as (port, _process):
            alone = read(port)
            threads = [
                threading.Thread(target=lambda url=url: responses.append(request(port, url, 60))) for url in urls
            ]
            for thread in threads:
                thread.start()
            alongside = read(port, threads)
            for thread in threads:
                thread.join()
        counts = Counter(status for status, _seconds in responses)
        statuses = ", ".join(f"{count} × {status}" for status, count in sorted(counts.items()))
        rows = [_row("without requests for copies", alone, ""), _row("during requests for copies", alongside, statuses)]
        about = (
            f"A reader requests the front page at least {REQUESTS} times, one request after the other. "
            f"In the second row, {len(urls)} requests for missing copies of {PHOTOS} photos with 24 megapixels arrive "
            "at the same time. "
            "The web server runs two processes. "
            "The times are in seconds. "
            f"The goal is a 99th percentile of at most {MAX_SECONDS:.0f} s."
        )
        columns = ["", "p50", "p99", "Slowest", "Copies"]
        report.publish("copies", [report.Table("A reader during requests for missing copies", about, columns, rows)])
        return int(float(rows[1][2]) > MAX_SECONDS)
