"""A reader beside requests for copies of photos that are not made yet (docs/reference/benchmarks.md)."""

import statistics
import threading
from collections.abc import Sequence
from pathlib import Path

from benchmarks import report, site

PHOTOS = 5
SIZE = (6000, 4000)
REQUESTS = 20 if site.QUICK else 200
# Seconds that a reader may wait, at the 99th percentile.
MOST = 2.0


def _addresses(folder: Path) -> list[str]:
    """Upload large photos; return the addresses of fifty copies of them, none of which is made."""
    from PIL import Image

    from nodes.selectors import stored_photos
    from photos.addresses import copy
    from photos.assets.limits import limits
    from photos.services.importing import upload
    from tests.support.nodes import build
    from tests.support.nodes.photo_build import gallery

    parent = gallery("benchmark")
    found = []
    for number in range(PHOTOS):
        path = folder / f"{number}.jpg"
        Image.effect_noise(SIZE, 40 + number).convert("RGB").save(path)
        fields = {"published": build.PAST, "detail.alt": "Noise"}
        photo = stored_photos.get(upload(build.EDITOR, parent, path, fields=fields))
        assert photo
        found += [copy(photo, width, kind) for width in limits().widths[:5] for kind in ("jpg", "webp")]
    return found


def _row(name: str, seconds: list[float], beside: str) -> list[str]:
    p99 = statistics.quantiles(seconds, n=100, method="inclusive")[98]
    return [name, f"{statistics.median(seconds):.3f}", f"{p99:.3f}", f"{max(seconds):.3f}", beside]


def main() -> int:
    """Measure, print, publish; return 1 if readers wait longer than they may."""
    with site.served_by_mongod() as folder:
        site.set_up()
        from benchmarks.slow_senders import Server, asked, ours, served

        def read(port: int, asking: Sequence[threading.Thread] = ()) -> list[float]:
            found: list[tuple[int, float]] = []
            while len(found) < REQUESTS or any(one.is_alive() for one in asking):
                found.append(asked(port, "/", 60))
            assert {status for status, _seconds in found} == {200}
            return [seconds for _status, seconds in found]

        unmade = _addresses(folder)
        answers: list[tuple[int, float]] = []
        with served(Server("", ours, {}, ""), "cms.wsgi:application", folder) as (port, _process):
            alone = read(port)
            asking = [threading.Thread(target=lambda one=one: answers.append(asked(port, one, 60))) for one in unmade]
            for one in asking:
                one.start()
            beside = read(port, asking)
            for one in asking:
                one.join()
        counts = {
            status: sum(one == status for one, _seconds in answers) for status in sorted({one for one, _s in answers})
        }
        told = ", ".join(f"{count} × {status}" for status, count in counts.items())
        rows = [_row("alone", alone, ""), _row("beside", beside, told)]
        about = (
            f"The front page, at least {REQUESTS} times one after the other, while {len(unmade)} requests come at once for "
            f"copies that are not made of {PHOTOS} photos of 24 megapixels; `serve` with two processes. Seconds; at most "
            f"{MOST:.0f} at the 99th percentile. `python -m benchmarks copies`"
        )
        columns = ["", "p50", "p99", "Slowest", "Copies"]
        report.publish("copies", [report.Table("A reader beside unmade copies", about, columns, rows)])
        return int(float(rows[1][2]) > MOST)
