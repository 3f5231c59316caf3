"""Speed of `manage.py import_comments`: into an empty discussion, and from an export of another comment system."""

import io
import json
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from benchmarks import report, site
from benchmarks.content import SENTENCES
from benchmarks.photos import peak_memory, reset_peak_memory

COUNT = 500 if site.QUICK else 10_000
MINIMUM = 1_000
LAYOUTS = (("documents", "oldest"), ("buckets", "oldest"), ("buckets", "threaded"), ("embedded", "oldest"))
COLUMNS = ["Layout", "Comments", "Import per second", "Raw insert per second", "Ratio", f"≥ {MINIMUM:,}"]
ABOUT = """`import_comments` renders and stores the comments in a file. Half of the comments are replies. *Raw insert*
calls `insert_one` once per comment, in the same process, on a collection that has only the `_id` index."""
PAGES = 500 if site.QUICK else 4_000
# Each export has discussions on other pages, so none has to be deleted.
NUMBERS_OF_PAGES = (1, PAGES // 10, PAGES)
FROM_SYSTEM = 2 * PAGES
SYSTEM_COLUMNS = [
    "Comments",
    "Pages",
    "First import per second",
    "Second import per second",
    "Memory",
    f"≥ {MINIMUM:,}",
]
SYSTEM_ABOUT = """`import_comments --from disqus` reads an XML export whose texts are HTML. The second import of the same
file changes nothing. *Memory* is the additional memory that both imports need."""
MESSAGE = (
    '<p>{} It is <b>number {}</b>.</p><p><a href="https://example.org/{}" rel="nofollow">Read this</a><br>Bye.</p>'
)


def main() -> None:
    """Import the same file in each layout, and exports of another system, and publish the results."""
    with site.temporary_site():
        site.set_up(sum(NUMBERS_OF_PAGES))
        systems = _measure_system()
        rows = [_measure_layout(*layout) for layout in LAYOUTS]
        tables = [
            report.Table("Importing comments", ABOUT, COLUMNS, rows),
            report.Table("Importing comments from another system", SYSTEM_ABOUT, SYSTEM_COLUMNS, systems),
        ]
        report.publish("importing", tables)


def _measure_system() -> list[list[object]]:
    """Import the same number of comments on each number of pages."""
    from marginalia.comments.imports.addresses import pages

    unused = iter([(path, target) for path, target in pages() if "/volume/" in path])
    return [_import_twice(dict(islice(unused, count))) for count in NUMBERS_OF_PAGES]


def _import_twice(target_by_path: dict[str, Any]) -> list[object]:
    from django.core.management import call_command

    from marginalia.comments.reading import selectors

    rates = list[float]()
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.writelines(_disqus(list(target_by_path), FROM_SYSTEM))
        file.flush()
        reset_peak_memory()
        before = peak_memory()
        for _run in range(2):
            started = time.perf_counter()
            call_command("import_comments", file.name, "--from", "disqus", stdout=io.StringIO())
            rates.append(FROM_SYSTEM / (time.perf_counter() - started))
        grown = peak_memory() - before
    discussions = selectors.discussions(target_by_path.values())
    assert sum(discussion.count for discussion in discussions.values()) == FROM_SYSTEM
    verdict = "met" if min(rates) >= MINIMUM else "missed"
    counts = [f"{FROM_SYSTEM:,}", f"{len(discussions):,}"]
    return [*counts, *(f"{rate:,.0f}" for rate in rates), f"+{grown:.0f} MiB", verdict]


def _disqus(paths: list[str], total: int) -> Iterator[str]:
    """Yield an export with `total` comments. Every second comment replies to the one before it on the same page."""
    yield '<disqus xmlns="http://disqus.com" xmlns:dsq="http://disqus.com/disqus-internals">\n'
    for number, path in enumerate(paths):
        yield f'<thread dsq:id="{number}"><id/><link>https://old.example{path}</link></thread>\n'
    generator = random.Random(9)
    started = datetime(2019, 1, 1, tzinfo=UTC)
    for number in range(total):
        page, position = number % len(paths), number // len(paths)
        parent = f'<parent dsq:id="{number - len(paths)}"/>' if position % 2 else ""
        moment = (started + timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
        message = MESSAGE.format(generator.choice(SENTENCES), number, number)
        yield (
            f'<post dsq:id="{number}"><message><![CDATA[{message}]]></message><createdAt>{moment}</createdAt>'
            "<isDeleted>false</isDeleted><isSpam>false</isSpam>"
            f"<author><name>Reader {number % 97}</name><username>r{number % 97}</username></author>"
            f'<thread dsq:id="{page}"/>{parent}</post>\n'
        )
    yield "</disqus>\n"


def _measure_layout(layout: str, order: str) -> list[object]:
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.core.signals import setting_changed

    from marginalia.comments import conf
    from marginalia.comments.reading import selectors
    from marginalia.comments.types import Target
    from marginalia.mongo.connection import database

    settings.COMMENTS = {"TARGETS": {"auth.user": {"LAYOUT": layout, "ORDER": order}}}
    setting_changed.send(sender=None, setting="COMMENTS", value=None, enter=True)
    user = User.objects.create_user(f"{layout} {order}")
    target = Target("auth.user", str(user.pk))
    lines = list(_lines(str(target)))
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(b"\n".join(lines))
        file.flush()
        started = time.perf_counter()
        call_command("import_comments", file.name, stdout=io.StringIO())
        rate = COUNT / (time.perf_counter() - started)
    assert selectors.count(target) == COUNT
    raw = database(conf.database_alias()).raw
    sample = lines[1 : 1 + COUNT // 10]
    started = time.perf_counter()
    for line in sample:
        raw.insert_one(json.loads(line))
    bare = len(sample) / (time.perf_counter() - started)
    verdict = "met" if rate >= MINIMUM else "missed"
    return [f"{layout}, {order}", f"{COUNT:,}", f"{rate:,.0f}", f"{bare:,.0f}", f"{rate / bare:.1f}", verdict]


def _lines(discussion: str) -> Any:
    from marginalia.comments import slugs

    yield json.dumps({"discussion": discussion, "open": True}).encode()
    generator = random.Random(9)
    recent = [""]
    started = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(COUNT):
        parent = generator.choice(recent) if generator.random() < 0.5 else ""
        slug = slugs.join(parent, slugs.part(str(number)))
        recent = [*recent[-9:], slug if slug.count("/") < 6 else ""]
        row = {
            "comment": slug,
            "answers": parent,
            "posted": (started + timedelta(minutes=number)).isoformat(timespec="milliseconds"),
            "edited": None,
            "kind": "comment",
            "state": "public",
            "name": f"Reader {number % 97}",
            "user": None,
            "url": "",
            "email": f"{number % 97}@example.org",
            "text": "\n\n".join(generator.sample(SENTENCES, generator.randrange(1, 4))),
        }
        yield json.dumps(row).encode()
