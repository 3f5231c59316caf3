"""Photos: streaming 2 GB up and down, compared with the driver's GridFS, and uploading 100 megapixels in the admin.

python benchmarks/photos.py            2 GB, and the 100-megapixel photo; needs 5 GB of disk space
python benchmarks/photos.py --mb 200   fewer bytes

Each measurement runs in its own process. Its memory is the increase of the peak resident set size after the process has
connected. The benchmark starts a temporary MongoDB.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
MIB = 1 << 20
PIECE = MIB // 4
# Promised limits: memory growth in MiB, ratios to the driver's speed, and peak memory for the photo in MiB.
MAX_GROWTH = 96
MAX_DIFFERENCE = 16
MIN_UP_RATIO = 0.8
MIN_DOWN_RATIO = 0.5
MAX_PICTURE_PEAK = 400
SMALL_MB = 200


def main() -> int:
    """Run all measurements, and print a table. Return 1 if a limit was exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--mb",
        type=int,
        default=100 if os.environ.get("QUICK") else 2048,
        help="size of the large file (default: %(default)s)",
    )
    parser.add_argument(
        "--no-picture",
        action="store_true",
        default=bool(os.environ.get("QUICK")),
        help="leave out the photo with 100 megapixels",
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options, _others = parser.parse_known_args()
    if options.one:
        print(json.dumps(MEASUREMENTS[options.one](options.mb)))
        return 0
    from marginalia.testing.mongod import EphemeralMongod

    server = EphemeralMongod()
    environment = {**os.environ, "TEST_MONGODB_URI": server.start(), "TEST_MONGODB_NAME": "test_benchmark"}
    try:
        return _report(options.mb, options.no_picture, environment)
    finally:
        server.stop()


def _report(mb: int, no_picture: bool, environment: dict[str, str]) -> int:
    def measure(name: str, size: int) -> dict[str, float]:
        command = [sys.executable, __file__, "--one", name, "--mb", str(size)]
        completed = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        result: dict[str, float] = json.loads(completed.stdout.splitlines()[-1])
        speed = f"{result['seconds']:7.1f} s  {size / result['seconds']:6.0f} MB/s"
        print(f"{name:10} {size:5} MB {speed}  +{result['growth']:.0f} MiB", flush=True)
        return result

    results = {
        (name, size): measure(name, size) for size in (SMALL_MB, mb) for name in ("up", "down", "up-raw", "down-raw")
    }
    promises = []
    for way, least in (("up", MIN_UP_RATIO), ("down", MIN_DOWN_RATIO)):
        ratio = results[f"{way}-raw", mb]["seconds"] / results[way, mb]["seconds"]
        growth = results[way, mb]["growth"]
        small = results[way, SMALL_MB]["growth"]
        promises.append((f"{way}: {ratio:.2f} × the driver's speed (at least {least})", ratio >= least))
        promises.append((f"{way}: +{growth:.0f} MiB (at most {MAX_GROWTH})", growth <= MAX_GROWTH))
        text = f"{way}: {growth - small:+.0f} MiB compared with {SMALL_MB} MB (at most {MAX_DIFFERENCE})"
        promises.append((text, growth - small <= MAX_DIFFERENCE))
    if not no_picture:
        picture = measure("picture", 100)
        text = f"100 megapixels, admin and rendition: {picture['peak']:.0f} MiB resident (at most {MAX_PICTURE_PEAK})"
        promises.append((text, picture["peak"] <= MAX_PICTURE_PEAK))
    for text, is_kept in promises:
        print(f"{'kept  ' if is_kept else 'BROKEN'}  {text}")
    return 0 if all(is_kept for _text, is_kept in promises) else 1


def _connect() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    from django.db import connections

    from marginalia.mongo import indexes
    from marginalia.mongo.connection import database

    # Never use the site's own database.
    connections.settings["default"]["NAME"] = "test_benchmark"
    assert database().name == "test_benchmark"
    indexes.ensure()
    database()["cms.site"].find_one()


def peak_memory() -> float:
    """Return the peak resident set size of this process so far, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("This benchmark needs Linux, because it reads VmHWM from /proc.")


def reset_peak_memory() -> None:
    """Set the peak resident set size of this process to its current size."""
    Path("/proc/self/clear_refs").write_text("5")


def _measure(work: Callable[[], object]) -> dict[str, float]:
    before = peak_memory()
    started = time.perf_counter()
    work()
    return {"seconds": time.perf_counter() - started, "growth": peak_memory() - before, "peak": peak_memory()}


def _bytes(mb: int) -> Iterator[bytes]:
    block = os.urandom(PIECE)
    for _ in range(mb * MIB // PIECE):
        yield block


def up(mb: int) -> dict[str, float]:
    """Measure writing with the site's writer, without the photo checks."""
    _connect()
    from bson import ObjectId

    from photos.assets.writer import Writer

    def work() -> None:
        # The collection's validator requires these fields for an unfinished upload.
        place = {"type": "photo-content", "parent_id": ObjectId(), "slug": str(mb)}
        writer = Writer("cms.assets", ObjectId(), f"{mb}.bin", place, place={})
        for block in _bytes(mb):
            writer.write(block)
        writer.finish()

    return _measure(work)


def up_raw(mb: int) -> dict[str, float]:
    """Measure writing with the driver's GridFS and its default settings."""
    _connect()
    from gridfs import GridFSBucket

    from marginalia.mongo.connection import database

    def work() -> None:
        with GridFSBucket(database(), "benchmark").open_upload_stream(f"{mb}.raw") as stream:
            for block in _bytes(mb):
                stream.write(block)

    return _measure(work)


def down(mb: int) -> dict[str, float]:
    """Measure reading with the site's reader, as the view uses it."""
    _connect()
    from marginalia.mongo.connection import database
    from photos.assets.reader import read_range

    file = database()["cms.assets.files"].find_one({"filename": f"{mb}.bin"})
    assert file

    def work() -> None:
        assert sum(map(len, read_range("cms.assets", file["_id"], file["chunkSize"], 0, file["length"]))) == mb * MIB

    return _measure(work)


def down_raw(mb: int) -> dict[str, float]:
    """Measure reading the same bytes with the driver's GridFS."""
    _connect()
    from gridfs import GridFSBucket

    from marginalia.mongo.connection import database

    def work() -> None:
        stream = GridFSBucket(database(), "cms.assets").open_download_stream_by_name(f"{mb}.bin")
        total = 0
        while chunk := stream.readchunk():
            total += len(chunk)
        assert total == mb * MIB

    return _measure(work)


def picture(megapixels: int) -> dict[str, float]:
    """Measure uploading a JPEG of this size in the admin, and creating its largest copy and its largest square copy."""
    path = subprocess.run(
        [sys.executable, "-c", _MAKE_PICTURE, str(megapixels)], check=True, capture_output=True, text=True
    ).stdout.strip()
    _connect()
    from django.contrib.auth.models import User
    from django.test import Client
    from django.urls import reverse

    from nodes.selectors import stored_photos
    from photos.addresses import copy_path, square_path
    from photos.assets.limits import limits
    from tests.support.nodes.photo_build import gallery

    client = Client()
    parent = gallery(f"benchmark-{os.getpid()}")
    client.force_login(User.objects.create_superuser(f"benchmark-{os.getpid()}"))

    def work() -> None:
        with open(path, "rb") as file:
            response = client.post(
                reverse("admin:nodes_photo_upload", args=[parent]),
                {"files": file},
                headers={"accept": "application/json"},
            )
        [result] = response.json()["results"]
        assert result["ok"], result
        photo = stored_photos.get(result["id"])
        assert photo
        for address in (copy_path(photo, max(limits().widths), "webp"), square_path(photo, max(limits().squares))):
            assert client.get(address).status_code == 200

    try:
        return _measure(work)
    finally:
        Path(path).unlink()


# This code runs in a separate process, because drawing the photo needs more memory than uploading it.
_MAKE_PICTURE = """
import sys, tempfile
from PIL import Image
side = int((int(sys.argv[1]) * 1_000_000 / 0.75) ** 0.5)
tile = Image.effect_noise((512, 512), 60).convert("RGB")
whole = Image.new("RGB", (side, int(side * 0.75)))
for x in range(0, whole.width, 512):
    for y in range(0, whole.height, 512):
        whole.paste(tile.rotate(90 * ((x + y) // 512 % 4)), (x, y))
path = tempfile.NamedTemporaryFile(suffix=".jpg", delete=False).name
whole.save(path, quality=88)
print(path)
"""

MEASUREMENTS: dict[str, Callable[[int], dict[str, float]]] = {
    "up": up,
    "down": down,
    "up-raw": up_raw,
    "down-raw": down_raw,
    "picture": picture,
}

if __name__ == "__main__":
    sys.exit(main())
